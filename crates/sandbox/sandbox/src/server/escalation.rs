//! Privilege escalation checks for roles and bindings.

use std::collections::BTreeMap;

use k8s_openapi::api::rbac::v1::{PolicyRule, RoleRef};
use serde::Deserialize;
use serde_json::Value;

use super::authz::{Authorizer, RBAC_GROUP, RequestAttributes, RequestedObjects, forbidden_object};
use crate::api::{ApiRequest, ApiResult, StatusDetails, StatusError};
use crate::catalog::Verb;
use crate::rbac::{Policy, User};

/// The rules of a role, or the role of a binding.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct RoleContent {
    rules: Option<Vec<PolicyRule>>,
    role_ref: Option<RoleRef>,
}

/// Whether a request writes a role or a binding.
pub(super) fn is_role_write(request: &ApiRequest) -> bool {
    let kinds = ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"];
    request.resource.group == RBAC_GROUP
        && kinds.contains(&request.resource.kind.as_str())
        && matches!(request.verb, Verb::Create | Verb::Update | Verb::Patch)
}

/// Refuses a role or binding that grants more than the user has. `after` is the object as it would
/// be stored.
pub(super) fn check_escalation(
    authorizer: &Authorizer,
    request: &ApiRequest,
    after: &Value,
) -> ApiResult<()> {
    let content = RoleContent::deserialize(after).map_err(StatusError::internal)?;
    let namespace = request.namespace.as_deref().unwrap_or_default();
    let name = after.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let policy = authorizer.policy();
    let is_allowed_to = |verb: &str, resource: &str, name: &str| {
        let objects = RequestedObjects {
            group: RBAC_GROUP.to_owned(),
            version: "v1".to_owned(),
            resource: resource.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            ..RequestedObjects::default()
        };
        let attributes = RequestAttributes {
            verb: verb.to_owned(),
            path: String::new(),
            objects: Some(objects),
        };
        policy.decide(&request.user, &attributes.access_request()).is_allowed()
    };
    let plural = request.resource.plural.as_str();
    let granted = match &content.role_ref {
        None if is_allowed_to("escalate", plural, name) => return Ok(()),
        None => content.rules.unwrap_or_default(),
        Some(role) if is_allowed_to("bind", role_plural(&role.kind), &role.name) => return Ok(()),
        Some(role) => rules_of_role(&policy, role, namespace)?,
    };
    let missing = missing(&policy.rules_of(&request.user, namespace), &granted);
    if missing.is_empty() {
        return Ok(());
    }
    let reason = format!(
        "{} is attempting to grant RBAC permissions not currently held:\n{}",
        user_text(&request.user),
        missing.join("\n")
    );
    Err(forbidden_object(RBAC_GROUP, plural, name, &reason))
}

fn role_plural(kind: &str) -> &'static str {
    if kind == "ClusterRole" { "clusterroles" } else { "roles" }
}

fn rules_of_role(policy: &Policy, role: &RoleRef, namespace: &str) -> ApiResult<Vec<PolicyRule>> {
    let plural = role_plural(&role.kind);
    policy.rules(role, namespace).cloned().ok_or_else(|| {
        let message = format!("{plural}.{RBAC_GROUP} {:?} not found", role.name);
        StatusError::new(404, "NotFound", message).with_details(StatusDetails {
            name: role.name.clone(),
            group: RBAC_GROUP.to_owned(),
            kind: plural.to_owned(),
            ..StatusDetails::default()
        })
    })
}

fn user_text(user: &User) -> String {
    format!("user {:?} (groups={})", user.name, go_list(&user.groups))
}

/// The rules that are granted but not held, formatted like the API server does.
fn missing(held: &[&PolicyRule], granted: &[PolicyRule]) -> Vec<String> {
    let mut missing: BTreeMap<(u8, String), Vec<String>> = BTreeMap::new();
    for permission in granted.iter().flat_map(permissions) {
        if !held.iter().any(|rule| covers(rule, &permission)) {
            let verbs = missing.entry(permission.subject()).or_default();
            if !verbs.iter().any(|verb| verb == permission.verb()) {
                verbs.push(permission.verb().to_owned());
            }
        }
    }
    let shown = |((_, subject), verbs): (_, Vec<String>)| {
        format!("{{{subject}, Verbs:{}}}", go_list(&verbs))
    };
    missing.into_iter().map(shown).collect()
}

/// A single permission: one verb on one resource or URL.
enum Permission<'a> {
    Objects { group: &'a str, resource: &'a str, name: Option<&'a str>, verb: &'a str },
    Url { url: &'a str, verb: &'a str },
}

impl Permission<'_> {
    fn verb(&self) -> &str {
        match self {
            Self::Objects { verb, .. } | Self::Url { verb, .. } => verb,
        }
    }

    /// Sort key and text of the permission without its verb.
    fn subject(&self) -> (u8, String) {
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

fn permissions(rule: &PolicyRule) -> Vec<Permission<'_>> {
    fn each(words: Option<&Vec<String>>) -> impl Iterator<Item = &str> {
        words.into_iter().flatten().map(String::as_str)
    }
    let names: Vec<Option<&str>> = match each(rule.resource_names.as_ref()).collect::<Vec<_>>() {
        names if names.is_empty() => vec![None],
        names => names.into_iter().map(Some).collect(),
    };
    let mut permissions = Vec::new();
    for verb in &rule.verbs {
        for group in each(rule.api_groups.as_ref()) {
            for resource in each(rule.resources.as_ref()) {
                let of = |&name| Permission::Objects { group, resource, name, verb };
                permissions.extend(names.iter().map(of));
            }
        }
        permissions
            .extend(each(rule.non_resource_urls.as_ref()).map(|url| Permission::Url { url, verb }));
    }
    permissions
}

fn covers(rule: &PolicyRule, permission: &Permission<'_>) -> bool {
    let has = |words: &Option<Vec<String>>, word: &str| {
        words.iter().flatten().any(|it| it == "*" || it == word)
    };
    if !rule.verbs.iter().any(|verb| verb == "*" || verb == permission.verb()) {
        return false;
    }
    match *permission {
        Permission::Objects { group, resource, name, .. } => {
            let any_resource = resource.split_once('/').map(|(_, below)| format!("*/{below}"));
            let names = rule.resource_names.as_deref().unwrap_or_default();
            has(&rule.api_groups, group)
                && (has(&rule.resources, resource)
                    || any_resource.is_some_and(|any_resource| has(&rule.resources, &any_resource)))
                && (names.is_empty() || name.is_some_and(|name| names.iter().any(|it| it == name)))
        }
        Permission::Url { url, .. } => rule.non_resource_urls.iter().flatten().any(|held| {
            held == url || held.strip_suffix('*').is_some_and(|prefix| url.starts_with(prefix))
        }),
    }
}

/// A list of strings as Go prints it.
fn go_list(words: &[String]) -> String {
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

    fn missing_text(held: Value, granted: Value) -> String {
        let held = rules(held);
        missing(&held.iter().collect::<Vec<_>>(), &rules(granted)).join("\n")
    }

    #[test]
    fn missing_rules_are_formatted_as_in_api_server() {
        let held = json!([
            { "apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"] },
            { "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["s1"] },
        ]);
        let granted = json!([
            { "apiGroups": [""], "resources": ["pods", "configmaps"], "verbs": ["get", "delete"] },
            { "apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["*"], "resourceNames": ["a", "b"] },
        ]);
        insta::assert_snapshot!(missing_text(held.clone(), granted), @r#"
        {APIGroups:[""], Resources:["configmaps"], Verbs:["get" "delete"]}
        {APIGroups:[""], Resources:["pods"], Verbs:["delete"]}
        {APIGroups:["apps"], Resources:["deployments/scale"], ResourceNames:["a"], Verbs:["*"]}
        {APIGroups:["apps"], Resources:["deployments/scale"], ResourceNames:["b"], Verbs:["*"]}
        "#);
        let everything = json!([
            { "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] },
            { "nonResourceURLs": ["*"], "verbs": ["*"] },
        ]);
        insta::assert_snapshot!(missing_text(held.clone(), everything.clone()), @r#"
        {APIGroups:["*"], Resources:["*"], Verbs:["*"]}
        {NonResourceURLs:["*"], Verbs:["*"]}
        "#);
        assert_eq!(missing_text(everything, held), "");
    }

    #[test]
    fn covers_by_resource_and_name() {
        let rule = |resource: &str, names: Value| json!([{ "apiGroups": [""], "resources": [resource], "verbs": ["get"], "resourceNames": names }]);
        for (held, granted, covered) in [
            (rule("pods", json!([])), rule("pods", json!([])), true),
            (rule("pods", json!([])), rule("pods", json!(["a"])), true),
            (rule("pods", json!(["a"])), rule("pods", json!([])), false),
            (rule("pods", json!(["a", "b"])), rule("pods", json!(["b"])), true),
            (rule("*/status", json!([])), rule("pods/status", json!([])), true),
            (rule("pods", json!([])), rule("pods/status", json!([])), false),
        ] {
            assert_eq!(
                missing_text(held.clone(), granted.clone()).is_empty(),
                covered,
                "{held} {granted}"
            );
        }
    }
}
