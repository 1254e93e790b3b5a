//! APIs that an operator uses, from its ClusterServiceVersion and `APIRequestCount` objects.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use super::LostApi;

/// Evidence that an operator uses an API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UsageEvidence {
    /// The operator provides the API.
    Owns,
    /// The operator requires the API.
    Requires,
    /// The operator has a webhook for the API.
    Webhook,
    /// The operator has permissions for the API, in any version.
    Permission,
    /// The operator requested the API within the last 24 hours.
    Requests,
}

impl fmt::Display for UsageEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Owns => "owned",
            Self::Requires => "required",
            Self::Webhook => "used by its webhook",
            Self::Permission => "named in its permissions",
            Self::Requests => "requested within the last 24 hours",
        })
    }
}

/// The APIs that an operator uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiUsage {
    namespace: String,
    named: Vec<(UsageEvidence, ApiReference)>,
    webhooks: Vec<ResourceRule>,
    permitted: Vec<ResourceRule>,
    service_accounts: BTreeSet<String>,
}

/// Wildcard for groups and resources.
const ALL: &str = "*";

/// An API; empty fields are unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct ApiReference {
    group: String,
    version: String,
    kind: String,
    /// Resource name; for CRDs with the group as suffix.
    name: String,
}

impl ApiUsage {
    /// Reads a ClusterServiceVersion. Invalid fields are ignored, because OLM rejects them.
    pub fn read(csv: &Value) -> Self {
        let namespace = csv.pointer("/metadata/namespace").and_then(Value::as_str);
        Self::from_spec(namespace.unwrap_or_default(), csv.get("spec").unwrap_or(&Value::Null))
    }

    /// Reads the `spec` of a ClusterServiceVersion in a namespace.
    pub fn from_spec(namespace: &str, spec: &Value) -> Self {
        let mut usage = Self { namespace: namespace.to_owned(), ..Self::default() };
        for (pointer, used) in [
            ("/customresourcedefinitions/owned", UsageEvidence::Owns),
            ("/customresourcedefinitions/required", UsageEvidence::Requires),
            ("/apiservicedefinitions/owned", UsageEvidence::Owns),
            ("/apiservicedefinitions/required", UsageEvidence::Requires),
            ("/nativeAPIs", UsageEvidence::Requires),
        ] {
            let apis = list(spec, pointer).filter_map(|it| ApiReference::deserialize(it).ok());
            usage.named.extend(apis.map(|api| (used, api.with_group_of_name())));
        }
        let webhooks = list(spec, "/webhookdefinitions").flat_map(|it| list(it, "/rules"));
        usage.webhooks.extend(webhooks.map(ResourceRule::read));
        for pointer in ["/install/spec/permissions", "/install/spec/clusterPermissions"] {
            for permission in list(spec, pointer) {
                let service_account = permission.get("serviceAccountName").and_then(Value::as_str);
                usage.service_accounts.extend(service_account.map(str::to_owned));
                usage.permitted.extend(list(permission, "/rules").map(ResourceRule::read));
            }
        }
        usage
    }

    /// Drops everything except these APIs, which bounds the memory: permissions are large and
    /// chosen by others.
    #[must_use]
    pub fn about(mut self, apis: &[LostApi]) -> Self {
        self.named.retain(|(_, api)| apis.iter().any(|lost| api.is_same(lost)));
        for rules in [&mut self.webhooks, &mut self.permitted] {
            rules.retain_mut(|rule| rule.retain(apis));
            rules.sort_unstable();
            rules.dedup();
        }
        self
    }

    /// Adds the requests of the operator's ServiceAccounts.
    pub fn with_requests(mut self, requests: &ApiRequests) -> Self {
        for (api, users) in requests.iter() {
            self.add_request(api, users);
        }
        self
    }

    /// Adds requests of users for an API with a name such as `cronjobs.v1beta1.batch`.
    pub(super) fn add_request<'a>(&mut self, api: &str, users: impl IntoIterator<Item = &'a str>) {
        let mut parts = api.splitn(3, '.');
        let [Some(name), Some(version)] = [parts.next(), parts.next()] else { return };
        let is_own = |user: &str| {
            let service_account = user.strip_prefix("system:serviceaccount:");
            let service_account =
                service_account.and_then(|service_account| service_account.split_once(':'));
            service_account.is_some_and(|(namespace, name)| {
                namespace == self.namespace && self.service_accounts.contains(name)
            })
        };
        if users.into_iter().any(is_own) {
            let group = parts.next().unwrap_or_default().to_owned();
            let (name, version) = (name.to_owned(), version.to_owned());
            self.named.push((
                UsageEvidence::Requests,
                ApiReference { group, version, name, kind: String::new() },
            ));
        }
    }

    /// Evidence that the operator uses this version of an API.
    pub(super) fn evidence(&self, lost: &LostApi) -> BTreeSet<UsageEvidence> {
        let named = self.named.iter().filter(|(_, api)| api.is_same(lost)).map(|(used, _)| *used);
        // A webhook with other versions continues to work with them.
        let is_same_rule =
            |rule: &ResourceRule| rule.versions == [lost.version.as_str()] && rule.names(lost);
        let webhook = self.webhooks.iter().any(is_same_rule).then_some(UsageEvidence::Webhook);
        let permission =
            (lost.is_whole() && self.permits(lost)).then_some(UsageEvidence::Permission);
        named.chain(webhook).chain(permission).collect()
    }

    /// Whether permissions contain the group and the resource of an API.
    pub(super) fn permits(&self, lost: &LostApi) -> bool {
        self.permitted.iter().any(|rule| rule.names(lost))
    }

    /// Wildcard permissions that may include an API, such as `*.batch`.
    pub(super) fn wildcards(&self, lost: &LostApi) -> impl Iterator<Item = String> {
        let (group, resource) = (lost.group.as_str(), lost.resource.as_str());
        let wild = [(ALL, ALL), (ALL, resource), (group, ALL)];
        let wild = wild.into_iter().filter(|(group, resource)| {
            self.permitted.iter().any(|rule| rule.has(group, resource))
        });
        wild.map(|(group, resource)| format!("{resource}.{group}"))
    }
}

impl ApiReference {
    /// Splits the name of a CRD, `<plural>.<group>`, into name and group.
    fn with_group_of_name(mut self) -> Self {
        if let Some((name, group)) = self.name.split_once('.') {
            (self.name, self.group) = (name.to_owned(), group.to_owned());
        }
        self
    }

    fn is_same(&self, lost: &LostApi) -> bool {
        let same =
            if self.name.is_empty() { self.kind == lost.kind } else { self.name == lost.resource };
        same && self.group == lost.group && self.version == lost.version
    }
}

/// A rule of a role or a webhook: every group with every resource. The product is not expanded,
/// because both lists can have thousands of entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct ResourceRule {
    groups: BTreeSet<String>,
    versions: Vec<String>,
    resources: BTreeSet<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawRule {
    api_groups: BTreeSet<String>,
    api_versions: Vec<String>,
    resources: Vec<String>,
}

impl ResourceRule {
    fn read(rule: &Value) -> Self {
        let RawRule { api_groups, api_versions, resources } =
            RawRule::deserialize(rule).unwrap_or_default();
        // Permissions for subresources are about their resource.
        let whole = |it: &String| it.split('/').next().unwrap_or_default().to_owned();
        let resources = resources.iter().map(whole).collect();
        Self { groups: api_groups, versions: api_versions, resources }
    }

    fn has(&self, group: &str, resource: &str) -> bool {
        self.groups.contains(group) && self.resources.contains(resource)
    }

    fn names(&self, lost: &LostApi) -> bool {
        self.has(&lost.group, &lost.resource)
    }

    /// Keeps entries about these APIs; returns whether any are left.
    fn retain(&mut self, apis: &[LostApi]) -> bool {
        self.groups.retain(|it| it == ALL || apis.iter().any(|lost| lost.group == *it));
        self.resources.retain(|it| it == ALL || apis.iter().any(|lost| lost.resource == *it));
        // Only the difference between one and several versions matters.
        self.versions.truncate(2);
        !self.groups.is_empty() && !self.resources.is_empty()
    }
}

fn list<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

/// ServiceAccounts that requested each API within the last 24 hours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiRequests(BTreeMap<String, BTreeSet<String>>);

impl ApiRequests {
    /// Adds an `APIRequestCount`. Users other than ServiceAccounts are ignored, because they cannot
    /// belong to an operator.
    pub fn add(&mut self, count: &Value) {
        let Some(api) = count.pointer("/metadata/name").and_then(Value::as_str) else { return };
        let hours = list(count, "/status/last24h");
        let nodes = hours.flat_map(|hour| list(hour, "/byNode"));
        let users = nodes.flat_map(|node| list(node, "/byUser"));
        let names = users.filter_map(|user| user.get("username")?.as_str());
        let service_accounts = names.filter(|name| name.starts_with("system:serviceaccount:"));
        let service_accounts: BTreeSet<String> = service_accounts.map(str::to_owned).collect();
        if !service_accounts.is_empty() {
            self.0.entry(api.to_owned()).or_default().extend(service_accounts);
        }
    }

    /// Copies the users of an API from previous data.
    pub fn keep(&mut self, api: &str, before: &Self) {
        if let Some(service_accounts) = before.0.get(api) {
            self.0.insert(api.to_owned(), service_accounts.clone());
        }
    }

    /// The users of each API.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = &str>)> {
        self.0.iter().map(|(api, users)| (api.as_str(), users.iter().map(String::as_str)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn add_collects_service_accounts() {
        let requests_of = |users: &[&str]| {
            let users: Vec<Value> = users.iter().map(|name| json!({"username": name})).collect();
            json!({"byNode": [{"byUser": users}]})
        };
        let [one, other] =
            ["one", "other"].map(|name| format!("system:serviceaccount:team:{name}"));
        let mut requests = ApiRequests::default();
        requests.add(&json!({
            "metadata": {"name": "cronjobs.v1beta1.batch"},
            "status": {"last24h": [requests_of(&[&one, "admin"]), requests_of(&[&other, &one])]},
        }));
        requests.add(&json!({
            "metadata": {"name": "events.v1beta1.events.k8s.io"},
            "status": {"last24h": [requests_of(&["admin"])]},
        }));
        for nonsense in [json!(null), json!({"metadata": {"name": 7}}), json!({"status": []})] {
            requests.add(&nonsense);
        }
        let texts: Vec<_> =
            requests.iter().map(|(api, users)| (api, users.collect::<Vec<_>>())).collect();
        assert_eq!(texts, [("cronjobs.v1beta1.batch", vec![one.as_str(), other.as_str()])]);
    }
}
