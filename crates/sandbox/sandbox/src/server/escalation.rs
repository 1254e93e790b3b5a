//! Nobody gives away what they do not have: the rules for writing roles and bindings.

use std::collections::BTreeMap;

use k8s_openapi::api::rbac::v1::{PolicyRule, RoleRef};
use serde::Deserialize;
use serde_json::Value;

use super::access::{Access, GROUP, forbidden_because};
use super::attributes::{Attributes, Objects};
use crate::api::{Call, Details, Refusal};
use crate::catalog::Verb;
use crate::rbac::{Policy, User};

/// What of a role or a binding says what it gives.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Gift {
    rules: Option<Vec<PolicyRule>>,
    role_ref: Option<RoleRef>,
}

/// Whether a request writes a role or a binding.
pub(super) fn concerns(call: &Call) -> bool {
    let kinds = ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"];
    call.resource.group == GROUP
        && kinds.contains(&call.resource.kind.as_str())
        && matches!(call.verb, Verb::Create | Verb::Update | Verb::Patch)
}

/// Refuses a role or a binding, as it would be after the request, that gives more than the user
/// has.
pub(super) fn check(access: &Access, call: &Call, after: &Value) -> Result<(), Refusal> {
    let gift = Gift::deserialize(after).map_err(Refusal::internal)?;
    let namespace = call.namespace.as_deref().unwrap_or_default();
    let name = after.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let policy = access.policy();
    let asks = |verb: &str, resource: &str, name: &str| {
        let objects = Objects {
            group: GROUP.to_owned(),
            version: "v1".to_owned(),
            resource: resource.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            ..Objects::default()
        };
        let attributes =
            Attributes { verb: verb.to_owned(), path: String::new(), objects: Some(objects) };
        policy.decide(&call.user, &attributes.request()).is_allowed()
    };
    let plural = call.resource.plural.as_str();
    let given = match &gift.role_ref {
        None if asks("escalate", plural, name) => return Ok(()),
        None => gift.rules.unwrap_or_default(),
        Some(role) if asks("bind", plural_of(&role.kind), &role.name) => return Ok(()),
        Some(role) => rules_of_role(&policy, role, namespace)?,
    };
    let missing = missing(&policy.rules_of(&call.user, namespace), &given);
    if missing.is_empty() {
        return Ok(());
    }
    let reason = format!(
        "{} is attempting to grant RBAC permissions not currently held:\n{}",
        shown_user(&call.user),
        missing.join("\n")
    );
    Err(forbidden_because(GROUP, plural, name, &reason))
}

fn plural_of(kind: &str) -> &'static str {
    if kind == "ClusterRole" { "clusterroles" } else { "roles" }
}

fn rules_of_role(
    policy: &Policy,
    role: &RoleRef,
    namespace: &str,
) -> Result<Vec<PolicyRule>, Refusal> {
    let plural = plural_of(&role.kind);
    policy.rules(role, namespace).cloned().ok_or_else(|| {
        let message = format!("{plural}.{GROUP} {:?} not found", role.name);
        Refusal::new(404, "NotFound", message).about(Details {
            name: role.name.clone(),
            group: GROUP.to_owned(),
            kind: plural.to_owned(),
            ..Details::default()
        })
    })
}

fn shown_user(user: &User) -> String {
    format!("user {:?} (groups={})", user.name, words(&user.groups))
}

/// What is given and not held, as the API server writes it.
fn missing(held: &[&PolicyRule], given: &[PolicyRule]) -> Vec<String> {
    let mut missing: BTreeMap<(u8, String), Vec<String>> = BTreeMap::new();
    for atom in given.iter().flat_map(atoms) {
        if !held.iter().any(|rule| covers(rule, &atom)) {
            let verbs = missing.entry(atom.what()).or_default();
            if !verbs.iter().any(|verb| verb == atom.verb()) {
                verbs.push(atom.verb().to_owned());
            }
        }
    }
    let shown =
        |((_, what), verbs): (_, Vec<String>)| format!("{{{what}, Verbs:{}}}", words(&verbs));
    missing.into_iter().map(shown).collect()
}

/// The smallest thing that a rule can give.
enum Atom<'a> {
    Objects { group: &'a str, resource: &'a str, name: Option<&'a str>, verb: &'a str },
    Url { url: &'a str, verb: &'a str },
}

impl Atom<'_> {
    fn verb(&self) -> &str {
        match self {
            Self::Objects { verb, .. } | Self::Url { verb, .. } => verb,
        }
    }

    /// Everything but the verb, and its place in the order.
    fn what(&self) -> (u8, String) {
        match self {
            Self::Objects { group, resource, name, .. } => {
                let name = name.map(|name| format!(", ResourceNames:[{name:?}]"));
                let name = name.unwrap_or_default();
                (0, format!("APIGroups:[{group:?}], Resources:[{resource:?}]{name}"))
            }
            Self::Url { url, .. } => (1, format!("NonResourceURLs:[{url:?}]")),
        }
    }
}

fn atoms(rule: &PolicyRule) -> Vec<Atom<'_>> {
    fn each(words: Option<&Vec<String>>) -> impl Iterator<Item = &str> {
        words.into_iter().flatten().map(String::as_str)
    }
    let names: Vec<Option<&str>> = match each(rule.resource_names.as_ref()).collect::<Vec<_>>() {
        names if names.is_empty() => vec![None],
        names => names.into_iter().map(Some).collect(),
    };
    let mut atoms = Vec::new();
    for verb in &rule.verbs {
        for group in each(rule.api_groups.as_ref()) {
            for resource in each(rule.resources.as_ref()) {
                let of = |&name| Atom::Objects { group, resource, name, verb };
                atoms.extend(names.iter().map(of));
            }
        }
        atoms.extend(each(rule.non_resource_urls.as_ref()).map(|url| Atom::Url { url, verb }));
    }
    atoms
}

fn covers(rule: &PolicyRule, atom: &Atom<'_>) -> bool {
    let has = |words: &Option<Vec<String>>, word: &str| {
        words.iter().flatten().any(|it| it == "*" || it == word)
    };
    if !rule.verbs.iter().any(|verb| verb == "*" || verb == atom.verb()) {
        return false;
    }
    match *atom {
        Atom::Objects { group, resource, name, .. } => {
            let of_any = resource.split_once('/').map(|(_, below)| format!("*/{below}"));
            let names = rule.resource_names.as_deref().unwrap_or_default();
            has(&rule.api_groups, group)
                && (has(&rule.resources, resource)
                    || of_any.is_some_and(|of_any| has(&rule.resources, &of_any)))
                && (names.is_empty() || name.is_some_and(|name| names.iter().any(|it| it == name)))
        }
        Atom::Url { url, .. } => rule.non_resource_urls.iter().flatten().any(|held| {
            held == url || held.strip_suffix('*').is_some_and(|prefix| url.starts_with(prefix))
        }),
    }
}

/// As Go prints a list of texts.
fn words(words: &[String]) -> String {
    let words: Vec<_> = words.iter().map(|word| format!("{word:?}")).collect();
    format!("[{}]", words.join(" "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(rules: Value) -> Vec<PolicyRule> {
        serde_json::from_value(rules).unwrap()
    }

    fn lacking(held: Value, given: Value) -> String {
        let held = rules(held);
        missing(&held.iter().collect::<Vec<_>>(), &rules(given)).join("\n")
    }

    #[test]
    fn what_is_missing_is_said_as_the_api_server_says_it() {
        let held = json!([
            { "apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"] },
            { "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["s1"] },
        ]);
        let given = json!([
            { "apiGroups": [""], "resources": ["pods", "configmaps"], "verbs": ["get", "delete"] },
            { "apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["*"], "resourceNames": ["a", "b"] },
        ]);
        insta::assert_snapshot!(lacking(held.clone(), given), @r#"
        {APIGroups:[""], Resources:["configmaps"], Verbs:["get" "delete"]}
        {APIGroups:[""], Resources:["pods"], Verbs:["delete"]}
        {APIGroups:["apps"], Resources:["deployments/scale"], ResourceNames:["a"], Verbs:["*"]}
        {APIGroups:["apps"], Resources:["deployments/scale"], ResourceNames:["b"], Verbs:["*"]}
        "#);
        let everything = json!([
            { "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] },
            { "nonResourceURLs": ["*"], "verbs": ["*"] },
        ]);
        insta::assert_snapshot!(lacking(held.clone(), everything.clone()), @r#"
        {APIGroups:["*"], Resources:["*"], Verbs:["*"]}
        {NonResourceURLs:["*"], Verbs:["*"]}
        "#);
        assert_eq!(lacking(everything, held), "");
    }

    #[test]
    fn a_rule_covers_what_it_gives_itself() {
        let rule = |resource: &str, names: Value| json!([{ "apiGroups": [""], "resources": [resource], "verbs": ["get"], "resourceNames": names }]);
        for (held, given, covered) in [
            (rule("pods", json!([])), rule("pods", json!([])), true),
            (rule("pods", json!([])), rule("pods", json!(["a"])), true),
            (rule("pods", json!(["a"])), rule("pods", json!([])), false),
            (rule("pods", json!(["a", "b"])), rule("pods", json!(["b"])), true),
            (rule("*/status", json!([])), rule("pods/status", json!([])), true),
            (rule("pods", json!([])), rule("pods/status", json!([])), false),
        ] {
            assert_eq!(lacking(held.clone(), given.clone()).is_empty(), covered, "{held} {given}");
        }
    }
}
