//! Who asks for which API, as the cluster counts it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use fairway_compat::Minor;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde::Deserialize;

use crate::cluster::Resource;

/// What was asked of an API within a day.
pub(in crate::checks) const COUNTS: Resource =
    Resource::new("apiserver.openshift.io", "v1", "APIRequestCount", "apirequestcounts");

/// Programs that ask for every API that there is, whoever uses it, and come with the release.
const ASK_FOR_ALL: [&str; 2] = ["cluster-policy-controller", "kube-controller-manager"];

/// What was asked of one API within a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Count {
    /// `cronjobs.v1beta1.batch`.
    pub(super) api: String,
    /// The version of Kubernetes without the API, if the cluster knows one.
    pub(super) removed_in: Option<Minor>,
    /// How often somebody asked whose answer matters.
    pub(super) requests: u64,
    /// Who asked most often, first.
    pub(super) clients: Vec<String>,
}

impl Count {
    /// `None` if nobody asks, or if it makes no sense.
    pub(super) fn read(object: &DynamicObject) -> Option<Self> {
        let status = Status::deserialize(object.data.get("status")?).ok()?;
        let (for_all, for_this): (Vec<&Client>, Vec<&Client>) =
            status.clients().partition(|client| client.asks_for_all());
        let for_all = for_all.iter().map(|client| client.request_count).sum();
        let requests = status.request_count.saturating_sub(for_all);
        (requests > 0).then(|| Self {
            api: object.name_any(),
            removed_in: Minor::parse(&status.removed_in_release),
            requests,
            clients: most_frequent(&for_this),
        })
    }
}

/// Everybody once, who asks most often first.
fn most_frequent(clients: &[&Client]) -> Vec<String> {
    let mut requests: BTreeMap<String, u64> = BTreeMap::new();
    for client in clients {
        *requests.entry(client.to_string()).or_default() += client.request_count;
    }
    let mut clients: Vec<_> = requests.into_iter().collect();
    clients.sort_by_key(|&(_, requests)| Reverse(requests));
    clients.into_iter().map(|(client, _)| client).collect()
}

// Lists that are empty may be missing, or `null`.
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
    /// Whoever asked, in any hour, any API server.
    fn clients(&self) -> impl Iterator<Item = &Client> {
        let api_servers =
            self.last24h.iter().flatten().flat_map(|hour| hour.by_node.iter().flatten());
        api_servers.flat_map(|api_server| api_server.by_user.iter().flatten())
    }
}

impl Client {
    fn asks_for_all(&self) -> bool {
        let program = self.user_agent.split('/').next().unwrap_or_default();
        ASK_FOR_ALL.contains(&program)
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
    fn those_who_ask_most_often_come_first() {
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
            removed_in: Minor::parse("1.25"),
            requests: 9,
            clients: ["kubectl/v1.20 of alice", "curl/7 of bob"].map(str::to_owned).to_vec(),
        };
        assert_eq!(read(&status), Some(expected));
    }

    #[test]
    fn those_who_ask_for_everything_do_not_count() {
        let all = user("system:kube-controller-manager", "kube-controller-manager/v1.24.0", 7);
        let hours = json!([{"byNode": [{"byUser": [all]}]}]);
        assert_eq!(read(&json!({"requestCount": 7, "last24h": hours})), None);
        let more = read(&json!({"requestCount": 8, "last24h": hours})).unwrap();
        assert_eq!((more.requests, more.clients), (1, vec![]));
    }

    #[test]
    fn what_makes_no_sense_does_not_count() {
        for status in
            [json!(null), json!({}), json!({"requestCount": 0}), json!({"requestCount": -1})]
        {
            assert_eq!(read(&status), None, "{status}");
        }
    }
}
