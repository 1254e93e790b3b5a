use anyhow::Result;
use fairway_api::cluster_version::{ClusterVersionStatus, UpdateState};
use fairway_api::reason::progressing;
use fairway_api::{CLUSTER_VERSION_NAME, ConditionStatus, Conditions as _};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::{World, is_settled};
use crate::support::{available, reason, recommended};

#[tokio::test(flavor = "multi_thread")]
async fn cluster_version_created_again_gets_a_status() -> Result<()> {
    let mut world = World::new().await?;
    world.operated.start();
    for name in ["A", "B", "C"] {
        let accepted = json!({"desiredUpdate": {"acceptRisks": [{"name": name}]}});
        world.operated.patch_spec(accepted).await?;
    }
    world.settled().await?;
    let api = world.operated.cluster_version();
    let before = api.get(CLUSTER_VERSION_NAME).await?;
    api.delete(CLUSTER_VERSION_NAME, &DeleteParams::default()).await?;
    let is_reported = |text: &str| !text.contains("\ncluster_version_available_updates{");
    world.operated.metrics("the missing ClusterVersion to be reported", is_reported).await?;

    let metadata = ObjectMeta { name: Some(before.name_any()), ..ObjectMeta::default() };
    let mut again = before.clone();
    (again.metadata, again.status) = (metadata, None);
    api.create(&PostParams::default(), &again).await?;
    let is_seen = |status: &_| is_settled(status) && status.observed_generation == 1;
    world.operated.status("the new object to be seen", is_seen).await?;
    world.operated.reports("cluster_version_available_updates", 2.0).await?;
    world.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn status_changed_by_another_client_is_corrected() -> Result<()> {
    let mut world = World::new().await?;
    world.operated.start();
    // No further write is expected.
    let is_whole = |status: &_| is_settled(status) && is_complete(status);
    let before = world.operated.status("the release to be complete", is_whole).await?;
    let writes = r#"fairway_operator_api_writes_total{outcome="written"}"#;
    let written = world.operated.sample(writes).await?;
    let foreign =
        json!({"status": {"availableUpdates": [], "conditionalUpdates": [], "conditions": []}});
    let api = world.operated.cluster_version();
    let parameters = PatchParams::default();
    api.patch_status(CLUSTER_VERSION_NAME, &parameters, &Patch::Merge(foreign)).await?;
    let status = world.settled().await?;
    assert_eq!(status.available_updates, before.available_updates);
    assert_eq!(status.conditional_updates, before.conditional_updates, "times are remembered, too");
    world.operated.reports(writes, written + 1.0).await?;
    world.operated.stop().await
}

fn is_complete(status: &ClusterVersionStatus) -> bool {
    let newest = status.history.first();
    newest.is_some_and(|entry| entry.state == UpdateState::Completed)
        && status.conditions.is_false(progressing::TYPE)
}

async fn annotate(world: &World, value: &Value) -> Result<()> {
    let patch = json!({"metadata": {"annotations": {"fairway.dev/accepted-risks": value}}});
    let api = world.operated.cluster_version();
    api.patch(CLUSTER_VERSION_NAME, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn spec_with_harmful_content_is_handled() -> Result<()> {
    let mut world = World::new().await?;
    world.operated.start();
    world.settled().await?;
    // The maximum size of the API.
    annotate(&world, &json!("[".repeat(200 << 10))).await?;
    let mut names: Vec<_> = (0..999).map(|number| json!({"name": format!("R{number}")})).collect();
    names.push(json!({"name": "RiskOne"}));
    world.operated.patch_spec(json!({"desiredUpdate": {"acceptRisks": names}})).await?;
    let generation = world.operated.cluster_version().get(CLUSTER_VERSION_NAME).await?;
    let generation = generation.metadata.generation.unwrap_or_default();
    let is_seen = |status: &_| is_settled(status) && status.observed_generation == generation;
    let status = world.operated.status("the harm to be seen", is_seen).await?;
    let condition = recommended(&status, "5.1.2").unwrap();
    assert_eq!(
        condition.status,
        ConditionStatus::False,
        "terms that cannot be read accept nothing"
    );
    assert!(condition.message.contains("cannot read"), "{}", condition.message);
    assert!(serde_json::to_vec(&status)?.len() < 64 << 10);

    annotate(&world, &Value::Null).await?;
    let is_accepted = |status: &_| available(status).contains(&"5.1.2");
    world.operated.status("the acceptance to count", is_accepted).await?;

    world.operated.patch_spec(json!({"channel": "no such channel", "upstream": "ftp://x"})).await?;
    let is_invalid = |status: &_| reason(status, "Invalid") == "InvalidClusterVersion";
    world.operated.status("the spec to be invalid", is_invalid).await?;
    let spec = json!({"channel": crate::support::CHANNEL, "upstream": world.updates.url(), "desiredUpdate": null});
    world.operated.patch_spec(spec).await?;
    let is_valid = |status: &_| is_settled(status) && reason(status, "Invalid").is_empty();
    world.operated.status("the spec to be valid", is_valid).await?;
    world.operated.stop().await
}
