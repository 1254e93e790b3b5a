//! The APIs that an operator uses, as far as it says so or was seen to.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use super::{Lost, Requests};

/// How it is known that an operator uses an API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// It brings the API itself.
    Owns,
    /// It requires the API.
    Requires,
    /// It asks to be told about objects of the API.
    Webhook,
    /// It may use it, in whatever version.
    Permission,
    /// It asked for it within a day.
    Requests,
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Owns => "it brings it",
            Self::Requires => "it requires it",
            Self::Webhook => "its webhook is about it",
            Self::Permission => "its permissions name it",
            Self::Requests => "it asked for it within a day",
        })
    }
}

/// The APIs that an operator uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    namespace: String,
    named: Vec<(Use, Api)>,
    permitted: Vec<(String, String)>,
    accounts: BTreeSet<String>,
}

/// An API by what is known of it; an empty text is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Api {
    group: String,
    version: String,
    kind: String,
    /// In paths; for definitions of custom resources, with the group behind it.
    name: String,
}

impl Needs {
    /// Reads a ClusterServiceVersion. What is not as it should be, OLM does not take either.
    pub fn read(csv: &Value) -> Self {
        let text = |pointer: &str| csv.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let mut needs =
            Self { namespace: text("/metadata/namespace").to_owned(), ..Self::default() };
        let spec = csv.get("spec").unwrap_or(&Value::Null);
        for (pointer, used) in [
            ("/customresourcedefinitions/owned", Use::Owns),
            ("/customresourcedefinitions/required", Use::Requires),
            ("/apiservicedefinitions/owned", Use::Owns),
            ("/apiservicedefinitions/required", Use::Requires),
            ("/nativeAPIs", Use::Requires),
        ] {
            let apis = list(spec, pointer).filter_map(|it| Api::deserialize(it).ok());
            needs.named.extend(apis.map(|api| (used, api.with_group_of_name())));
        }
        for rule in list(spec, "/webhookdefinitions").flat_map(|it| list(it, "/rules")) {
            needs.add_webhook(&Rule::read(rule));
        }
        for pointer in ["/install/spec/permissions", "/install/spec/clusterPermissions"] {
            for permission in list(spec, pointer) {
                let account = permission.get("serviceAccountName").and_then(Value::as_str);
                needs.accounts.extend(account.map(str::to_owned));
                for rule in list(permission, "/rules") {
                    needs.permitted.extend(Rule::read(rule).pairs());
                }
            }
        }
        needs
    }

    /// With what it was seen to ask for.
    pub fn with_requests(mut self, requests: &Requests) -> Self {
        for (api, users) in requests.iter() {
            self.observed(api, users);
        }
        self
    }

    /// Takes down that users asked for an API, by its name: `cronjobs.v1beta1.batch`.
    pub(super) fn observed<'a>(&mut self, api: &str, users: impl IntoIterator<Item = &'a str>) {
        let mut parts = api.splitn(3, '.');
        let [Some(name), Some(version)] = [parts.next(), parts.next()] else { return };
        let is_ours = |user: &str| {
            let account = user.strip_prefix("system:serviceaccount:");
            let account = account.and_then(|account| account.split_once(':'));
            account.is_some_and(|(namespace, name)| {
                namespace == self.namespace && self.accounts.contains(name)
            })
        };
        if users.into_iter().any(is_ours) {
            let group = parts.next().unwrap_or_default().to_owned();
            let (name, version) = (name.to_owned(), version.to_owned());
            self.named.push((Use::Requests, Api { group, version, name, kind: String::new() }));
        }
    }

    /// How it is known that an API is used, in that version.
    pub(super) fn certain(&self, lost: &Lost) -> BTreeSet<Use> {
        let named = self.named.iter().filter(|(_, api)| api.is(lost)).map(|(used, _)| *used);
        let permitted = lost.is_whole() && self.permits(lost);
        named.chain(permitted.then_some(Use::Permission)).collect()
    }

    /// Whether permissions name the group and the resource of an API.
    pub(super) fn permits(&self, lost: &Lost) -> bool {
        let is_it = |(group, resource): &(String, String)| {
            *group == lost.group && *resource == lost.resource
        };
        self.permitted.iter().any(is_it)
    }

    /// Permissions that may mean an API, or everything else: `*.batch`.
    pub(super) fn wildcards(&self, lost: &Lost) -> impl Iterator<Item = String> {
        let matches = |pattern: &str, text: &str| pattern == "*" || pattern == text;
        let wild = self.permitted.iter().filter(move |(group, resource)| {
            (group == "*" || resource == "*")
                && matches(group, &lost.group)
                && matches(resource, &lost.resource)
        });
        wild.map(|(group, resource)| format!("{resource}.{group}"))
    }

    /// A webhook that names other versions as well goes on with them.
    fn add_webhook(&mut self, rule: &Rule) {
        if let [version] = &rule.api_versions[..] {
            let apis = rule.pairs().map(|(group, name)| {
                let (version, kind) = (version.clone(), String::new());
                (Use::Webhook, Api { group, version, kind, name })
            });
            self.named.extend(apis);
        }
    }
}

impl Api {
    /// Definitions of custom resources have no group beside their name.
    fn with_group_of_name(mut self) -> Self {
        if let Some((name, group)) = self.name.split_once('.') {
            (self.name, self.group) = (name.to_owned(), group.to_owned());
        }
        self
    }

    fn is(&self, lost: &Lost) -> bool {
        let same =
            if self.name.is_empty() { self.kind == lost.kind } else { self.name == lost.resource };
        same && self.group == lost.group && self.version == lost.version
    }
}

/// A rule of a permission or a webhook.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Rule {
    api_groups: Vec<String>,
    api_versions: Vec<String>,
    resources: Vec<String>,
}

impl Rule {
    fn read(rule: &Value) -> Self {
        Self::deserialize(rule).unwrap_or_default()
    }

    /// Groups and resources; what is allowed of a part of a resource is about the resource.
    fn pairs(&self) -> impl Iterator<Item = (String, String)> {
        self.api_groups.iter().flat_map(|group| {
            let whole = self.resources.iter().map(|it| it.split('/').next().unwrap_or_default());
            whole.map(|resource| (group.clone(), resource.to_owned()))
        })
    }
}

fn list<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}
