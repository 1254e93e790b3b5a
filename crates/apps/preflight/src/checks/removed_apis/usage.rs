//! Request counts of APIs (`APIRequestCount`).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use fairway_compat::KubernetesMinor;
use kube::ResourceExt as _;
use kube::api::{DynamicObject, ObjectMeta};
use serde::Deserialize;

use crate::cluster::Resource;

/// Request counts of APIs.
pub(in crate::checks) const COUNTS: Resource =
    Resource::new("apiserver.openshift.io", "v1", "APIRequestCount", "apirequestcounts");

/// Clients that request every API, whether it is used or not, and are part of the release.
const REQUEST_ALL_CLIENTS: [&str; 2] = ["cluster-policy-controller", "kube-controller-manager"];

/// Requests of one API in the last 24 hours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Count {
    /// API, such as `cronjobs.v1beta1.batch`.
    pub(super) api: String,
    /// Kubernetes version without the API, if the cluster knows it.
    pub(super) removed_in: Option<KubernetesMinor>,
    /// Number of requests of other clients.
    pub(super) requests: u64,
    /// Clients, the most frequent first.
    pub(super) clients: Vec<String>,
}

impl Count {
    /// Reads the counts; `None` without requests, or if they are invalid.
    pub(super) fn read(object: &DynamicObject) -> Option<Self> {
        let status = Status::deserialize(object.data.get("status")?).ok()?;
        let (for_all, for_this): (Vec<&Client>, Vec<&Client>) =
            status.clients().partition(|client| client.asks_for_all());
        let for_all = for_all.iter().map(|client| client.request_count).sum();
        let requests = status.request_count.saturating_sub(for_all);
        (requests > 0).then(|| Self {
            api: object.name_any(),
            removed_in: KubernetesMinor::parse(&status.removed_in_release),
            requests,
            clients: most_frequent(&for_this),
        })
    }
}

/// Distinct clients, the most frequent first.
fn most_frequent(clients: &[&Client]) -> Vec<String> {
    let mut requests: BTreeMap<String, u64> = BTreeMap::new();
    for client in clients {
        *requests.entry(client.to_string()).or_default() += client.request_count;
    }
    let mut clients: Vec<_> = requests.into_iter().collect();
    clients.sort_by_key(|&(_, requests)| Reverse(requests));
    clients.into_iter().map(|(client, _)| client).collect()
}

// Empty lists may be missing or null.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    removed_in_release: String,
    request_count: u64,
    last24h: Option<Vec<Hour>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Hour {
    by_node: Option<Vec<ApiServer>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ApiServer {
    by_user: Option<Vec<Client>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Client {
    username: String,
    user_agent: String,
    request_count: u64,
}

impl Status {
    /// Clients of all hours and API servers.
    fn clients(&self) -> impl Iterator<Item = &Client> {
        let api_servers =
            self.last24h.iter().flatten().flat_map(|hour| hour.by_node.iter().flatten());
        api_servers.flat_map(|api_server| api_server.by_user.iter().flatten())
    }
}

impl Client {
    fn asks_for_all(&self) -> bool {
        let program = self.user_agent.split('/').next().unwrap_or_default();
        REQUEST_ALL_CLIENTS.contains(&program)
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = self.user_agent.split(' ').next().unwrap_or_default();
        match (program, self.username.as_str()) {
            ("", user) => f.write_str(user),
            (program, "") => f.write_str(program),
            (program, user) => write!(f, "{program} of {user}"),
        }
    }
}

/// Annotation of `kubectl apply`.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Prefixes of field managers that are part of the release, and are replaced by the update.
const RELEASE_MANAGERS: [&str; 7] = [
    "api-priority-and-fairness",
    "cluster-version-operator",
    "fairway",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
];

/// Kinds that are written by controllers only, so that no manifests of them exist.
const CONTROLLER_KINDS: [&str; 9] = [
    "certificatesigningrequests",
    "controllerrevisions",
    "csinodes",
    "csistoragecapacities",
    "endpointslices",
    "events",
    "leases",
    "replicasets",
    "volumeattachments",
];

/// Whether manifests of a kind may exist. Reviews are requests and are not stored.
pub(super) fn may_have_manifests(plural: &str) -> bool {
    !CONTROLLER_KINDS.contains(&plural) && !plural.ends_with("reviews")
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Applied {
    api_version: String,
}

/// Field manager that wrote the object through an API, if any.
pub(super) fn writer<'a>(object: &'a ObjectMeta, api_version: &str) -> Option<&'a str> {
    let applied = object.annotations.as_ref().and_then(|all| all.get(LAST_APPLIED));
    let applied = applied.and_then(|text| serde_json::from_str::<Applied>(text).ok());
    if applied.is_some_and(|applied| applied.api_version == api_version) {
        return Some("kubectl apply");
    }
    let fields = object.managed_fields.iter().flatten();
    let through = fields.filter(|fields| fields.api_version.as_deref() == Some(api_version));
    let mut managers = through.filter_map(|fields| fields.manager.as_deref());
    managers.find(|manager| !RELEASE_MANAGERS.iter().any(|known| manager.starts_with(known)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(status: &Value) -> Option<Count> {
        let count = json!({"metadata": {"name": "cronjobs.v1beta1.batch"}, "status": status});
        Count::read(&serde_json::from_value(count).unwrap())
    }

    fn user(name: &str, agent: &str, requests: u64) -> Value {
        json!({"username": name, "userAgent": agent, "requestCount": requests})
    }

    #[test]
    fn clients_are_sorted_by_frequency() {
        let hours = json!([
            {},
            {"byNode": [
                {"byUser": [user("alice", "kubectl/v1.20 (linux/amd64)", 2), user("bob", "curl/7", 4)]},
                {"byUser": [user("alice", "kubectl/v1.20 (linux/amd64)", 3)]},
            ]},
            {"byNode": null},
        ]);
        let status = json!({"removedInRelease": "1.25", "requestCount": 9, "last24h": hours});
        let expected = Count {
            api: "cronjobs.v1beta1.batch".to_owned(),
            removed_in: KubernetesMinor::parse("1.25"),
            requests: 9,
            clients: ["kubectl/v1.20 of alice", "curl/7 of bob"].map(str::to_owned).to_vec(),
        };
        assert_eq!(read(&status), Some(expected));
    }

    #[test]
    fn clients_that_request_everything_are_ignored() {
        let all = user("system:kube-controller-manager", "kube-controller-manager/v1.24.0", 7);
        let hours = json!([{"byNode": [{"byUser": [all]}]}]);
        assert_eq!(read(&json!({"requestCount": 7, "last24h": hours})), None);
        let more = read(&json!({"requestCount": 8, "last24h": hours})).unwrap();
        assert_eq!((more.requests, more.clients), (1, vec![]));
    }

    #[test]
    fn read_invalid_counts_returns_none() {
        for status in
            [json!(null), json!({}), json!({"requestCount": 0}), json!({"requestCount": -1})]
        {
            assert_eq!(read(&status), None, "{status}");
        }
    }

    fn wrote(metadata: Value) -> Option<String> {
        let object: ObjectMeta = serde_json::from_value(metadata).unwrap();
        writer(&object, "policy/v1beta1").map(str::to_owned)
    }

    #[test]
    fn writer_returns_manager_of_api_version() {
        let by = |manager: &str, api: &str| json!({"managedFields": [{"manager": manager, "apiVersion": api}]});
        let applied = |text: &str| json!({"annotations": {LAST_APPLIED: text}});
        for (metadata, expected) in [
            (json!({}), None),
            (by("helm", "policy/v1beta1"), Some("helm")),
            (by("helm", "policy/v1"), None),
            (by("kube-controller-manager", "policy/v1beta1"), None),
            (by("kubectl-create", "policy/v1beta1"), Some("kubectl-create")),
            (applied(r#"{"apiVersion": "policy/v1beta1", "kind": "x"}"#), Some("kubectl apply")),
            (applied(r#"{"apiVersion": "policy/v1"}"#), None),
            (applied("policy/v1beta1"), None),
        ] {
            assert_eq!(wrote(metadata.clone()).as_deref(), expected, "{metadata}");
        }
    }
}
