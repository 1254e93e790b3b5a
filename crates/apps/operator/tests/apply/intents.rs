//! Create-only objects, and objects to delete.

use anyhow::Result;
use fairway_operator::apply::ApplyOutcome;
use serde_json::{Value, json};

use crate::fixture::{ApplyFixture, await_change};

fn annotated(mut object: Value, annotation: &str) -> Value {
    object["metadata"]["annotations"] = json!({annotation: "true"});
    object
}

const CREATE_ONLY: &str = "release.openshift.io/create-only";
const DELETE: &str = "release.openshift.io/delete";

#[tokio::test]
async fn create_only_object_is_not_corrected() -> Result<()> {
    let mut fixture = ApplyFixture::prepare().await?;
    let object = annotated(fixture.config_map("a", &json!({"a": "1"})), CREATE_ONLY);
    assert_eq!(fixture.apply(&object).await?, ApplyOutcome::Written);
    fixture.edit(&object, &json!({"data": {"a": "2"}})).await?;
    assert_eq!(fixture.apply(&object).await?, ApplyOutcome::Skipped);
    fixture.restart();
    assert_eq!(fixture.apply(&object).await?, ApplyOutcome::Skipped);
    let live = fixture.live(&object).await?;
    assert_eq!(live["data"], json!({"a": "2"}));
    assert_eq!(live["metadata"]["ownerReferences"][0].get("controller"), None);
    Ok(())
}

#[tokio::test]
async fn create_only_object_that_exists_is_skipped() -> Result<()> {
    let fixture = ApplyFixture::prepare().await?;
    let object = annotated(fixture.config_map("a", &json!({"a": "1"})), CREATE_ONLY);
    fixture.create(&fixture.config_map("a", &json!({"a": "theirs"})), "installer").await?;
    assert_eq!(fixture.apply(&object).await?, ApplyOutcome::Skipped);
    assert_eq!(fixture.live(&object).await?["data"], json!({"a": "theirs"}));
    Ok(())
}

#[tokio::test]
async fn delete_during_update_waits_for_finalizers() -> Result<()> {
    let mut fixture = ApplyFixture::prepare().await?;
    let plain = fixture.config_map("a", &json!({"a": "1"}));
    let object = annotated(plain.clone(), DELETE);
    assert_eq!(
        fixture.apply(&object).await?,
        ApplyOutcome::Skipped,
        "nothing is deleted outside of updates"
    );
    // Without the managed label, the watch does not include it.
    fixture.create(&plain, "installer").await?;
    fixture.edit(&plain, &json!({"metadata": {"finalizers": ["example.com/wait"]}})).await?;
    assert_eq!(fixture.apply(&object).await?, ApplyOutcome::Skipped, "no update is in progress");
    fixture.context.updating = true;
    let mut changes = fixture.applier.changes();
    assert_eq!(fixture.apply(&object).await?, ApplyOutcome::Deleting);
    await_change(&mut changes, &object).await?;
    assert_eq!(fixture.apply(&object).await?, ApplyOutcome::Deleting, "a finalizer holds it");
    fixture.edit(&plain, &json!({"metadata": {"finalizers": null}})).await?;
    while fixture.get(&plain).await?.is_some() {
        await_change(&mut changes, &object).await?;
    }
    assert_eq!(fixture.apply(&object).await?, ApplyOutcome::Deleted);
    Ok(())
}

#[tokio::test]
async fn delete_of_cluster_operator_succeeds() -> Result<()> {
    let mut fixture = ApplyFixture::prepare().await?;
    let plain = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
        "metadata": {"name": "old"}, "spec": {},
    });
    let object = annotated(plain.clone(), DELETE);
    fixture.create(&plain, "installer").await?;
    fixture.context.updating = true;
    fixture.apply(&object).await?;
    assert_eq!(fixture.get(&plain).await?, None);
    Ok(())
}

#[tokio::test]
async fn delete_of_unknown_kind_is_complete() -> Result<()> {
    let fixture = ApplyFixture::prepare().await?;
    let object = json!({
        "apiVersion": "unheard.example.com/v1", "kind": "Widget", "metadata": {"name": "a"},
    });
    assert_eq!(fixture.apply(&annotated(object.clone(), DELETE)).await?, ApplyOutcome::Deleted);
    let error = fixture.try_apply(&object).await.unwrap_err();
    assert_eq!(error.reason().0, "UpdatePayloadResourceTypeMissing");
    Ok(())
}
