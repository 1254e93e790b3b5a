use serde_json::{Value, json};

use super::cluster::Cluster;
use crate::api::Propagation;

fn owned(name: &str, owner: &Value, blocks: bool) -> Value {
    json!({ "metadata": { "name": name, "ownerReferences": [{
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "blockOwnerDeletion": blocks,
    }] } })
}

fn named(name: &str) -> Value {
    json!({ "metadata": { "name": name } })
}

#[tokio::test(start_paused = true)]
async fn namespace_gets_service_account_and_root_ca() {
    let cluster = Cluster::new(&[]).await;
    cluster
        .wait_until("the certificate", |it| it.find("ConfigMap", "kube-root-ca.crt").is_some())
        .await;
    assert_eq!(cluster.get("ConfigMap", "kube-root-ca.crt")["data"]["ca.crt"], "the certificate");
    cluster.delete("ServiceAccount", "default", Propagation::Background);
    cluster
        .wait_until("another account", |it| it.find("ServiceAccount", "default").is_some())
        .await;
    cluster.patch("ConfigMap", "kube-root-ca.crt", json!({ "data": { "ca.crt": "forged" } }));
    cluster
        .wait_until("the certificate", |it| {
            it.get("ConfigMap", "kube-root-ca.crt")["data"]["ca.crt"] == "the certificate"
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn owner_with_other_uid_is_dangling() {
    let cluster = Cluster::new(&["node"]).await;
    let owner = cluster.create("v1", "ConfigMap", &named("owner"));
    let node = cluster.get("Node", "node");
    let mut elsewhere = owned("elsewhere", &owner, false);
    elsewhere["metadata"]["namespace"] = json!("other");
    let mut stranger = owned("stranger", &owner, false);
    stranger["metadata"]["ownerReferences"][0]["uid"] =
        json!("00000000-0000-0000-0000-000000000000");
    let mut unknown = owned("unknown", &owner, false);
    unknown["metadata"]["ownerReferences"][0]["kind"] = json!("Nothing");
    cluster.create("v1", "Namespace", &named("other"));
    cluster.create("v1", "Secret", &owned("right", &owner, false));
    cluster.create("v1", "Secret", &owned("of-node", &node, false));
    cluster.create("v1", "Secret", &elsewhere);
    cluster.create("v1", "Secret", &stranger);
    cluster.create("v1", "Secret", &unknown);
    cluster.pass(60).await;
    let mut left: Vec<_> =
        cluster.list("Secret").iter().map(|it| it["metadata"]["name"].clone()).collect();
    left.sort_unstable_by_key(ToString::to_string);
    assert_eq!(left, ["of-node", "right", "unknown"]);
}

#[tokio::test(start_paused = true)]
async fn controllers_recover_from_expired_watches() {
    let cluster = Cluster::with_history(&[], 5).await;
    let owner = cluster.create("v1", "ConfigMap", &named("owner"));
    for index in 0..100 {
        cluster.create("v1", "Secret", &owned(&format!("child-{index}"), &owner, false));
    }
    cluster.delete("ConfigMap", "owner", Propagation::Background);
    cluster.api.store().compact_all();
    cluster.wait_until("the end", |it| it.list("Secret").is_empty()).await;
}

fn definition(kind: &str) -> Value {
    let (singular, plural) = (kind.to_lowercase(), format!("{}s", kind.to_lowercase()));
    let schema = json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    json!({ "metadata": { "name": format!("{plural}.example.com") }, "spec": {
        "group": "example.com", "scope": "Namespaced",
        "names": { "kind": kind, "plural": plural, "singular": singular },
        "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema }],
    } })
}

async fn with_boats() -> Cluster {
    let cluster = Cluster::new(&[]).await;
    cluster.create("apiextensions.k8s.io/v1", "CustomResourceDefinition", &definition("Boat"));
    cluster
}

#[tokio::test(start_paused = true)]
async fn custom_resources_participate_in_garbage_collection() {
    let cluster = with_boats().await;
    let boat = cluster.create("example.com/v1", "Boat", &json!({ "metadata": { "name": "a" } }));
    let sail = cluster.create("v1", "ConfigMap", &owned("sail", &boat, false));
    cluster.create("example.com/v1", "Boat", &owned("toy", &sail, false));
    cluster.pass(60).await;
    cluster.delete("Boat", "a", Propagation::Background);
    cluster.wait_until("the end", |it| it.find("Boat", "toy").is_none()).await;
    assert!(cluster.find("ConfigMap", "sail").is_none());
}

#[tokio::test(start_paused = true)]
async fn owner_of_unserved_kind_keeps_dependents() {
    let cluster = with_boats().await;
    let boat = json!({ "apiVersion": "example.com/v1", "kind": "Ship", "metadata": { "name": "a", "uid": "1" } });
    cluster.create("v1", "ConfigMap", &owned("cargo", &boat, false));
    cluster.pass(60).await;
    assert!(cluster.find("ConfigMap", "cargo").is_some());
    cluster.create("apiextensions.k8s.io/v1", "CustomResourceDefinition", &definition("Ship"));
    cluster.wait_until("the end", |it| it.find("ConfigMap", "cargo").is_none()).await;
}
