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
        .eventually("the certificate", |it| it.find("ConfigMap", "kube-root-ca.crt").is_some())
        .await;
    assert_eq!(cluster.get("ConfigMap", "kube-root-ca.crt")["data"]["ca.crt"], "the certificate");
    cluster.delete("ServiceAccount", "default", Propagation::Background);
    cluster
        .eventually("another account", |it| it.find("ServiceAccount", "default").is_some())
        .await;
    cluster.patch("ConfigMap", "kube-root-ca.crt", json!({ "data": { "ca.crt": "forged" } }));
    cluster
        .eventually("the certificate", |it| {
            it.get("ConfigMap", "kube-root-ca.crt")["data"]["ca.crt"] == "the certificate"
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn namespace_deletion_deletes_content() {
    let cluster = Cluster::new(&[]).await;
    cluster.create("v1", "ConfigMap", &named("plain"));
    cluster.create(
        "v1",
        "Secret",
        &json!({ "metadata": { "name": "held", "finalizers": ["a.b/c"] } }),
    );
    cluster.delete("Namespace", "n", Propagation::Background);
    cluster.eventually("the deletion", |it| it.find("ConfigMap", "plain").is_none()).await;
    let describe = |it: &Cluster, index: usize| {
        it.get("Namespace", "n").pointer(&format!("/status/conditions/{index}/message")).cloned()
    };
    cluster.eventually("the condition", |it| describe(it, 3).is_some()).await;
    assert_eq!(
        describe(&cluster, 3).unwrap(),
        "Some resources are remaining: secrets. has 1 resource instances"
    );
    assert_eq!(
        describe(&cluster, 4).unwrap(),
        "Some content in the namespace has finalizers remaining: a.b/c in 1 resource instances"
    );
    cluster.patch("Secret", "held", json!({ "metadata": { "finalizers": [] } }));
    cluster.eventually("the end", |it| it.find("Namespace", "n").is_none()).await;
    assert!(cluster.find("Secret", "held").is_none());
}

#[tokio::test(start_paused = true)]
async fn owner_deletion_deletes_dependents() {
    let cluster = Cluster::new(&[]).await;
    let owner = cluster.create("v1", "ConfigMap", &named("owner"));
    let child = cluster.create("v1", "Secret", &owned("child", &owner, true));
    cluster.create("v1", "ConfigMap", &owned("grandchild", &child, true));
    cluster.pass(60).await;
    assert!(cluster.find("ConfigMap", "grandchild").is_some());
    cluster.delete("ConfigMap", "owner", Propagation::Background);
    assert!(cluster.find("ConfigMap", "owner").is_none());
    cluster.eventually("the end", |it| it.find("ConfigMap", "grandchild").is_none()).await;
    assert!(cluster.find("Secret", "child").is_none());
}

#[tokio::test(start_paused = true)]
async fn foreground_deletion_deletes_owner_last() {
    let cluster = Cluster::new(&[]).await;
    let owner = cluster.create("v1", "ConfigMap", &named("owner"));
    let mut held = owned("held", &owner, true);
    held["metadata"]["finalizers"] = json!(["a.b/c"]);
    let child = cluster.create("v1", "Secret", &held);
    cluster.create("v1", "ConfigMap", &owned("grandchild", &child, true));
    cluster.delete("ConfigMap", "owner", Propagation::Foreground);
    cluster
        .eventually("the grandchild's end", |it| it.find("ConfigMap", "grandchild").is_none())
        .await;
    cluster.pass(60).await;
    assert!(cluster.find("ConfigMap", "owner").is_some());
    let finalizers = cluster.get("Secret", "held")["metadata"]["finalizers"].clone();
    assert_eq!(finalizers, json!(["a.b/c"]));
    cluster.patch("Secret", "held", json!({ "metadata": { "finalizers": [] } }));
    cluster.eventually("the end", |it| it.find("ConfigMap", "owner").is_none()).await;
}

#[tokio::test(start_paused = true)]
async fn orphaning_deletion_keeps_dependents() {
    let cluster = Cluster::new(&[]).await;
    let owner = cluster.create("v1", "ConfigMap", &named("owner"));
    for index in 0..20 {
        cluster.create("v1", "Secret", &owned(&format!("child-{index}"), &owner, true));
    }
    cluster.delete("ConfigMap", "owner", Propagation::Orphan);
    cluster.eventually("the owner's end", |it| it.find("ConfigMap", "owner").is_none()).await;
    cluster.pass(60).await;
    for index in 0..20 {
        let child = cluster.get("Secret", &format!("child-{index}"));
        let owners = child["metadata"].get("ownerReferences").cloned().unwrap_or(json!([]));
        assert_eq!(owners, json!([]));
    }
}

#[tokio::test(start_paused = true)]
async fn dependent_with_remaining_owner_is_kept() {
    let cluster = Cluster::new(&[]).await;
    let (one, two) = (
        cluster.create("v1", "ConfigMap", &named("one")),
        cluster.create("v1", "ConfigMap", &named("two")),
    );
    let mut child = owned("child", &one, false);
    let second = owned("", &two, false)["metadata"]["ownerReferences"][0].clone();
    child["metadata"]["ownerReferences"].as_array_mut().unwrap().push(second);
    cluster.create("v1", "Secret", &child);
    cluster.delete("ConfigMap", "one", Propagation::Background);
    let owners = |it: &Cluster| it.get("Secret", "child")["metadata"]["ownerReferences"].clone();
    cluster.eventually("the change", |it| owners(it).as_array().unwrap().len() == 1).await;
    assert_eq!(owners(&cluster)[0]["name"], "two");
    cluster.delete("ConfigMap", "two", Propagation::Background);
    cluster.eventually("the end", |it| it.find("Secret", "child").is_none()).await;
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
    cluster.eventually("the end", |it| it.list("Secret").is_empty()).await;
}
