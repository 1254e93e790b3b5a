//! Discovery documents.

use serde_json::{Map, Value, json};

use super::{Catalog, Resource, Subresource, group_version};

/// Server version of `/version`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerVersion<'a> {
    /// Major version of the Kubernetes API.
    pub major: u32,
    /// Minor version.
    pub minor: u32,
    /// Full version, such as `v1.33.0+fairway`.
    pub git_version: &'a str,
}

/// `/version`
pub fn version_document(version: ServerVersion<'_>) -> Value {
    json!({
        "major": version.major.to_string(),
        "minor": version.minor.to_string(),
        "gitVersion": version.git_version,
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": platform(),
    })
}

/// The platform in Go's notation.
fn platform() -> String {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{}/{architecture}", std::env::consts::OS)
}

impl Catalog {
    /// `/api`: the core versions. The address is where clients reach the server.
    pub fn core_versions(&self, server_address: &str) -> Value {
        json!({
            "kind": "APIVersions",
            "versions": self.versions(""),
            "serverAddressByClientCIDRs": [
                { "clientCIDR": "0.0.0.0/0", "serverAddress": server_address },
            ],
        })
    }

    /// `/apis`: all groups except the core.
    pub fn group_list(&self) -> Value {
        let groups = self.groups().into_iter().map(|group| self.group_entry(group));
        json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups.collect::<Vec<_>>() })
    }

    /// `/apis/{group}`; `None` if it is not served.
    pub fn group(&self, group: &str) -> Option<Value> {
        if group.is_empty() || self.versions(group).is_empty() {
            return None;
        }
        let mut document = self.group_entry(group);
        document["kind"] = json!("APIGroup");
        document["apiVersion"] = json!("v1");
        Some(document)
    }

    fn group_entry(&self, group: &str) -> Value {
        let versions: Vec<_> = self
            .versions(group)
            .into_iter()
            .map(|version| {
                json!({ "groupVersion": group_version(group, version), "version": version })
            })
            .collect();
        json!({ "name": group, "versions": versions, "preferredVersion": versions.first() })
    }

    /// `/api/{version}` for the core group, otherwise `/apis/{group}/{version}`; `None` if it is
    /// not served.
    pub fn resource_list(&self, group: &str, version: &str) -> Option<Value> {
        let resources: Vec<_> =
            self.in_version(group, version).flat_map(|it| entries(it)).collect();
        (!resources.is_empty()).then(|| {
            json!({
                "kind": "APIResourceList",
                "apiVersion": "v1",
                "groupVersion": group_version(group, version),
                "resources": resources,
            })
        })
    }

    /// `/api` in the aggregated form of `apidiscovery.k8s.io/v2`.
    pub fn aggregated_core(&self) -> Value {
        aggregated(&[self.aggregated_group("")])
    }

    /// `/apis` in the aggregated form of `apidiscovery.k8s.io/v2`.
    pub fn aggregated_groups(&self) -> Value {
        let groups = self.groups().into_iter().map(|group| self.aggregated_group(group));
        aggregated(&groups.collect::<Vec<_>>())
    }

    fn aggregated_group(&self, group: &str) -> Value {
        let versions = self.versions(group).into_iter().map(|version| {
            let resources = self.in_version(group, version).map(|it| aggregated_entry(it));
            json!({
                "version": version,
                "resources": resources.collect::<Vec<_>>(),
                "freshness": "Current",
            })
        });
        let versions: Vec<_> = versions.collect();
        let metadata = if group.is_empty() { json!({}) } else { json!({ "name": group }) };
        json!({ "metadata": metadata, "versions": versions })
    }
}

fn aggregated(groups: &[Value]) -> Value {
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": groups,
    })
}

/// A resource and its subresources, as entries of one list.
fn entries(resource: &Resource) -> Vec<Value> {
    let mut entry = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": resource.verbs,
    });
    add_names(&mut entry, resource);
    let below = resource.subresources.iter().map(|&it| subresource_entry(resource, it));
    std::iter::once(entry).chain(below).collect()
}

fn subresource_entry(resource: &Resource, subresource: Subresource) -> Value {
    let mut entry = json!({
        "name": format!("{}/{}", resource.plural, subresource.as_str()),
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": subresource.verbs(),
    });
    if let Some((group, version, kind)) = subresource.own_kind() {
        if (group, version) != (resource.group.as_str(), resource.version.as_str()) {
            entry["group"] = json!(group);
            entry["version"] = json!(version);
        }
        entry["kind"] = json!(kind);
    }
    entry
}

fn aggregated_entry(resource: &Resource) -> Value {
    let mut entry = json!({
        "resource": resource.plural,
        "responseKind": kind(&resource.group, &resource.version, &resource.kind),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": resource.verbs,
    });
    add_names(&mut entry, resource);
    let below = resource.subresources.iter().map(|&subresource| {
        let own = (&*resource.group, &*resource.version, &*resource.kind);
        let (group, version, name) = subresource.own_kind().unwrap_or(own);
        json!({
            "subresource": subresource.as_str(),
            "responseKind": kind(group, version, name),
            "verbs": subresource.verbs(),
        })
    });
    let below: Vec<_> = below.collect();
    add(&mut entry, "subresources", &below);
    entry
}

fn kind(group: &str, version: &str, kind: &str) -> Value {
    json!({ "group": group, "version": version, "kind": kind })
}

fn add_names(entry: &mut Value, resource: &Resource) {
    add(entry, "shortNames", &resource.short_names);
    add(entry, "categories", &resource.categories);
}

/// Adds a list, unless it is empty.
fn add<T: serde::Serialize>(entry: &mut Value, field: &str, items: &[T]) {
    if let (false, Some(entry)) = (items.is_empty(), entry.as_object_mut()) {
        let entry: &mut Map<String, Value> = entry;
        entry.insert(field.to_owned(), json!(items));
    }
}
