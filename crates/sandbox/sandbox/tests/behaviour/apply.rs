//! Server-side apply: who owns which field.

use anyhow::Result;
use http::Method;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Case, Patch, Transcript, config_map, idle_deployment};

/// A config map as it is applied.
fn map(data: Value) -> Value {
    config_map("a", data)
}

/// Who owns what, a line each: the manager, the operation, the fields.
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
    // Their order is that of their times, which have whole seconds.
    lines.sort();
    lines.join("\n")
}

async fn applied(case: &Case, manager: &str, data: Value) -> Result<Value> {
    case.apply("configmaps/a", manager, &map(data)).await?.object()
}

#[tokio::test]
async fn an_apply_creates_what_is_not_there() -> Result<()> {
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
async fn an_entry_tells_when_and_how_its_manager_wrote() -> Result<()> {
    let case = Case::begin("apply").await?;
    let object = applied(&case, "one", json!({ "k": "1" })).await?;
    let entry = &object["metadata"]["managedFields"][0];
    assert_eq!(entry["fieldsType"], "FieldsV1");
    assert!(entry["time"].is_string() && entry.get("subresource").is_none(), "{entry}");
    Ok(())
}

#[tokio::test]
async fn what_a_manager_applies_no_more_is_removed() -> Result<()> {
    let case = Case::begin("apply").await?;
    applied(&case, "one", json!({ "a": "1", "b": "2" })).await?;
    let after = applied(&case, "one", json!({ "a": "1" })).await?;
    assert_eq!(after["data"], json!({ "a": "1" }));
    Ok(())
}

#[tokio::test]
async fn what_another_manager_applies_too_stays() -> Result<()> {
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
async fn a_value_of_another_manager_is_a_conflict() -> Result<()> {
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
async fn values_of_several_managers_are_a_conflict_with_each() -> Result<()> {
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
async fn force_takes_a_value_from_its_owner() -> Result<()> {
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
async fn an_update_takes_what_it_changes() -> Result<()> {
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
async fn an_update_that_removes_a_field_takes_it_from_its_owner() -> Result<()> {
    let case = Case::begin("apply").await?;
    applied(&case, "one", json!({ "a": "1", "b": "1" })).await?;
    let patch = json!({ "data": { "b": null } });
    let after = case.merge("configmaps/a?fieldManager=editor", &patch).await?.object()?;
    assert_snapshot!(owners(&after), @r#"one Apply v1 {"f:data":{"f:a":{}}}"#);
    Ok(())
}

#[tokio::test]
async fn entries_can_be_given_up() -> Result<()> {
    let case = Case::begin("apply").await?;
    applied(&case, "one", json!({ "a": "1" })).await?;
    let patch = json!([{ "op": "replace", "path": "/metadata/managedFields", "value": [{}] }]);
    let after = case.patch(Patch::Json, "configmaps/a", &patch).await?.object()?;
    assert_eq!(after["metadata"]["managedFields"], Value::Null);
    let after = applied(&case, "two", json!({ "b": "2" })).await?;
    assert_snapshot!(owners(&after), @r#"
    before-first-apply Update v1 {"f:data":{".":{},"f:a":{}}}
    two Apply v1 {"f:data":{"f:b":{}}}
    "#);
    Ok(())
}

#[tokio::test]
async fn an_apply_needs_a_manager_and_no_managed_fields() -> Result<()> {
    let case = Case::begin("apply").await?;
    let mut said = Transcript::default();
    let wanted = map(json!({}));
    said.add("no manager", &case.patch(Patch::Apply, "configmaps/a", &wanted).await?);
    let long = "m".repeat(129);
    said.add("long", &case.apply("configmaps/a", &long, &wanted).await?);
    said.add("unprintable", &case.apply("configmaps/a", "a%0A", &wanted).await?);
    let mut managed = wanted.clone();
    managed["metadata"]["managedFields"] = json!([{ "manager": "x" }]);
    said.add("managed fields", &case.apply("configmaps/a", "one", &managed).await?);
    let forced = case.merge("configmaps/a?force=true", &wanted).await?;
    said.add("force of another patch", &forced);
    assert_snapshot!(said, @r#"
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
async fn what_is_applied_names_its_kind_and_itself() -> Result<()> {
    let case = Case::begin("apply").await?;
    let mut said = Transcript::default();
    for object in [
        json!({ "metadata": { "name": "a" } }),
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" } }),
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "b" } }),
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "b" } }),
    ] {
        said.line(&object, case.apply("configmaps/a", "one", &object).await?.outline());
    }
    let nameless = json!({ "apiVersion": "v1", "kind": "ConfigMap" });
    let created = case.apply("configmaps/a", "one", &nameless).await?;
    said.line("no name", created.status);
    assert_snapshot!(said, @r#"
    {"metadata":{"name":"a"}}: 400 BadRequest
    {"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}: 500 
    {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}: 400 BadRequest
    {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b"}}: 400 BadRequest
    no name: 400
    "#);
    Ok(())
}

#[tokio::test]
async fn unknown_fields_are_not_applied() -> Result<()> {
    let case = Case::begin("apply").await?;
    let mut object = map(json!({}));
    object["nonsense"] = json!("x");
    assert_snapshot!(case.apply("configmaps/a", "one", &object).await?.outline(), @"500");
    Ok(())
}

#[tokio::test]
async fn what_is_applied_may_be_yaml() -> Result<()> {
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
async fn elements_of_a_list_are_owned_by_their_keys() -> Result<()> {
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
async fn elements_with_several_keys_are_told_apart_by_all_of_them() -> Result<()> {
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
async fn a_key_that_is_given_twice_is_refused() -> Result<()> {
    let case = Case::begin("apply").await?;
    let twice = json!([{ "name": "x", "image": "i:1" }, { "name": "x", "image": "i:2" }]);
    let answer = case.apply("deployments/d", "one", &idle_deployment(twice)).await?;
    assert_snapshot!(answer.outline(), @"500");
    Ok(())
}

#[tokio::test]
async fn a_status_is_applied_on_its_own() -> Result<()> {
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
async fn a_dry_run_applies_nothing_and_tells_conflicts() -> Result<()> {
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
async fn an_apply_with_an_old_version_conflicts() -> Result<()> {
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
