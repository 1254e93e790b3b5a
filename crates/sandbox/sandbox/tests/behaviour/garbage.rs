//! Garbage collection.

use anyhow::Result;
use serde_json::{Value, json};

use crate::support::{Case, config_map, held_config_map, is_deleting};

fn owner_reference(owner: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
    })
}

/// Creates a ConfigMap with these owners.
async fn owned(case: &Case, name: &str, owners: &[Value]) -> Result<Value> {
    let mut object = config_map(name, json!({}));
    object["metadata"]["ownerReferences"] = json!(owners);
    case.create("configmaps", &object).await?.object()
}

fn propagation(policy: &str) -> Value {
    json!({ "propagationPolicy": policy })
}

#[tokio::test]
async fn background_deletion_deletes_dependents_later() -> Result<()> {
    let case = Case::begin("garbage").await?;
    let owner = case.config_map("owner", json!({})).await?;
    let child = owned(&case, "child", &[owner_reference(&owner)]).await?;
    owned(&case, "grandchild", &[owner_reference(&child)]).await?;
    case.delete_with("configmaps/owner", &propagation("Background")).await?.object()?;
    assert_eq!(case.get("configmaps/owner").await?.status, 404);
    case.until_gone("configmaps/child").await?;
    case.until_gone("configmaps/grandchild").await
}

#[tokio::test]
async fn foreground_deletion_deletes_dependents_first() -> Result<()> {
    let case = Case::begin("garbage").await?;
    let owner = case.config_map("owner", json!({})).await?;
    let mut reference = owner_reference(&owner);
    reference["blockOwnerDeletion"] = json!(true);
    let mut child = held_config_map("child");
    child["metadata"]["ownerReferences"] = json!([reference]);
    case.create("configmaps", &child).await?.object()?;
    let deleted =
        case.delete_with("configmaps/owner", &propagation("Foreground")).await?.object()?;
    assert_eq!(deleted["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    assert!(deleted["metadata"]["deletionTimestamp"].is_string());
    case.until("configmaps/child", "to be deleted", is_deleting).await?;
    assert_eq!(case.get("configmaps/owner").await?.status, 200);
    case.release("configmaps/child").await?;
    case.until_gone("configmaps/owner").await?;
    case.until_gone("configmaps/child").await
}

#[tokio::test]
async fn foreground_deletion_ignores_non_blocking_dependents() -> Result<()> {
    let case = Case::begin("garbage").await?;
    let owner = case.config_map("owner", json!({})).await?;
    let mut child = held_config_map("child");
    child["metadata"]["ownerReferences"] = json!([owner_reference(&owner)]);
    case.create("configmaps", &child).await?.object()?;
    case.delete_with("configmaps/owner", &propagation("Foreground")).await?.object()?;
    case.until_gone("configmaps/owner").await?;
    case.until("configmaps/child", "to be deleted", is_deleting).await?;
    case.release("configmaps/child").await?;
    Ok(())
}

#[tokio::test]
async fn orphaning_deletion_keeps_dependents() -> Result<()> {
    let case = Case::begin("garbage").await?;
    let owner = case.config_map("owner", json!({})).await?;
    owned(&case, "child", &[owner_reference(&owner)]).await?;
    let deleted = case.delete_with("configmaps/owner", &propagation("Orphan")).await?.object()?;
    assert_eq!(deleted["metadata"]["finalizers"], json!(["orphan"]));
    case.until_gone("configmaps/owner").await?;
    let child = case.get("configmaps/child").await?.object()?;
    assert_eq!(child["metadata"]["ownerReferences"], Value::Null);
    Ok(())
}

#[tokio::test]
async fn dependent_with_remaining_owner_is_kept() -> Result<()> {
    let case = Case::begin("garbage").await?;
    let first = case.config_map("first", json!({})).await?;
    let second = case.config_map("second", json!({})).await?;
    owned(&case, "child", &[owner_reference(&first), owner_reference(&second)]).await?;
    case.delete_with("configmaps/first", &propagation("Background")).await?.object()?;
    let child = case
        .until("configmaps/child", "to forget the first owner", |child| {
            child["metadata"]["ownerReferences"].as_array().is_some_and(|owners| owners.len() == 1)
        })
        .await?;
    assert_eq!(child["metadata"]["ownerReferences"][0]["name"], "second");
    case.delete_with("configmaps/second", &propagation("Background")).await?.object()?;
    case.until_gone("configmaps/child").await
}

#[tokio::test]
async fn dependent_of_missing_owner_is_deleted() -> Result<()> {
    let case = Case::begin("garbage").await?;
    let other = case.config_map("owner", json!({})).await?;
    let mut reference = owner_reference(&other);
    reference["uid"] = json!("00000000-0000-4000-8000-000000000000");
    owned(&case, "another-uid", &[reference.clone()]).await?;
    reference["name"] = json!("never");
    owned(&case, "another-name", &[reference]).await?;
    case.until_gone("configmaps/another-uid").await?;
    case.until_gone("configmaps/another-name").await?;
    assert_eq!(case.get("configmaps/owner").await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn finalizer_of_dependent_does_not_block_siblings() -> Result<()> {
    let case = Case::begin("garbage").await?;
    let owner = case.config_map("owner", json!({})).await?;
    let mut held = held_config_map("held");
    held["metadata"]["ownerReferences"] = json!([owner_reference(&owner)]);
    case.create("configmaps", &held).await?.object()?;
    owned(&case, "free", &[owner_reference(&owner)]).await?;
    case.delete("configmaps/owner").await?.object()?;
    case.until_gone("configmaps/free").await?;
    let held = case.until("configmaps/held", "to be deleted", is_deleting).await?;
    assert_eq!(held["metadata"]["finalizers"], json!(["example.com/wait"]));
    case.release("configmaps/held").await?;
    case.until_gone("configmaps/held").await
}
