//! Objects that are only created, and objects that are to go.

use anyhow::Result;
use fairway_operator::apply::Outcome;
use serde_json::{Value, json};

use crate::ground::{Ground, hear};

fn annotated(mut object: Value, annotation: &str) -> Value {
    object["metadata"]["annotations"] = json!({annotation: "true"});
    object
}

const CREATE_ONLY: &str = "release.openshift.io/create-only";
const DELETE: &str = "release.openshift.io/delete";

#[tokio::test]
async fn what_is_only_created_belongs_to_others_from_then_on() -> Result<()> {
    let mut ground = Ground::prepare().await?;
    let object = annotated(ground.config_map("a", &json!({"a": "1"})), CREATE_ONLY);
    assert_eq!(ground.apply(&object).await?, Outcome::Written);
    ground.edit(&object, &json!({"data": {"a": "2"}})).await?;
    assert_eq!(ground.apply(&object).await?, Outcome::Left);
    ground.restart();
    assert_eq!(ground.apply(&object).await?, Outcome::Left);
    let live = ground.live(&object).await?;
    assert_eq!(live["data"], json!({"a": "2"}));
    assert_eq!(live["metadata"]["ownerReferences"][0].get("controller"), None);
    Ok(())
}

#[tokio::test]
async fn what_is_there_already_is_not_created() -> Result<()> {
    let ground = Ground::prepare().await?;
    let object = annotated(ground.config_map("a", &json!({"a": "1"})), CREATE_ONLY);
    ground.create(&ground.config_map("a", &json!({"a": "theirs"})), "installer").await?;
    assert_eq!(ground.apply(&object).await?, Outcome::Left);
    assert_eq!(ground.live(&object).await?["data"], json!({"a": "theirs"}));
    Ok(())
}

#[tokio::test]
async fn what_is_to_go_goes_during_an_update_and_is_seen_to_be_gone() -> Result<()> {
    let mut ground = Ground::prepare().await?;
    let plain = ground.config_map("a", &json!({"a": "1"}));
    let object = annotated(plain.clone(), DELETE);
    assert_eq!(
        ground.apply(&object).await?,
        Outcome::Left,
        "outside updates, nothing is asked for"
    );
    // Nobody has marked it: the watch does not know it.
    ground.create(&plain, "installer").await?;
    ground.edit(&plain, &json!({"metadata": {"finalizers": ["example.com/wait"]}})).await?;
    assert_eq!(ground.apply(&object).await?, Outcome::Left, "no update is under way");
    ground.context.updating = true;
    let mut changes = ground.applier.changes();
    assert_eq!(ground.apply(&object).await?, Outcome::Deleting);
    hear(&mut changes, &object).await?;
    assert_eq!(ground.apply(&object).await?, Outcome::Deleting, "somebody holds it");
    ground.edit(&plain, &json!({"metadata": {"finalizers": null}})).await?;
    while ground.get(&plain).await?.is_some() {
        hear(&mut changes, &object).await?;
    }
    assert_eq!(ground.apply(&object).await?, Outcome::Gone);
    Ok(())
}

#[tokio::test]
async fn cluster_operators_go_like_everything_else() -> Result<()> {
    let mut ground = Ground::prepare().await?;
    let plain = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
        "metadata": {"name": "old"}, "spec": {},
    });
    let object = annotated(plain.clone(), DELETE);
    ground.create(&plain, "installer").await?;
    ground.context.updating = true;
    ground.apply(&object).await?;
    assert_eq!(ground.get(&plain).await?, None);
    Ok(())
}

#[tokio::test]
async fn what_is_of_no_kind_is_gone() -> Result<()> {
    let ground = Ground::prepare().await?;
    let object = json!({
        "apiVersion": "unheard.example.com/v1", "kind": "Widget", "metadata": {"name": "a"},
    });
    assert_eq!(ground.apply(&annotated(object.clone(), DELETE)).await?, Outcome::Gone);
    let error = ground.try_apply(&object).await.unwrap_err();
    assert_eq!(error.reason().0, "UpdatePayloadResourceTypeMissing");
    Ok(())
}
