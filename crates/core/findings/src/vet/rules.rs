//! Whether a rule gives no more than the right to read.

use serde_json::Value;

use super::fields::Field;

/// What reading is. `get` alone is not: it also runs commands in Pods, through subresources.
const VERBS: [&str; 3] = ["get", "list", "watch"];

/// What only those read who were told its name: credentials.
const CREDENTIALS: [(&str, &str); 4] = [
    ("", "secrets"),
    ("oauth.openshift.io", "oauthaccesstokens"),
    ("oauth.openshift.io", "oauthauthorizetokens"),
    ("oauth.openshift.io", "useroauthaccesstokens"),
];

/// Where a rule holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In one namespace.
    Namespace,
    /// Everywhere.
    Cluster,
}

/// Looks whether a role gives no more than the right to read: which field does, and why that is too
/// much. What it gives is in the role itself.
pub fn read_only(role: &Value, scope: Scope) -> Result<(), (String, &'static str)> {
    let aggregated = Field::root(role).field("aggregationRule");
    if aggregated.is_set() {
        return Err((aggregated.path, "a role must not be aggregated"));
    }
    rules_read_only(role, scope)
}

/// Looks at the rules that a role has, whoever has put them there.
pub fn rules_read_only(role: &Value, scope: Scope) -> Result<(), (String, &'static str)> {
    let rules = Field::root(role).field("rules");
    if rules.is_set() && !rules.is_filled_list() {
        return Err((rules.path, "must be an array"));
    }
    for rule in rules.items() {
        reads(&rule, scope).map_err(|(field, why)| (field.path, why))?;
    }
    Ok(())
}

fn reads<'a>(rule: &Field<'a>, scope: Scope) -> Result<(), (Field<'a>, &'static str)> {
    let urls = rule.field("nonResourceURLs");
    if urls.is_set() {
        return Err((urls, "a check must not access non-resource URLs"));
    }
    words(&rule.field("verbs"), |verb| {
        (!VERBS.contains(&verb)).then_some("a check may only get, list and watch")
    })?;
    words(&rule.field("apiGroups"), |group| {
        group.contains('*').then_some("a check must name its API groups, without wildcards")
    })?;
    words(&rule.field("resources"), |resource| match resource.split_once('/') {
        _ if resource.contains('*') || resource.is_empty() => {
            Some("a check must name its resources, without wildcards")
        }
        None | Some((_, "status") | ("pods", "log")) => None,
        Some(_) => Some("a check may read only the subresources pods/log and status"),
    })?;
    credentials(rule, scope)
}

/// A list that names at least one thing, each of which is right.
fn words<'a>(
    list: &Field<'a>,
    wrong: impl Fn(&str) -> Option<&'static str>,
) -> Result<(), (Field<'a>, &'static str)> {
    if !list.is_filled_list() {
        return Err((list.clone(), "must be a non-empty array"));
    }
    for word in list.items() {
        let why = word.value.as_str().map_or(Some("must be a string"), &wrong);
        if let Some(why) = why {
            return Err((word, why));
        }
    }
    Ok(())
}

fn credentials<'a>(rule: &Field<'a>, scope: Scope) -> Result<(), (Field<'a>, &'static str)> {
    let groups = rule.field("apiGroups").items();
    let is_credential = |resource: &Field<'_>| {
        let name = resource.text().split('/').next().unwrap_or_default();
        groups.iter().any(|group| CREDENTIALS.contains(&(group.text(), name)))
    };
    let Some(secret) = rule.field("resources").items().into_iter().find(is_credential) else {
        return Ok(());
    };
    let names = rule.field("resourceNames");
    let is_named = names.is_filled_list() && names.items().iter().all(Field::is_set);
    match scope {
        Scope::Namespace if is_named => Ok(()),
        Scope::Namespace => Err((secret, "a check may read Secrets only by resourceNames")),
        Scope::Cluster => {
            Err((secret, "a check may read Secrets only in one namespace, by a Role"))
        }
    }
}
