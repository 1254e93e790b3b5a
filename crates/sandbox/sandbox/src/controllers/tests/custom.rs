use serde_json::{Value, json};

use super::cluster::Cluster;
use crate::api::Propagation;

const NAME: &str = "boats.example.com";

fn definition(kind: &str, scope: &str) -> Value {
    let (singular, plural) = (kind.to_lowercase(), format!("{}s", kind.to_lowercase()));
    let schema = json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    json!({ "metadata": { "name": format!("{plural}.example.com") }, "spec": {
        "group": "example.com", "scope": scope,
        "names": { "kind": kind, "plural": plural, "singular": singular },
        "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema }],
    } })
}

async fn with_boats() -> Cluster {
    let cluster = Cluster::new(&[]).await;
    cluster.create(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        &definition("Boat", "Namespaced"),
    );
    cluster
}

fn owned(name: &str, owner: &Value) -> Value {
    json!({ "metadata": { "name": name, "ownerReferences": [{
        "apiVersion": owner["apiVersion"], "kind": owner["kind"],
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
    }] } })
}

#[tokio::test(start_paused = true)]
async fn custom_resources_participate_in_garbage_collection() {
    let cluster = with_boats().await;
    let boat = cluster.create("example.com/v1", "Boat", &json!({ "metadata": { "name": "a" } }));
    let sail = cluster.create("v1", "ConfigMap", &owned("sail", &boat));
    cluster.create("example.com/v1", "Boat", &owned("toy", &sail));
    cluster.pass(60).await;
    cluster.delete("Boat", "a", Propagation::Background);
    cluster.eventually("the end", |it| it.find("Boat", "toy").is_none()).await;
    assert!(cluster.find("ConfigMap", "sail").is_none());
}

#[tokio::test(start_paused = true)]
async fn namespace_deletion_deletes_custom_resources() {
    let cluster = with_boats().await;
    cluster.create("example.com/v1", "Boat", &json!({ "metadata": { "name": "a" } }));
    cluster.delete("Namespace", "n", Propagation::Background);
    cluster.eventually("the end", |it| it.find("Namespace", "n").is_none()).await;
    assert!(cluster.list("Boat").is_empty());
}

#[tokio::test(start_paused = true)]
async fn crd_deletion_deletes_custom_resources() {
    let cluster = with_boats().await;
    let boats = cluster.resource("Boat");
    cluster.create("example.com/v1", "Boat", &json!({ "metadata": { "name": "plain" } }));
    let held = json!({ "metadata": { "name": "held", "finalizers": ["a.b/c"] } });
    cluster.create("example.com/v1", "Boat", &held);
    cluster.delete("CustomResourceDefinition", NAME, Propagation::Background);
    cluster.eventually("one end", |it| it.find("Boat", "plain").is_none()).await;
    cluster.pass(60).await;
    assert!(cluster.find("CustomResourceDefinition", NAME).is_some());
    cluster.patch("Boat", "held", json!({ "metadata": { "finalizers": [] } }));
    cluster.eventually("the end", |it| it.find("CustomResourceDefinition", NAME).is_none()).await;

    cluster.create(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        &definition("Boat", "Namespaced"),
    );
    assert_eq!(cluster.user.list(&boats, "").unwrap().len(), 0, "nothing was left behind");
}

#[tokio::test(start_paused = true)]
async fn owner_of_unserved_kind_keeps_dependents() {
    let cluster = with_boats().await;
    let boat = json!({ "apiVersion": "example.com/v1", "kind": "Ship", "metadata": { "name": "a", "uid": "1" } });
    cluster.create("v1", "ConfigMap", &owned("cargo", &boat));
    cluster.pass(60).await;
    assert!(cluster.find("ConfigMap", "cargo").is_some());
    cluster.create(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        &definition("Ship", "Namespaced"),
    );
    cluster.eventually("the end", |it| it.find("ConfigMap", "cargo").is_none()).await;
}
