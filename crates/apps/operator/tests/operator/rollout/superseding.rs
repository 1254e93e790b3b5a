//! Handover to the operator of another release.

use anyhow::Result;
use fairway_testkit::objects;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;

use super::stage::Stage;

const NAMESPACE: &str = "openshift-cluster-version";

/// Creates the operator's namespace, which stays for other tests.
async fn operators_namespace(client: Client) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(client);
    let namespace = serde_json::from_value(json!({ "metadata": { "name": NAMESPACE } }))?;
    match namespaces.create(&PostParams::default(), &namespace).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        created => Ok(created.map(drop)?),
    }
}

/// Sets a target with an operator of an image, and a later manifest.
async fn aim_at_operator(stage: &Stage, image: &str) -> Result<()> {
    operators_namespace(stage.cluster.client()).await?;
    let labels = json!({ "app": "cluster-version-operator" });
    let spec = json!({
                // The Pods do not have to run.
        "replicas": 0,
        "selector": { "matchLabels": labels },
        "template": {
            "metadata": { "labels": labels },
            "spec": { "containers": [{ "name": "operator", "image": image }] },
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
    Ok(())
}

#[tokio::test]
async fn operator_of_new_release_takes_over() -> Result<()> {
    let stage = Stage::updating().await?;
    aim_at_operator(&stage, &objects::release("5.1.0").image).await?;
    stage.until_superseded().await?;
    assert!(stage.written().await?.is_empty(), "nothing is begun behind it");
    Ok(())
}

#[tokio::test]
async fn operator_with_other_image_does_not_take_over() -> Result<()> {
    let stage = Stage::updating().await?;
    aim_at_operator(&stage, "registry.example/some/operator:latest").await?;
    let rollout = stage.until_failing(&["UpdatePayloadFailed"]).await?;
    let message = rollout.failures[0].message.replace(&objects::release("5.1.0").image, "IMAGE");
    insta::assert_snapshot!(message, @r#"deployment "openshift-cluster-version/cluster-version-operator" (1 of 2): not applied: it does not run the release image IMAGE, so no operator would continue the rollout. Request another release, or list the object as unmanaged in spec.overrides of ClusterVersion"#);
    assert!(stage.written().await?.is_empty(), "nothing is begun behind it");
    Ok(())
}
