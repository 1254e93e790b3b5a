//! Deleting objects.

use anyhow::Result;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Case, Transcript, config_map, held_config_map};

#[tokio::test]
async fn delete_returns_status_and_removes_object() -> Result<()> {
    let case = Case::begin("delete").await?;
    case.config_map("a", json!({})).await?;
    assert_snapshot!(case.delete("configmaps/a").await?.shown(), @r#"
    200 Success
      about {"kind":"configmaps","name":"a","uid":"UID"}
    "#);
    assert_eq!(case.get("configmaps/a").await?.status, 404);
    Ok(())
}

#[tokio::test]
async fn delete_with_failed_preconditions_conflicts() -> Result<()> {
    let case = Case::begin("delete").await?;
    let object = case.config_map("a", json!({})).await?;
    let mut transcript = Transcript::default();
    for preconditions in [json!({ "uid": "another" }), json!({ "resourceVersion": "1" })] {
        let options = json!({ "preconditions": preconditions });
        transcript.add(&preconditions, &case.delete_with("configmaps/a", &options).await?);
    }
    let metadata = &object["metadata"];
    let right = json!({ "uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"] });
    let options = json!({ "preconditions": right });
    transcript.add("right", &case.delete_with("configmaps/a", &options).await?);
    assert_snapshot!(transcript, @r#"
    {"uid":"another"}: 409 Conflict: Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (another) does not match the UID in record (UID). The object might have been deleted and then recreated
      about {"kind":"ConfigMap","name":"a"}
    {"resourceVersion":"1"}: 409 Conflict: Operation cannot be fulfilled on ConfigMap "a": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (…). The object might have been modified
      about {"kind":"ConfigMap","name":"a"}
    right: 200 Success
      about {"kind":"configmaps","name":"a","uid":"UID"}
    "#);
    Ok(())
}

#[tokio::test]
async fn finalizer_delays_deletion() -> Result<()> {
    let case = Case::begin("delete").await?;
    let object = held_config_map("a");
    case.create("configmaps", &object).await?.object()?;
    let deleted = case.delete("configmaps/a").await?;
    assert_eq!(deleted.status, 200);
    let deleted = deleted.object()?;
    assert_eq!(deleted["kind"], "ConfigMap");
    assert!(deleted["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(deleted["metadata"]["deletionGracePeriodSeconds"], 0);
    let again = case.delete("configmaps/a").await?.object()?;
    assert_eq!(again["metadata"]["resourceVersion"], deleted["metadata"]["resourceVersion"]);
    let last = case.release("configmaps/a").await?;
    assert_eq!(last["metadata"]["finalizers"], Value::Null);
    assert_eq!(case.get("configmaps/a").await?.status, 404);
    Ok(())
}

#[tokio::test]
async fn deleting_object_refuses_new_finalizers() -> Result<()> {
    let case = Case::begin("delete").await?;
    let object = held_config_map("a");
    case.create("configmaps", &object).await?.object()?;
    case.delete("configmaps/a").await?.object()?;
    let more = json!({ "metadata": { "finalizers": ["example.com/wait", "example.com/more"] } });
    assert_snapshot!(case.merge("configmaps/a", &more).await?.shown(), @r#"
    422 Invalid: ConfigMap "a" is invalid: …
      about {"kind":"ConfigMap","name":"a"}
      FieldValueForbidden metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/more"}
    "#);
    let changed = case.merge("configmaps/a", &json!({ "data": { "k": "v" } })).await?.object()?;
    assert_eq!(changed["data"]["k"], "v");
    case.release("configmaps/a").await?;
    Ok(())
}

#[tokio::test]
async fn delete_collection_deletes_selected_objects() -> Result<()> {
    let case = Case::begin("delete").await?;
    for (name, label) in [("a", "x"), ("b", "x"), ("c", "y")] {
        let mut object = config_map(name, json!({}));
        object["metadata"]["labels"] = json!({ "is": label });
        case.create("configmaps", &object).await?.object()?;
    }
    let answer = case.delete("configmaps?labelSelector=is%3Dx").await?.object()?;
    assert_eq!(answer["kind"], "ConfigMapList");
    assert_eq!(answer["items"].as_array().map(Vec::len), Some(2));
    let left = case.get("configmaps?labelSelector=is").await?.object()?;
    assert_eq!(left["items"].as_array().map(Vec::len), Some(1));
    Ok(())
}

#[tokio::test]
async fn dry_run_delete_removes_nothing() -> Result<()> {
    let case = Case::begin("delete").await?;
    case.config_map("a", json!({})).await?;
    assert_eq!(case.delete("configmaps/a?dryRun=All").await?.status, 200);
    assert_eq!(case.delete("configmaps?dryRun=All").await?.status, 200);
    let options = json!({ "dryRun": ["All"] });
    assert_eq!(case.delete_with("configmaps/a", &options).await?.status, 200);
    assert_eq!(case.get("configmaps/a").await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn invalid_delete_options_are_refused() -> Result<()> {
    let case = Case::begin("delete").await?;
    case.config_map("a", json!({})).await?;
    let mut transcript = Transcript::default();
    for options in [
        json!({ "propagationPolicy": "Sideways" }),
        json!({ "propagationPolicy": "Orphan", "orphanDependents": true }),
        json!({ "dryRun": ["Some"] }),
    ] {
        transcript.add(&options, &case.delete_with("configmaps/a", &options).await?);
    }
    let another_kind = json!({ "kind": "ConfigMap", "apiVersion": "v1" });
    transcript.line("kind", case.delete_with("configmaps/a", &another_kind).await?.outline());
    transcript.add("in the query", &case.delete("configmaps/a?propagationPolicy=Sideways").await?);
    assert_snapshot!(transcript, @r#"
    {"propagationPolicy":"Sideways"}: 422 Invalid: DeleteOptions.meta.k8s.io "" is invalid: …
      about {"group":"meta.k8s.io","kind":"DeleteOptions"}
      FieldValueNotSupported propagationPolicy: Unsupported value: "Sideways": supported values: "Foreground", "Background", "Orphan", "nil"
    {"orphanDependents":true,"propagationPolicy":"Orphan"}: 422 Invalid: DeleteOptions.meta.k8s.io "" is invalid: …
      about {"group":"meta.k8s.io","kind":"DeleteOptions"}
      FieldValueInvalid propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set
    {"dryRun":["Some"]}: 422 Invalid: DeleteOptions.meta.k8s.io "" is invalid: …
      about {"group":"meta.k8s.io","kind":"DeleteOptions"}
      FieldValueNotSupported dryRun: Unsupported value: []string{"Some"}: supported values: "All"
    kind: 500 
    in the query: 422 Invalid: DeleteOptions.meta.k8s.io "" is invalid: …
      about {"group":"meta.k8s.io","kind":"DeleteOptions"}
      FieldValueNotSupported propagationPolicy: Unsupported value: "Sideways": supported values: "Foreground", "Background", "Orphan", "nil"
    "#);
    assert_eq!(case.get("configmaps/a").await?.status, 200);
    Ok(())
}
