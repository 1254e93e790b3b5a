//! Drift correction of managed objects.

use anyhow::Result;
use fairway_operator::apply::ApplyOutcome;
use fairway_testkit::wait;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use serde_json::json;

use crate::fixture::{ApplyFixture, await_change, manifest};

#[tokio::test]
async fn edit_of_managed_object_is_corrected() -> Result<()> {
    let fixture = ApplyFixture::prepare().await?;
    let object = fixture.config_map("a", &json!({"a": "1"}));
    fixture.apply(&object).await?;
    let mut changes = fixture.applier.changes();
    for patch in [
        json!({"data": {"a": "2"}}),
        json!({"data": {"a": null}}),
        json!({"metadata": {"ownerReferences": null}}),
        json!({"metadata": {"labels": {"fairway.dev/managed": "false"}}}),
        json!({"metadata": {"labels": {"fairway.dev/managed": null}}}),
    ] {
        fixture.edit(&object, &patch).await?;
        fixture.until_repaired(&mut changes, &object).await?;
        let live = fixture.live(&object).await?;
        assert_eq!(live["data"], json!({"a": "1"}), "{patch}");
        assert_eq!(live["metadata"]["labels"]["fairway.dev/managed"], "true", "{patch}");
        assert_eq!(live["metadata"]["ownerReferences"][0]["controller"], true, "{patch}");
    }
    Ok(())
}

#[tokio::test]
async fn edit_of_foreign_field_is_left_alone() -> Result<()> {
    let fixture = ApplyFixture::prepare().await?;
    let object = fixture.config_map("a", &json!({"a": "1"}));
    fixture.apply(&object).await?;
    let mut changes = fixture.applier.changes();
    fixture.edit(&object, &json!({"data": {"foreign": "2"}})).await?;
    await_change(&mut changes, &object).await?;
    assert_eq!(fixture.apply(&object).await?, ApplyOutcome::Unchanged);
    let live = fixture.applier.live(&manifest(&object)).map(|live| live.object());
    assert_eq!(live.map(|live| live["data"]["foreign"].clone()), Some(json!("2")));
    Ok(())
}

#[tokio::test]
async fn deletion_of_managed_object_is_corrected() -> Result<()> {
    let fixture = ApplyFixture::prepare().await?;
    let object = fixture.config_map("a", &json!({"a": "1"}));
    fixture.apply(&object).await?;
    let mut changes = fixture.applier.changes();
    fixture.delete(&object).await?;
    fixture.until_repaired(&mut changes, &object).await?;
    assert_eq!(fixture.live(&object).await?["data"], json!({"a": "1"}));
    Ok(())
}

#[tokio::test]
async fn contention_event_names_other_client() -> Result<()> {
    let fixture = ApplyFixture::prepare().await?;
    let object = fixture.config_map("a", &json!({"a": "1"}));
    fixture.apply(&object).await?;
    let mut changes = fixture.applier.changes();
    fixture.edit(&object, &json!({"data": {"a": "2"}})).await?;
    await_change(&mut changes, &object).await?;
    let live = fixture.applier.live(&manifest(&object));
    assert_eq!(live.and_then(|live| live.other_writer()), Some("kubectl-edit".to_owned()));
    fixture.applier.record_contention(&manifest(&object));
    let events: Api<Event> = fixture.namespace.api();
    let event = wait::until("an event", || async {
        let events = events.list(&ListParams::default()).await?;
        let ours = |event: &Event| {
            event.regarding.as_ref().and_then(|about| about.name.as_deref()) == Some("a")
        };
        Ok(events.into_iter().find(ours))
    })
    .await?;
    assert_eq!(event.reason.as_deref(), Some("ContendedObject"));
    assert!(event.note.is_some_and(|note| note.starts_with("\"kubectl-edit\" repeatedly changes")));
    Ok(())
}
