//! Drift correction during and after a rollout.

use anyhow::Result;
use fairway_api::cluster_version::UpdateState;
use fairway_testkit::{objects, wait};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use super::stage::{Stage, cluster_operator};

#[tokio::test]
async fn changed_and_deleted_objects_are_corrected() -> Result<()> {
    let stage = Stage::begin(&[("5.1.0", UpdateState::Completed)]).await?;
    let maps = [
        ("0000_10_a_1", stage.config_map("edited", "right")),
        ("0000_10_a_2", stage.config_map("removed", "right")),
        ("0000_10_a_3", stage.config_map("unlabelled", "right")),
    ];
    stage.aim("5.1.0", &maps);
    stage.until_complete().await?;
    let api = stage.config_maps();
    let edit = Patch::Merge(json!({ "data": { "value": "wrong", "foreign": "stays" } }));
    api.patch("edited", &PatchParams::default(), &edit).await?;
    let repaired = stage.until_map("edited", "right").await?;
    assert_eq!(
        repaired.data.and_then(|data| data.get("foreign").cloned()).as_deref(),
        Some("stays")
    );

    let uid = api.get("removed").await?.uid();
    api.delete("removed", &DeleteParams::default()).await?;
    let made = stage.until_map("removed", "right").await?;
    assert_ne!(made.uid(), uid);

    let unlabel =
        Patch::Merge(json!({ "metadata": { "labels": { "fairway.dev/managed": null } } }));
    api.patch("unlabelled", &PatchParams::default(), &unlabel).await?;
    wait::until("the label", async || {
        let map = api.get("unlabelled").await?;
        Ok(map.labels().contains_key("fairway.dev/managed").then_some(()))
    })
    .await
}

#[tokio::test]
async fn drift_is_corrected_while_an_update_waits() -> Result<()> {
    let stage = Stage::updating().await?;
    stage.aim(
        "5.1.0",
        &[
            ("0000_10_a_1", stage.config_map("a", "right")),
            ("0000_20_b_1", cluster_operator("network", "5.1.0")),
        ],
    );
    stage.report("network", &objects::working_at("5.0.0")).await?;
    stage.until_failing(&["ClusterOperatorUpdating"]).await?;
    let edit = Patch::Merge(json!({ "data": { "value": "wrong" } }));
    stage.config_maps().patch("a", &PatchParams::default(), &edit).await?;
    stage.until_map("a", "right").await?;
    Ok(())
}

#[tokio::test]
async fn drift_is_corrected_despite_other_failures() -> Result<()> {
    let stage = Stage::begin(&[("5.1.0", UpdateState::Completed)]).await?;
    let mut invalid = stage.config_map("invalid", "new");
    invalid["data"] = json!({ "no legal/key": "value" });
    stage.aim(
        "5.1.0",
        &[
            ("0000_10_a_1", cluster_operator("network", "5.1.0")),
            ("0000_10_a_2", invalid),
            ("0000_10_a_3", stage.config_map("behind", "right")),
        ],
    );
    stage.until_failing(&["ClusterOperatorNotAvailable", "UpdatePayloadResourceInvalid"]).await?;
    stage.until_map("behind", "right").await?;
    stage.config_maps().delete("behind", &DeleteParams::default()).await?;
    stage.until_map("behind", "right").await?;
    Ok(())
}
