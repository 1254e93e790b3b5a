//! Effects of ClusterOperators on the rollout.

use anyhow::{Context as _, Result};
use fairway_api::{ClusterOperator, ClusterOperatorStatus, Conditions as _, OperatorCondition};
use fairway_operator::stage::rollout::{Effect, Phase, Rollout};
use fairway_testkit::{objects, wait};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use super::stage::{Stage, cluster_operator};

fn with(version: &str, type_: &str, holds: bool) -> ClusterOperatorStatus {
    let mut status = objects::working_at(version);
    let condition =
        OperatorCondition::new(type_, holds).reason("OnPurpose").message("a test\nwants it so");
    status.conditions.set(condition, objects::beginning().0);
    status
}

fn release(stage: &Stage) -> Vec<(&'static str, Value)> {
    vec![
        ("0000_10_a_1", stage.config_map("a-1", "new")),
        ("0000_10_a_2", cluster_operator("network", "5.1.0")),
        ("0000_10_a_3", stage.config_map("a-3", "new")),
        ("0000_10_b_1", stage.config_map("b-1", "new")),
        ("0000_10_b_2", stage.config_map("b-2", "new")),
        ("0000_20_c_1", stage.config_map("c-1", "new")),
    ]
}

fn message(rollout: &Rollout) -> (Effect, &str) {
    (rollout.failures[0].effect, &rollout.failures[0].message)
}

#[tokio::test]
async fn unavailable_and_updating_operators_block_and_degraded_do_not() -> Result<()> {
    let stage = Stage::updating().await?;
    stage.aim("5.1.0", &release(&stage));
    stage.report("network", &with("5.0.0", "Available", false)).await?;
    let rollout = stage
        .until(|rollout| {
            rollout.done == 3
                && rollout.failures.first().is_some_and(|it| it.message.contains("OnPurpose"))
        })
        .await?;
    assert_eq!(
        message(&rollout),
        (Effect::Fail, "Cluster operator network is not available: OnPurpose: a test wants it so",)
    );
    let mut written = stage.written().await?;
    written.sort();
    assert_eq!(written, ["a-1", "b-1", "b-2"], "only independent manifests are applied");

    stage.report("network", &with("5.0.0", "Degraded", true)).await?;
    let rollout = stage.until_failing(&["ClusterOperatorUpdating"]).await?;
    assert_eq!(
        message(&rollout),
        (
            Effect::Wait,
            "Cluster operator network is updating versions: operator from 5.0.0 to 5.1.0",
        )
    );

    stage.report("network", &with("5.1.0", "Degraded", true)).await?;
    let rollout = stage.until(|rollout| rollout.phase == Phase::Reconciling).await?;
    assert_eq!((rollout.done, rollout.total), (6, 6));
    assert_eq!(
        message(&rollout),
        (Effect::Report, "Cluster operator network is degraded: OnPurpose: a test wants it so",)
    );

    stage.report("network", &with("5.1.0", "Available", false)).await?;
    let rollout = stage.until_failing(&["ClusterOperatorNotAvailable"]).await?;
    assert_eq!((rollout.phase, rollout.done), (Phase::Reconciling, 6), "it stays complete");
    stage.report("network", &objects::working_at("5.1.0")).await?;
    stage.until_failing(&[]).await?;
    Ok(())
}

#[tokio::test]
async fn cluster_operator_is_created_before_its_component() -> Result<()> {
    let stage = Stage::updating().await?;
    let mut blocked = stage.object("example.com/v1", "NotThere", "never", json!({}));
    blocked["metadata"]["labels"] = json!({ "never": "applied" });
    stage.aim(
        "5.1.0",
        &[("0000_10_a_1", blocked), ("0000_10_a_2", cluster_operator("network", "5.1.0"))],
    );
    let operators: Api<ClusterOperator> = Api::all(stage.cluster.client());
    let operator = wait::until("its related objects", async || {
        let is_told = |status: &ClusterOperatorStatus| !status.related_objects.is_empty();
        let operator = operators.get_opt("network").await?;
        Ok(operator.filter(|operator| operator.status.as_ref().is_some_and(is_told)))
    })
    .await?;
    let writers = operator.managed_fields().iter().map(|entry| entry.manager.as_deref());
    assert!(
        writers.clone().all(|writer| writer == Some("fairway")),
        "{:?}",
        writers.collect::<Vec<_>>()
    );
    let status = operator.status.context("it has one")?;
    assert_eq!(status.related_objects[0].resource, "namespaces");
    assert!(status.versions.is_empty(), "only the component says what it has reached");
    Ok(())
}

#[tokio::test]
async fn cluster_operator_without_versions_is_reported() -> Result<()> {
    let stage = Stage::updating().await?;
    let mut operator = cluster_operator("network", "5.1.0");
    operator["status"]["versions"] = json!([]);
    stage.aim("5.1.0", &[("0000_10_a_1", operator)]);
    let rollout = stage.until_failing(&["ClusterOperatorNoVersions"]).await?;
    let failure = rollout.failures.first().context("a failure")?;
    assert_eq!(failure.cluster_operator.as_deref(), Some("network"));
    Ok(())
}
