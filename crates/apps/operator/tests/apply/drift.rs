//! What happens to objects that are kept.

use anyhow::Result;
use fairway_operator::apply::Outcome;
use fairway_testkit::wait;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use serde_json::json;

use crate::ground::{Ground, hear, manifest};

#[tokio::test]
async fn edits_are_told_and_repaired() -> Result<()> {
    let ground = Ground::prepare().await?;
    let object = ground.config_map("a", &json!({"a": "1"}));
    ground.apply(&object).await?;
    let mut changes = ground.applier.changes();
    for patch in [
        json!({"data": {"a": "2"}}),
        json!({"data": {"a": null}}),
        json!({"metadata": {"ownerReferences": null}}),
        json!({"metadata": {"labels": {"fairway.dev/managed": "false"}}}),
        json!({"metadata": {"labels": {"fairway.dev/managed": null}}}),
    ] {
        ground.edit(&object, &patch).await?;
        ground.until_repaired(&mut changes, &object).await?;
        let live = ground.live(&object).await?;
        assert_eq!(live["data"], json!({"a": "1"}), "{patch}");
        assert_eq!(live["metadata"]["labels"]["fairway.dev/managed"], "true", "{patch}");
        assert_eq!(live["metadata"]["ownerReferences"][0]["controller"], true, "{patch}");
    }
    Ok(())
}

#[tokio::test]
async fn what_others_add_is_no_reason_to_write() -> Result<()> {
    let ground = Ground::prepare().await?;
    let object = ground.config_map("a", &json!({"a": "1"}));
    ground.apply(&object).await?;
    let mut changes = ground.applier.changes();
    ground.edit(&object, &json!({"data": {"foreign": "2"}})).await?;
    hear(&mut changes, &object).await?;
    assert_eq!(ground.apply(&object).await?, Outcome::Right);
    let live = ground.applier.live(&manifest(&object)).map(|live| live.object());
    assert_eq!(live.map(|live| live["data"]["foreign"].clone()), Some(json!("2")));
    Ok(())
}

#[tokio::test]
async fn deleted_objects_come_back() -> Result<()> {
    let ground = Ground::prepare().await?;
    let object = ground.config_map("a", &json!({"a": "1"}));
    ground.apply(&object).await?;
    let mut changes = ground.applier.changes();
    ground.delete(&object).await?;
    ground.until_repaired(&mut changes, &object).await?;
    assert_eq!(ground.live(&object).await?["data"], json!({"a": "1"}));
    Ok(())
}

#[tokio::test]
async fn whoever_changes_an_object_again_and_again_is_known() -> Result<()> {
    let ground = Ground::prepare().await?;
    let object = ground.config_map("a", &json!({"a": "1"}));
    ground.apply(&object).await?;
    let mut changes = ground.applier.changes();
    ground.edit(&object, &json!({"data": {"a": "2"}})).await?;
    hear(&mut changes, &object).await?;
    let live = ground.applier.live(&manifest(&object));
    assert_eq!(live.and_then(|live| live.rival()), Some("kubectl-edit".to_owned()));
    ground.applier.tell_of_fight(&manifest(&object));
    let events: Api<Event> = ground.namespace.api();
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
