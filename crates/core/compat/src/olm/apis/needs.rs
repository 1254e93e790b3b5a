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
pub struct Needs {
    namespace: String,
    named: Vec<(Use, Api)>,
    webhooks: Vec<Rule>,
    permitted: Vec<Rule>,
    accounts: BTreeSet<String>,
}

/// What stands for every group, and for every resource.
const ALL: &str = "*";

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
        let namespace = csv.pointer("/metadata/namespace").and_then(Value::as_str);
        Self::of(namespace.unwrap_or_default(), csv.get("spec").unwrap_or(&Value::Null))
    }

    /// Reads the specification of a ClusterServiceVersion in a namespace.
    pub fn of(namespace: &str, spec: &Value) -> Self {
        let mut needs = Self { namespace: namespace.to_owned(), ..Self::default() };
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
        let webhooks = list(spec, "/webhookdefinitions").flat_map(|it| list(it, "/rules"));
        needs.webhooks.extend(webhooks.map(Rule::read));
        for pointer in ["/install/spec/permissions", "/install/spec/clusterPermissions"] {
            for permission in list(spec, pointer) {
                let account = permission.get("serviceAccountName").and_then(Value::as_str);
                needs.accounts.extend(account.map(str::to_owned));
                needs.permitted.extend(list(permission, "/rules").map(Rule::read));
            }
        }
        needs
    }

    /// Only what matters for these APIs: the rest is far more, and somebody else's to choose.
    #[must_use]
    pub fn about(mut self, apis: &[Lost]) -> Self {
        self.named.retain(|(_, api)| apis.iter().any(|lost| api.is(lost)));
        for rules in [&mut self.webhooks, &mut self.permitted] {
            rules.retain_mut(|rule| rule.retain(apis));
            rules.sort_unstable();
            rules.dedup();
        }
        self
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
        // A webhook that names other versions as well goes on with them.
        let is_it = |rule: &Rule| rule.versions == [lost.version.as_str()] && rule.names(lost);
        let webhook = self.webhooks.iter().any(is_it).then_some(Use::Webhook);
        let permission = (lost.is_whole() && self.permits(lost)).then_some(Use::Permission);
        named.chain(webhook).chain(permission).collect()
    }

    /// Whether permissions name the group and the resource of an API.
    pub(super) fn permits(&self, lost: &Lost) -> bool {
        self.permitted.iter().any(|rule| rule.names(lost))
    }

    /// Permissions that may mean an API, or everything else: `*.batch`.
    pub(super) fn wildcards(&self, lost: &Lost) -> impl Iterator<Item = String> {
        let (group, resource) = (lost.group.as_str(), lost.resource.as_str());
        let wild = [(ALL, ALL), (ALL, resource), (group, ALL)];
        let wild = wild.into_iter().filter(|(group, resource)| {
            self.permitted.iter().any(|rule| rule.has(group, resource))
        });
        wild.map(|(group, resource)| format!("{resource}.{group}"))
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

/// A rule of a permission or a webhook: every group with every resource. They are not multiplied
/// out, for there may be thousands of both.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Rule {
    groups: BTreeSet<String>,
    versions: Vec<String>,
    resources: BTreeSet<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Written {
    api_groups: BTreeSet<String>,
    api_versions: Vec<String>,
    resources: Vec<String>,
}

impl Rule {
    fn read(rule: &Value) -> Self {
        let Written { api_groups, api_versions, resources } =
            Written::deserialize(rule).unwrap_or_default();
        // What is allowed of a part of a resource is about the resource.
        let whole = |it: &String| it.split('/').next().unwrap_or_default().to_owned();
        let resources = resources.iter().map(whole).collect();
        Self { groups: api_groups, versions: api_versions, resources }
    }

    fn has(&self, group: &str, resource: &str) -> bool {
        self.groups.contains(group) && self.resources.contains(resource)
    }

    fn names(&self, lost: &Lost) -> bool {
        self.has(&lost.group, &lost.resource)
    }

    /// Keeps what is about these APIs; whether anything is.
    fn retain(&mut self, apis: &[Lost]) -> bool {
        self.groups.retain(|it| it == ALL || apis.iter().any(|lost| lost.group == *it));
        self.resources.retain(|it| it == ALL || apis.iter().any(|lost| lost.resource == *it));
        // Two are as good as more: it is not the only one.
        self.versions.truncate(2);
        !self.groups.is_empty() && !self.resources.is_empty()
    }
}

fn list<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}
