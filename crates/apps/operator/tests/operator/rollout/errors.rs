//! Manifests that cannot be applied.

use anyhow::Result;
use fairway_operator::stage::rollout::Phase;
use fairway_testkit::wait;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;

use super::stage::Stage;

#[tokio::test]
async fn apply_error_blocks_later_manifests_only() -> Result<()> {
    let stage = Stage::updating().await?;
    let mut invalid = stage.config_map("invalid", "new");
    invalid["data"] = json!({ "no legal/key": "value" });
    stage.aim(
        "5.1.0",
        &[
            ("0000_10_a_1", stage.config_map("a-1", "new")),
            ("0000_10_a_2", invalid),
            ("0000_10_a_3", stage.config_map("a-3", "new")),
            ("0000_10_b_1", stage.config_map("b-1", "new")),
            ("0000_20_c_1", stage.config_map("c-1", "new")),
        ],
    );
    let rollout = stage.until(|rollout| rollout.done == 2 && !rollout.failures.is_empty()).await?;
    assert_eq!((rollout.phase, rollout.total), (Phase::Updating, 5));
    let failure = &rollout.failures[0];
    assert_eq!(failure.reason, "UpdatePayloadResourceInvalid");
    let begins = format!(
        "Could not update configmap \"{}/invalid\" (2 of 5): the object is invalid, possibly due \
         to local cluster configuration: ",
        stage.namespace.name()
    );
    assert!(failure.message.starts_with(&begins), "{}", failure.message);
    let mut written = stage.written().await?;
    written.sort();
    assert_eq!(written, ["a-1", "b-1"]);
    Ok(())
}

/// A CRD of this test: all tests of a cluster share its CRDs.
fn crd(stage: &Stage) -> CustomResourceDefinition {
    let group = format!("{}.example.com", stage.namespace.name());
    serde_json::from_value(json!({
        "metadata": { "name": format!("widgets.{group}") },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                } },
            }],
        },
    }))
    .expect("a definition")
}

#[tokio::test]
async fn missing_kind_is_waited_for() -> Result<()> {
    let stage = Stage::updating().await?;
    let crd = crd(&stage);
    let api_version = format!("{}/v1", crd.spec.group);
    stage.aim(
        "5.1.0",
        &[
            ("0000_10_a_1", stage.object(&api_version, "Widget", "widget", json!({}))),
            ("0000_10_a_2", stage.config_map("a-2", "new")),
        ],
    );
    stage.until_failing(&["UpdatePayloadResourceTypeMissing"]).await?;
    let crds: Api<CustomResourceDefinition> = Api::all(stage.cluster.client());
    crds.create(&PostParams::default(), &crd).await?;
    let complete = stage.until_complete().await;
    let name = crd.metadata.name.unwrap_or_default();
    crds.delete(&name, &DeleteParams::default()).await?;
    wait::until("the definition to go", async || {
        Ok(crds.get_opt(&name).await?.is_none().then_some(()))
    })
    .await?;
    assert_eq!(complete?.failures, []);
    Ok(())
}
