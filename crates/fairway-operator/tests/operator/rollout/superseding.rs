//! An operator replaces itself.

use anyhow::Result;
use fairway_testkit::objects;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;

use super::stage::Stage;

const NAMESPACE: &str = "openshift-cluster-version";

/// Where the operator itself lives. It stays for other tests.
async fn operators_namespace(client: Client) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(client);
    let namespace = serde_json::from_value(json!({ "metadata": { "name": NAMESPACE } }))?;
    match namespaces.create(&PostParams::default(), &namespace).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        created => Ok(created.map(drop)?),
    }
}

#[tokio::test]
async fn the_operator_of_the_new_release_takes_over() -> Result<()> {
    let stage = Stage::updating().await?;
    operators_namespace(stage.cluster.client()).await?;
    let labels = json!({ "app": "cluster-version-operator" });
    let spec = json!({
        // None of them has to run for this.
        "replicas": 0,
        "selector": { "matchLabels": labels },
        "template": {
            "metadata": { "labels": labels },
            "spec": { "containers": [{ "name": "operator", "image": objects::release("5.1.0").image }] },
        },
    });
    let mut operator =
        stage.object("apps/v1", "Deployment", "cluster-version-operator", json!({ "spec": spec }));
    operator["metadata"]["namespace"] = json!(NAMESPACE);
    stage.aim(
        "5.1.0",
        &[
            ("0000_00_cluster-version-operator_1", operator),
            ("0000_10_a_1", stage.config_map("a", "new")),
        ],
    );
    stage.until_superseded().await?;
    assert!(stage.written().await?.is_empty(), "nothing is begun behind it");
    Ok(())
}
