//! Verification that RBAC rules grant read access only.

use serde_json::Value;

/// Read verbs. `get` of a subresource such as `pods/exec` is not read access.
const VERBS: [&str; 3] = ["get", "list", "watch"];

/// Resources with credentials, which may only be read by name.
const CREDENTIALS: [(&str, &str); 4] = [
    ("", "secrets"),
    ("oauth.openshift.io", "oauthaccesstokens"),
    ("oauth.openshift.io", "oauthauthorizetokens"),
    ("oauth.openshift.io", "useroauthaccesstokens"),
];

/// Scope of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One namespace.
    Namespace,
    /// All namespaces, and cluster-scoped resources.
    Cluster,
}

/// Verifies that a role grants read access only, without aggregation. Returns the path of the first
/// violation and its reason.
pub fn read_only(role: &Value, scope: Scope) -> Result<(), (String, &'static str)> {
    let aggregated = Field::root(role).field("aggregationRule");
    if aggregated.is_set() {
        return Err((aggregated.path, "a role must not be aggregated"));
    }
    rules_read_only(role, scope)
}

/// Verifies the rules of a role, whether they are aggregated or not.
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
    texts(&rule.field("verbs"), |verb| {
        (!VERBS.contains(&verb)).then_some("a check may only get, list and watch")
    })?;
    texts(&rule.field("apiGroups"), |group| {
        group.contains('*').then_some("a check must name its API groups, without wildcards")
    })?;
    texts(&rule.field("resources"), |resource| match resource.split_once('/') {
        _ if resource.contains('*') || resource.is_empty() => {
            Some("a check must name its resources, without wildcards")
        }
        None | Some((_, "status") | ("pods", "log")) => None,
        Some(_) => Some("a check may read only the subresources pods/log and status"),
    })?;
    credentials(rule, scope)
}

/// A list with at least one string, all of which are allowed.
fn texts<'a>(
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

/// A value and its path in a manifest.
#[derive(Clone, Debug)]
pub(super) struct Field<'a> {
    pub(super) path: String,
    pub(super) value: &'a Value,
}

impl<'a> Field<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        Self { path: String::new(), value }
    }

    /// Field of an object; null if missing.
    pub(super) fn field(&self, name: &str) -> Self {
        let separator = if self.path.is_empty() { "" } else { "." };
        let path = format!("{}{separator}{name}", self.path);
        Self { path, value: self.value.get(name).unwrap_or(&Value::Null) }
    }

    /// Nested field.
    pub(super) fn at(&self, names: &[&str]) -> Self {
        names.iter().fold(self.clone(), |field, name| field.field(name))
    }

    /// Entries of a list; empty for other values.
    pub(super) fn items(&self) -> Vec<Self> {
        let values = self.value.as_array().map(Vec::as_slice).unwrap_or_default();
        let item = |(index, value)| Self { path: format!("{}[{index}]", self.path), value };
        values.iter().enumerate().map(item).collect()
    }

    /// Whether it is a list with entries.
    pub(super) fn is_filled_list(&self) -> bool {
        self.value.as_array().is_some_and(|values| !values.is_empty())
    }

    /// The string; empty for other values.
    pub(super) fn text(&self) -> &'a str {
        self.value.as_str().unwrap_or_default()
    }

    /// Whether the value is set: not null, false or empty.
    pub(super) fn is_set(&self) -> bool {
        match self.value {
            Value::Null | Value::Bool(false) => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(values) => !values.is_empty(),
            Value::Object(fields) => !fields.is_empty(),
            Value::Bool(true) | Value::Number(_) => true,
        }
    }
}
