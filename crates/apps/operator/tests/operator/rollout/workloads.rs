//! Workloads and deletions during a rollout.

use anyhow::{Context as _, Result};
use fairway_api::cluster_version::UpdateState;
use fairway_operator::stage::rollout::Phase;
use fairway_testkit::{objects, wait};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::stage::{Stage, cluster_operator};

/// A Deployment whose image does not exist.
fn deployment(stage: &Stage, replicas: u32) -> Value {
    let labels = json!({ "app": "stuck" });
    let container = json!({ "name": "stuck", "image": "nowhere.invalid/stuck" });
    let spec = json!({
        "replicas": replicas,
        "selector": { "matchLabels": labels },
        "template": { "metadata": { "labels": labels }, "spec": { "containers": [container] } },
    });
    stage.object("apps/v1", "Deployment", "stuck", json!({ "spec": spec }))
}

fn release(stage: &Stage, replicas: u32) -> [(&'static str, Value); 2] {
    [
        ("0000_10_a_1", deployment(stage, replicas)),
        ("0000_10_a_2", stage.config_map("behind", "new")),
    ]
}

#[tokio::test]
async fn update_waits_for_deployment() -> Result<()> {
    let stage = Stage::updating().await?;
    stage.aim("5.1.0", &release(&stage, 1));
    let rollout = stage.until_failing(&["WorkloadNotAvailable"]).await?;
    assert_eq!((rollout.done, rollout.total), (0, 2));
    assert!(stage.written().await?.is_empty());
    stage.aim("5.1.0", &release(&stage, 0));
    stage.until_complete().await?;
    assert_eq!(stage.written().await?, ["behind"]);
    Ok(())
}

#[tokio::test]
async fn installation_waits_for_deployment_at_the_end() -> Result<()> {
    let stage = Stage::begin(&[("5.1.0", UpdateState::Partial)]).await?;
    stage.aim("5.1.0", &release(&stage, 1));
    let rollout = stage.until(|rollout| rollout.done == 1).await?;
    assert_eq!((rollout.phase, rollout.total), (Phase::Installing, 2));
    assert_eq!(stage.written().await?, ["behind"]);
    stage.aim("5.1.0", &release(&stage, 0));
    stage.until_complete().await?;
    Ok(())
}

#[tokio::test]
async fn newly_selected_manifests_are_applied() -> Result<()> {
    let stage = Stage::begin(&[("5.1.0", UpdateState::Partial)]).await?;
    let operator = ("0000_20_b_1", cluster_operator("network", "5.1.0"));
    stage.aim("5.1.0", &[("0000_10_a_1", stage.config_map("a", "new")), operator.clone()]);
    stage.until(|rollout| rollout.done == 1).await?;
    // The feature gates of the cluster change.
    stage.aim("5.1.0", &[("0000_10_a_1", deployment(&stage, 1)), operator]);
    stage.report("network", &objects::working_at("5.1.0")).await?;
    let rollout = stage.until_failing(&["WorkloadNotAvailable"]).await?;
    assert!(rollout.done < 2, "{rollout:?}");
    let rollout = stage.until(|rollout| rollout.done == 1).await?;
    assert_eq!((rollout.phase, rollout.total), (Phase::Installing, 2));
    Ok(())
}

#[tokio::test]
async fn deletion_is_reported_until_complete() -> Result<()> {
    let stage = Stage::updating().await?;
    let maps = stage.config_maps();
    let old: ConfigMap = serde_json::from_value(json!({
        "metadata": { "name": "old", "finalizers": ["example.com/hold"] },
    }))?;
    maps.create(&PostParams::default(), &old).await?;
    let mut gone = stage.config_map("old", "new");
    gone["metadata"]["annotations"]["release.openshift.io/delete"] = json!("true");
    stage
        .aim("5.1.0", &[("0000_10_a_1", gone), ("0000_10_a_2", stage.config_map("behind", "new"))]);
    let rollout = stage.until_complete().await?;
    assert_eq!((rollout.done, rollout.total), (2, 2), "nothing waits for it");
    let name = rollout.deleting.first().context("no deletion")?.to_string();
    assert_eq!(name, format!("configmap \"{}/old\"", stage.namespace.name()));
    let release = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    maps.patch("old", &PatchParams::default(), &release).await?;
    stage.until(|rollout| rollout.deleting.is_empty()).await?;
    assert_eq!(stage.written().await?, ["behind"]);
    Ok(())
}

#[tokio::test]
async fn scaled_deployment_is_corrected() -> Result<()> {
    let stage = Stage::begin(&[("5.1.0", UpdateState::Completed)]).await?;
    stage.aim("5.1.0", &release(&stage, 0));
    stage.until_complete().await?;
    let deployments: Api<Deployment> = stage.namespace.api();
    let scale = Patch::Merge(json!({ "spec": { "replicas": 3 } }));
    deployments.patch("stuck", &PatchParams::default(), &scale).await?;
    wait::until("it to be repaired", async || {
        let spec = deployments.get("stuck").await?.spec.unwrap_or_default();
        Ok((spec.replicas == Some(0)).then_some(()))
    })
    .await?;
    let rollout = stage.until_failing(&[]).await?;
    assert_eq!((rollout.phase, rollout.done), (Phase::Reconciling, 2));
    Ok(())
}
