//! Rollout order.

use anyhow::Result;
use fairway_api::cluster_version::{ComponentOverride, UpdateState};
use fairway_operator::stage::rollout::Phase;
use fairway_release::inclusion::ManifestFilter;
use fairway_testkit::{objects, wait};
use k8s_openapi::api::batch::v1::Job;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::stage::{Stage, cluster_operator};

#[tokio::test]
async fn update_follows_levels() -> Result<()> {
    let stage = Stage::updating().await?;
    let files =
        ["0000_30_c_1", "0000_10_a_1", "0000_20_b_2", "0000_10_a_2", "0000_20_b_1", "other"];
    let names = ["c-1", "a-1", "b-2", "a-2", "b-1", "other"];
    let maps: Vec<(&str, Value)> = files
        .into_iter()
        .zip(names)
        .map(|(file, name)| (file, stage.config_map(name, "new")))
        .collect();
    stage.aim("5.1.0", &maps);
    let rollout = stage.until_complete().await?;
    assert_eq!((rollout.done, rollout.total, &*rollout.failures), (6, 6, &[][..]));
    assert_eq!(stage.written().await?, ["a-1", "a-2", "b-1", "b-2", "c-1", "other"]);
    let metrics = stage.metrics.text();
    assert!(!metrics.contains("cluster_version_payload"), "only the leader speaks: {metrics}");
    Ok(())
}

#[tokio::test]
async fn rollout_waits_for_history_entry() -> Result<()> {
    let stage = Stage::begin(&[("5.0.0", UpdateState::Completed)]).await?;
    stage.aim("5.0.0", &[("0000_10_a_1", stage.config_map("a", "old"))]);
    stage.until_complete().await?;
    let new = [
        ("0000_10_a_1", stage.config_map("a", "new")),
        ("0000_10_a_2", cluster_operator("network", "5.1.0")),
    ];
    stage.aim("5.1.0", &new);
    // The correction shows that the target was seen and that nothing was rolled out.
    let edit = Patch::Merge(json!({ "data": { "value": "edited" } }));
    stage.config_maps().patch("a", &PatchParams::default(), &edit).await?;
    stage.until_map("a", "old").await?;
    assert_eq!(stage.published().map(|rollout| rollout.phase), Some(Phase::Reconciling));

    stage
        .set_history(&[("5.1.0", UpdateState::Partial), ("5.0.0", UpdateState::Completed)])
        .await?;
    stage.until_map("a", "new").await?;
    let rollout = stage.until_failing(&["ClusterOperatorNotAvailable"]).await?;
    assert_eq!((rollout.phase, rollout.done, rollout.total), (Phase::Updating, 1, 2));
    Ok(())
}

#[tokio::test]
async fn job_is_ordered_between_levels() -> Result<()> {
    let stage = Stage::updating().await?;
    let template = json!({ "spec": {
        "restartPolicy": "Never",
        "containers": [{ "name": "job", "image": "nowhere.invalid/job" }],
    } });
    let job = json!({ "spec": { "template": template } });
    stage.aim(
        "5.1.0",
        &[
            ("0000_10_a_1", stage.config_map("before", "new")),
            ("0000_10_b_1", stage.object("batch/v1", "Job", "migrate", job)),
            ("0000_10_c_1", stage.config_map("behind", "new")),
        ],
    );
    let jobs: Api<Job> = stage.namespace.api();
    let job = wait::until("the Job", async || Ok(jobs.get_opt("migrate").await?)).await?;
    assert_eq!(stage.written().await?, ["before"]);
    let rollout = stage.until_failing(&["WorkloadNotAvailable"]).await?;
    assert_eq!((rollout.done, rollout.total), (1, 3));
    insta::assert_snapshot!(
        rollout.failures[0].message.replace(stage.namespace.name(), "NAMESPACE"),
        @r#"job "NAMESPACE/migrate" (2 of 3): the Job is not complete"#
    );
    let time = job.metadata.creation_timestamp;
    let complete = json!({ "status": {
        "succeeded": 1, "startTime": time, "completionTime": time,
        "conditions": [{ "type": "Complete", "status": "True" }],
    } });
    jobs.patch_status("migrate", &PatchParams::default(), &Patch::Merge(complete)).await?;
    stage.until_complete().await?;
    assert_eq!(stage.written().await?, ["before", "behind"]);
    Ok(())
}

#[tokio::test]
async fn installation_applies_all_levels_at_once() -> Result<()> {
    let stage = Stage::begin(&[("5.1.0", UpdateState::Partial)]).await?;
    stage.aim(
        "5.1.0",
        &[
            ("0000_10_a_1", cluster_operator("network", "5.1.0")),
            ("0000_20_b_1", stage.config_map("b", "new")),
            ("0000_30_c_1", stage.config_map("c", "new")),
        ],
    );
    let rollout = stage.until(|rollout| rollout.done == 2 && !rollout.failures.is_empty()).await?;
    assert_eq!((rollout.phase, rollout.total), (Phase::Installing, 3));
    // An installation does not wait for versions.
    stage.report("network", &objects::working_at("4.0.0")).await?;
    let rollout = stage.until(|rollout| rollout.phase == Phase::Reconciling).await?;
    assert_eq!((rollout.done, rollout.total), (3, 3));
    Ok(())
}

#[tokio::test]
async fn overridden_objects_are_skipped() -> Result<()> {
    let stage = Stage::updating().await?;
    let mut check = stage.config_map("check", "new");
    check["metadata"]["annotations"]["openshift.io/preflight-check"] = json!("true");
    let maps = [
        ("0000_10_a_1", stage.config_map("a", "new")),
        ("0000_10_a_2", stage.config_map("b", "new")),
        ("0000_10_a_3", check),
    ];
    let unmanaged = ComponentOverride {
        kind: "ConfigMap".to_owned(),
        namespace: stage.namespace.name().to_owned(),
        name: "a".to_owned(),
        unmanaged: true,
        ..ComponentOverride::default()
    };
    let filter = ManifestFilter { overrides: vec![unmanaged], ..ManifestFilter::default() };
    stage.aim_with("5.1.0", &maps, filter);
    let rollout = stage.until_complete().await?;
    assert_eq!((rollout.done, rollout.total), (1, 1));
    assert_eq!(stage.written().await?, ["b"]);

    stage.aim("5.1.0", &maps);
    let rollout = stage.until(|rollout| (rollout.done, rollout.total) == (2, 2)).await?;
    assert_eq!(rollout.phase, Phase::Reconciling, "what was complete stays so");
    assert_eq!(stage.written().await?, ["b", "a"]);
    Ok(())
}

#[tokio::test]
async fn new_target_replaces_rollout() -> Result<()> {
    let stage = Stage::updating().await?;
    let release = |version: &str| {
        [
            ("0000_10_a_1", stage.config_map("a", version)),
            ("0000_20_b_1", cluster_operator("network", version)),
            ("0000_30_c_1", stage.config_map("c", version)),
        ]
    };
    stage.aim("5.1.0", &release("5.1.0"));
    stage.report("network", &objects::working_at("5.0.0")).await?;
    stage.until_failing(&["ClusterOperatorUpdating"]).await?;
    stage.aim("5.2.0", &release("5.2.0"));
    let history = [
        ("5.2.0", UpdateState::Partial),
        ("5.1.0", UpdateState::Partial),
        ("5.0.0", UpdateState::Completed),
    ];
    stage.set_history(&history).await?;
    let image = objects::release("5.2.0").image;
    stage.until(|rollout| rollout.image == image && !rollout.failures.is_empty()).await?;
    // The blocker of 5.1.0 is removed too late.
    stage.report("network", &objects::working_at("5.1.0")).await?;
    stage.report("network", &objects::working_at("5.2.0")).await?;
    stage.until_complete().await?;
    stage.until_map("c", "5.2.0").await?;
    Ok(())
}
