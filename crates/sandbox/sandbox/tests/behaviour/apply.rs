//! Server-side apply and managedFields.

use anyhow::Result;
use http::Method;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Case, PatchType, Transcript, config_map, idle_deployment};

/// A ConfigMap to apply.
fn map(data: Value) -> Value {
    config_map("a", data)
}

/// managedFields as text: manager, operation and fields.
fn owners(object: &Value) -> String {
    let entries = object["metadata"]["managedFields"].as_array();
    let line = |entry: &Value| {
        let word = |name: &str| entry[name].as_str().unwrap_or("-").to_owned();
        format!(
            "{} {} {} {}",
            word("manager"),
            word("operation"),
            word("apiVersion"),
            entry["fieldsV1"]
        )
    };
    let mut lines: Vec<String> = entries.into_iter().flatten().map(line).collect();
    // Entries are ordered by time, which has whole seconds.
    lines.sort();
    lines.join("\n")
}

async fn applied(case: &Case, manager: &str, data: Value) -> Result<Value> {
    case.apply("configmaps/a", manager, &map(data)).await?.object()
}

#[tokio::test]
async fn apply_of_missing_object_creates_it() -> Result<()> {
    let case = Case::begin("apply").await?;
    let answer = case.apply("configmaps/a", "one", &map(json!({ "k": "1" }))).await?;
    assert_eq!(answer.status, 201);
    assert_snapshot!(owners(&answer.object()?), @r#"one Apply v1 {"f:data":{"f:k":{}}}"#);
    let again = case.apply("configmaps/a", "one", &map(json!({ "k": "1" }))).await?;
    assert_eq!(again.status, 200);
    let version = |answer: &Value| answer["metadata"]["resourceVersion"].clone();
    assert_eq!(version(&again.object()?), version(&answer.object()?), "nothing changed");
    Ok(())
}

#[tokio::test]
async fn managed_fields_entry_has_time_and_operation() -> Result<()> {
    let case = Case::begin("apply").await?;
    let object = applied(&case, "one", json!({ "k": "1" })).await?;
    let entry = &object["metadata"]["managedFields"][0];
    assert_eq!(entry["fieldsType"], "FieldsV1");
    assert!(entry["time"].is_string() && entry.get("subresource").is_none(), "{entry}");
    Ok(())
}

#[tokio::test]
async fn apply_without_owned_field_removes_it() -> Result<()> {
    let case = Case::begin("apply").await?;
    applied(&case, "one", json!({ "a": "1", "b": "2" })).await?;
    let after = applied(&case, "one", json!({ "a": "1" })).await?;
    assert_eq!(after["data"], json!({ "a": "1" }));
    Ok(())
}

#[tokio::test]
async fn apply_without_shared_field_keeps_it() -> Result<()> {
    let case = Case::begin("apply").await?;
    applied(&case, "one", json!({ "a": "1", "b": "2" })).await?;
    applied(&case, "two", json!({ "b": "2" })).await?;
    let after = applied(&case, "one", json!({ "a": "1" })).await?;
    assert_eq!(after["data"], json!({ "a": "1", "b": "2" }));
    assert_snapshot!(owners(&after), @r#"
    one Apply v1 {"f:data":{"f:a":{}}}
    two Apply v1 {"f:data":{"f:b":{}}}
    "#);
    Ok(())
}

#[tokio::test]
async fn apply_of_field_of_other_manager_conflicts() -> Result<()> {
    let case = Case::begin("apply").await?;
    applied(&case, "one", json!({ "a": "1", "b": "1", "c": "1" })).await?;
    let answer =
        case.apply("configmaps/a", "two", &map(json!({ "a": "2", "b": "1", "c": "3" }))).await?;
    assert_snapshot!(answer.shown(), @r#"
    409 Conflict: Apply failed with 2 conflicts: conflicts with "one":
    - .data.a
    - .data.c
      FieldManagerConflict .data.a: conflict with "one"
      FieldManagerConflict .data.c: conflict with "one"
    "#);
    Ok(())
}

#[tokio::test]
async fn apply_conflict_names_all_managers() -> Result<()> {
    let case = Case::begin("apply").await?;
    applied(&case, "one", json!({ "a": "1", "b": "1" })).await?;
    let edit = json!({ "data": { "b": "2" } });
    case.merge("configmaps/a?fieldManager=editor", &edit).await?.object()?;
    let answer = case.apply("configmaps/a", "two", &map(json!({ "a": "2", "b": "3" }))).await?;
    assert_eq!(answer.status, 409);
    let shown = answer.shown();
    let causes: Vec<&str> = shown.lines().filter(|line| line.starts_with("  ")).collect();
    assert_snapshot!(causes.join("\n"), @r#"
    FieldManagerConflict .data.a: conflict with "one"
    FieldManagerConflict .data.b: conflict with "editor" using v1
    "#);
    Ok(())
}

#[tokio::test]
async fn forced_apply_takes_ownership() -> Result<()> {
    let case = Case::begin("apply").await?;
    applied(&case, "one", json!({ "a": "1", "b": "1" })).await?;
    let after = case.force("configmaps/a", "two", &map(json!({ "a": "2" }))).await?.object()?;
    assert_eq!(after["data"], json!({ "a": "2", "b": "1" }));
    assert_snapshot!(owners(&after), @r#"
    one Apply v1 {"f:data":{"f:b":{}}}
    two Apply v1 {"f:data":{"f:a":{}}}
    "#);
    let lost = case.apply("configmaps/a", "one", &map(json!({ "b": "1" }))).await?.object()?;
    assert_eq!(lost["data"], json!({ "a": "2", "b": "1" }));
    Ok(())
}

#[tokio::test]
async fn update_takes_ownership_of_changed_fields() -> Result<()> {
    let case = Case::begin("apply").await?;
    let mut object = applied(&case, "one", json!({ "a": "1", "b": "1" })).await?;
    object["data"]["a"] = json!("2");
    object["data"]["c"] = json!("3");
    let after = case.replace("configmaps/a?fieldManager=editor", &object).await?.object()?;
    assert_snapshot!(owners(&after), @r#"
    editor Update v1 {"f:data":{"f:a":{},"f:c":{}}}
    one Apply v1 {"f:data":{"f:b":{}}}
    "#);
    let answer = case.apply("configmaps/a", "one", &map(json!({ "a": "1", "b": "1" }))).await?;
    assert_snapshot!(answer.shown(), @r#"
    409 Conflict: Apply failed with 1 conflict: conflict with "editor" using v1: .data.a
      FieldManagerConflict .data.a: conflict with "editor" using v1
    "#);
    Ok(())
}

#[tokio::test]
async fn update_that_removes_field_removes_ownership() -> Result<()> {
    let case = Case::begin("apply").await?;
    applied(&case, "one", json!({ "a": "1", "b": "1" })).await?;
    let patch = json!({ "data": { "b": null } });
    let after = case.merge("configmaps/a?fieldManager=editor", &patch).await?.object()?;
    assert_snapshot!(owners(&after), @r#"one Apply v1 {"f:data":{"f:a":{}}}"#);
    Ok(())
}

#[tokio::test]
async fn managed_fields_can_be_cleared() -> Result<()> {
    let case = Case::begin("apply").await?;
    applied(&case, "one", json!({ "a": "1" })).await?;
    let patch = json!([{ "op": "replace", "path": "/metadata/managedFields", "value": [{}] }]);
    let after = case.patch(PatchType::Json, "configmaps/a", &patch).await?.object()?;
    assert_eq!(after["metadata"]["managedFields"], Value::Null);
    let after = applied(&case, "two", json!({ "b": "2" })).await?;
    assert_snapshot!(owners(&after), @r#"
    before-first-apply Update v1 {"f:data":{".":{},"f:a":{}}}
    two Apply v1 {"f:data":{"f:b":{}}}
    "#);
    Ok(())
}

#[tokio::test]
async fn apply_without_manager_or_with_managed_fields_is_refused() -> Result<()> {
    let case = Case::begin("apply").await?;
    let mut transcript = Transcript::default();
    let wanted = map(json!({}));
    transcript.add("no manager", &case.patch(PatchType::Apply, "configmaps/a", &wanted).await?);
    let long = "m".repeat(129);
    transcript.add("long", &case.apply("configmaps/a", &long, &wanted).await?);
    transcript.add("unprintable", &case.apply("configmaps/a", "a%0A", &wanted).await?);
    let mut managed = wanted.clone();
    managed["metadata"]["managedFields"] = json!([{ "manager": "x" }]);
    transcript.add("managed fields", &case.apply("configmaps/a", "one", &managed).await?);
    let forced = case.merge("configmaps/a?force=true", &wanted).await?;
    transcript.add("force of another patch", &forced);
    assert_snapshot!(transcript, @r#"
    no manager: 422 Invalid: PatchOptions.meta.k8s.io "" is invalid: …
      about {"group":"meta.k8s.io","kind":"PatchOptions"}
      FieldValueRequired fieldManager: Required value: is required for apply patch
    long: 422 Invalid: PatchOptions.meta.k8s.io "" is invalid: …
      about {"group":"meta.k8s.io","kind":"PatchOptions"}
      FieldValueTooLong fieldManager: Too long: may not be more than 128 bytes
    unprintable: 422 Invalid: PatchOptions.meta.k8s.io "" is invalid: …
      about {"group":"meta.k8s.io","kind":"PatchOptions"}
      FieldValueInvalid fieldManager: Invalid value: "a\n": invalid character U+000A (at position 1)
    managed fields: 400 BadRequest: metadata.managedFields must be nil
    force of another patch: 422 Invalid: PatchOptions.meta.k8s.io "" is invalid: …
      about {"group":"meta.k8s.io","kind":"PatchOptions"}
      FieldValueForbidden force: Forbidden: may not be specified for non-apply patch
    "#);
    Ok(())
}

#[tokio::test]
async fn apply_without_kind_or_name_is_refused() -> Result<()> {
    let case = Case::begin("apply").await?;
    let mut transcript = Transcript::default();
    for object in [
        json!({ "metadata": { "name": "a" } }),
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" } }),
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "b" } }),
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "b" } }),
    ] {
        transcript.line(&object, case.apply("configmaps/a", "one", &object).await?.outline());
    }
    let nameless = json!({ "apiVersion": "v1", "kind": "ConfigMap" });
    let created = case.apply("configmaps/a", "one", &nameless).await?;
    transcript.line("no name", created.status);
    assert_snapshot!(transcript, @r#"
    {"metadata":{"name":"a"}}: 400 BadRequest
    {"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}: 500 
    {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}: 400 BadRequest
    {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b"}}: 400 BadRequest
    no name: 400
    "#);
    Ok(())
}

#[tokio::test]
async fn apply_of_unknown_fields_is_refused() -> Result<()> {
    let case = Case::begin("apply").await?;
    let mut object = map(json!({}));
    object["nonsense"] = json!("x");
    assert_snapshot!(case.apply("configmaps/a", "one", &object).await?.outline(), @"500");
    Ok(())
}

#[tokio::test]
async fn apply_accepts_yaml() -> Result<()> {
    let case = Case::begin("apply").await?;
    let yaml =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: |\n    two\n    lines\n";
    let path = "configmaps/a?fieldManager=one";
    let answer =
        case.send(Method::PATCH, path, Some("application/apply-patch+yaml"), yaml.into()).await?;
    assert_eq!(answer.object()?["data"]["k"], "two\nlines\n");
    let broken = case
        .send(Method::PATCH, path, Some("application/apply-patch+yaml"), b"a: [".to_vec())
        .await?;
    assert_snapshot!(broken.outline(), @"400 BadRequest");
    Ok(())
}

fn containers(object: &Value) -> Vec<String> {
    let containers = object["spec"]["template"]["spec"]["containers"].as_array();
    containers.into_iter().flatten().map(|it| format!("{} {}", it["name"], it["image"])).collect()
}

#[tokio::test]
async fn list_map_items_are_owned_by_key() -> Result<()> {
    let case = Case::begin("apply").await?;
    let path = "deployments/d";
    let both = json!([{ "name": "x", "image": "i:1" }, { "name": "y", "image": "i:1" }]);
    case.apply(path, "one", &idle_deployment(both)).await?.object()?;
    let sidecar = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "spec": { "template": { "spec": { "containers": [{ "name": "z", "image": "s" }] } } },
    });
    let after = case.apply(path, "two", &sidecar).await?.object()?;
    assert_eq!(containers(&after), [r#""x" "i:1""#, r#""y" "i:1""#, r#""z" "s""#]);
    let fewer = json!([{ "name": "y", "image": "i:2" }]);
    let after = case.apply(path, "one", &idle_deployment(fewer)).await?.object()?;
    let mut left = containers(&after);
    left.sort();
    assert_eq!(left, [r#""y" "i:2""#, r#""z" "s""#]);
    let taken = json!([{ "name": "z", "image": "mine" }]);
    assert_snapshot!(case.apply(path, "one", &idle_deployment(taken)).await?.shown(), @r#"
    409 Conflict: Apply failed with 1 conflict: conflict with "two": .spec.template.spec.containers[name="z"].image
      FieldManagerConflict .spec.template.spec.containers[name="z"].image: conflict with "two"
    "#);
    Ok(())
}

#[tokio::test]
async fn list_map_items_with_several_keys_are_distinct() -> Result<()> {
    let case = Case::begin("apply").await?;
    let service = |ports: Value| {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": "s" },
            "spec": { "clusterIP": "None", "ports": ports },
        })
    };
    let tcp = json!([{ "name": "t", "port": 53, "protocol": "TCP" }]);
    case.apply("services/s", "one", &service(tcp)).await?.object()?;
    let udp = json!([{ "name": "u", "port": 53, "protocol": "UDP" }]);
    let after = case.apply("services/s", "two", &service(udp)).await?.object()?;
    let ports = after["spec"]["ports"].as_array().into_iter().flatten();
    assert_snapshot!(json!(ports.map(|it| &it["protocol"]).collect::<Vec<_>>()), @r#"["TCP","UDP"]"#);
    Ok(())
}

#[tokio::test]
async fn apply_of_duplicate_list_key_is_refused() -> Result<()> {
    let case = Case::begin("apply").await?;
    let twice = json!([{ "name": "x", "image": "i:1" }, { "name": "x", "image": "i:2" }]);
    let answer = case.apply("deployments/d", "one", &idle_deployment(twice)).await?;
    assert_snapshot!(answer.outline(), @"500");
    Ok(())
}

#[tokio::test]
async fn apply_of_status_is_separate() -> Result<()> {
    let case = Case::begin("apply").await?;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "s" },
        "spec": { "clusterIP": "None", "ports": [{ "port": 80, "protocol": "TCP" }] },
    });
    case.apply("services/s", "one", &service).await?.object()?;
    let status = json!({
        "apiVersion": "v1", "kind": "Service",
        "status": { "loadBalancer": { "ingress": [{ "hostname": "h" }] } },
    });
    let after = case.apply("services/s/status", "two", &status).await?.object()?;
    assert_eq!(after["status"], status["status"]);
    assert_eq!(after["spec"]["ports"][0]["port"], 80);
    let deployment =
        json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "none" } });
    let missing = case.apply("deployments/none/status", "two", &deployment).await?;
    assert_snapshot!(missing.shown(), @r#"
    404 NotFound: deployments.apps "none" not found
      about {"group":"apps","kind":"deployments","name":"none"}
    "#);
    Ok(())
}

#[tokio::test]
async fn dry_run_apply_reports_conflicts_and_stores_nothing() -> Result<()> {
    let case = Case::begin("apply").await?;
    let before = applied(&case, "one", json!({ "a": "1" })).await?;
    let dry =
        case.apply("configmaps/a", "two&dryRun=All", &map(json!({ "b": "2" }))).await?.object()?;
    assert_eq!(dry["data"], json!({ "a": "1", "b": "2" }));
    let conflict = case.apply("configmaps/a", "two&dryRun=All", &map(json!({ "a": "2" }))).await?;
    assert_eq!(conflict.status, 409);
    assert_eq!(case.get("configmaps/a").await?.object()?, before);
    Ok(())
}

#[tokio::test]
async fn apply_with_old_resource_version_conflicts() -> Result<()> {
    let case = Case::begin("apply").await?;
    let old = applied(&case, "one", json!({ "a": "1" })).await?;
    applied(&case, "one", json!({ "a": "2" })).await?;
    let mut wanted = map(json!({ "a": "3" }));
    wanted["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"].clone();
    assert_snapshot!(case.apply("configmaps/a", "one", &wanted).await?.shown(), @r#"
    409 Conflict: Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again
      about {"kind":"configmaps","name":"a"}
    "#);
    Ok(())
}
