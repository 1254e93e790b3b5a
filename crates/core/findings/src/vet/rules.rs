//! Verification that RBAC rules grant read access only.

use serde_json::Value;

use crate::consent;

/// Read verbs. `get` of a subresource such as `pods/exec` is not read access.
const VERBS: [&str; 3] = ["get", "list", "watch"];

/// Maximum number of Secrets that a rule names: an administrator consents to each one.
const MAX_SECRETS: usize = 20;

/// API groups with credentials, and their resources without credentials. All other resources of
/// these groups are refused, so that a resource that is added later is not granted by accident.
/// `machineconfigs` and `controllerconfigs` contain the pull secret and the bootstrap kubeconfig,
/// `oauthclients` a secret, and `buildconfigs` those of webhooks.
const LIMITED_GROUPS: [(&str, &[&str]); 4] = [
    (
        "",
        &[
            "componentstatuses",
            "configmaps",
            "endpoints",
            "events",
            "limitranges",
            "namespaces",
            "nodes",
            "persistentvolumeclaims",
            "persistentvolumes",
            "pods",
            "podtemplates",
            "replicationcontrollers",
            "resourcequotas",
            "serviceaccounts",
            "services",
        ],
    ),
    ("oauth.openshift.io", &[]),
    ("build.openshift.io", &["builds"]),
    (
        "machineconfiguration.openshift.io",
        &[
            "containerruntimeconfigs",
            "kubeletconfigs",
            "machineconfignodes",
            "machineconfigpools",
            "pinnedimagesets",
        ],
    ),
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

/// Refuses resources with credentials, except for Secrets that a Role names.
fn credentials<'a>(rule: &Field<'a>, scope: Scope) -> Result<(), (Field<'a>, &'static str)> {
    let groups = rule.field("apiGroups").items();
    for resource in rule.field("resources").items() {
        let (name, subresource) = match resource.text().split_once('/') {
            Some((name, subresource)) => (name, subresource),
            None => (resource.text(), ""),
        };
        if name == "secrets" && scope == Scope::Namespace {
            secret_names(rule, &resource)?;
            continue;
        }
        if name == "secrets" {
            let why = "a check may read Secrets only in one namespace, by a Role";
            return Err((resource, why));
        }
        if subresource == "log" && scope == Scope::Cluster {
            let why = "a check may read logs only in one namespace, by a Role";
            return Err((resource, why));
        }
        let is_limited = |group: &Field<'_>| {
            let limited = LIMITED_GROUPS.iter().find(|(name, _)| *name == group.text());
            limited.is_some_and(|(_, allowed)| !allowed.contains(&name))
        };
        if groups.iter().any(is_limited) {
            return Err((resource, "this resource may contain credentials"));
        }
    }
    Ok(())
}

/// Verifies that a rule names its Secrets.
fn secret_names<'a>(rule: &Field<'a>, secret: &Field<'a>) -> Result<(), (Field<'a>, &'static str)> {
    let names = rule.field("resourceNames");
    if !names.is_filled_list() {
        return Err((secret.clone(), "a check may read Secrets only by resourceNames"));
    }
    if names.items().len() > MAX_SECRETS {
        return Err((names, "a rule may name at most 20 Secrets"));
    }
    // The names are part of a command that the administrator copies.
    match names.items().into_iter().find(|name| !consent::is_name(name.text())) {
        Some(name) => Err((name, "not the name of a Secret")),
        None => Ok(()),
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
