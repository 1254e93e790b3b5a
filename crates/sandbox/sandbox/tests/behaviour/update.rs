//! Updates with PUT.

use anyhow::Result;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Case, Transcript, config_map, idle_deployment};

#[tokio::test]
async fn update_changes_resource_version() -> Result<()> {
    let case = Case::begin("update").await?;
    let before = case.config_map("a", json!({ "k": "1" })).await?;
    let mut changed = before.clone();
    changed["data"]["k"] = json!("2");
    let after = case.replace("configmaps/a", &changed).await?.object()?;
    assert_eq!(after["data"], json!({ "k": "2" }));
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    assert_ne!(after["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
    Ok(())
}

#[tokio::test]
async fn update_without_change_keeps_resource_version() -> Result<()> {
    let case = Case::begin("update").await?;
    let before = case.config_map("a", json!({ "k": "1" })).await?;
    let after = case.replace("configmaps/a", &before).await?.object()?;
    assert_eq!(after, before);
    Ok(())
}

#[tokio::test]
async fn update_of_older_version_conflicts() -> Result<()> {
    let case = Case::begin("update").await?;
    let mut old = case.config_map("a", json!({ "k": "1" })).await?;
    case.merge("configmaps/a", &json!({ "data": { "k": "2" } })).await?.object()?;
    old["data"]["k"] = json!("3");
    assert_snapshot!(case.replace("configmaps/a", &old).await?.shown(), @r#"
    409 Conflict: Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again
      about {"kind":"configmaps","name":"a"}
    "#);
    Ok(())
}

#[tokio::test]
async fn update_without_version_is_unconditional() -> Result<()> {
    let case = Case::begin("update").await?;
    let before = case.config_map("a", json!({ "k": "1", "gone": "x" })).await?;
    let wanted = config_map("a", json!({ "k": "2" }));
    let after = case.replace("configmaps/a", &wanted).await?.object()?;
    assert_eq!(after["data"], json!({ "k": "2" }));
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    Ok(())
}

#[tokio::test]
async fn update_of_some_kinds_requires_version() -> Result<()> {
    let case = Case::begin("update").await?;
    let mut transcript = Transcript::default();
    let lease = json!({ "metadata": { "name": "a" }, "spec": { "holderIdentity": "x" } });
    case.create("leases", &lease).await?.object()?;
    transcript.add("lease", &case.replace("leases/a", &lease).await?);
    transcript.add("no name", &case.replace("leases/a", &json!({ "metadata": {} })).await?);
    assert_snapshot!(transcript, @r#"
    lease: 422 Invalid: leases.coordination.k8s.io "a" is invalid: …
      about {"group":"coordination.k8s.io","kind":"leases","name":"a"}
      FieldValueInvalid metadata.resourceVersion: Invalid value: 0x0: must be specified for an update
    no name: 400 BadRequest: the name of the object (a based on URL) was undeterminable: name must be provided
    "#);
    Ok(())
}

#[tokio::test]
async fn update_with_other_name_is_refused() -> Result<()> {
    let case = Case::begin("update").await?;
    let before = case.config_map("a", json!({})).await?;
    let with = |name: &str, value: &str| {
        let mut changed = before.clone();
        changed["metadata"][name] = json!(value);
        changed
    };
    let (mut transcript, mut outlines) = (Transcript::default(), Transcript::default());
    for (name, value) in [("name", "b"), ("namespace", "elsewhere")] {
        let answer = case.replace("configmaps/a", &with(name, value)).await?;
        transcript.add(format!("{name}={value}"), &answer);
    }
    assert_snapshot!(transcript, @"
    name=b: 400 BadRequest: the name of the object (b) does not match the name on the URL (a)
    namespace=elsewhere: 400 BadRequest: the namespace of the object (elsewhere) does not match the namespace on the request (NS)
    ");
    for (name, value) in [("uid", "another"), ("resourceVersion", "abc"), ("resourceVersion", "-1")]
    {
        let answer = case.replace("configmaps/a", &with(name, value)).await?;
        outlines.line(format!("{name}={value}"), answer.outline());
    }
    assert_snapshot!(outlines, @"
    uid=another: 409 Conflict
    resourceVersion=abc: 500 
    resourceVersion=-1: 500
    ");
    Ok(())
}

#[tokio::test]
async fn update_of_missing_object_is_not_found() -> Result<()> {
    let case = Case::begin("update").await?;
    let mut transcript = Transcript::default();
    transcript.add("plain", &case.replace("configmaps/a", &config_map("a", json!({}))).await?);
    let mut versioned = config_map("a", json!({}));
    versioned["metadata"]["resourceVersion"] = json!("5");
    transcript.add("with a version", &case.replace("configmaps/a", &versioned).await?);
    assert_snapshot!(transcript, @r#"
    plain: 404 NotFound: configmaps "a" not found
      about {"kind":"configmaps","name":"a"}
    with a version: 404 NotFound: configmaps "a" not found
      about {"kind":"configmaps","name":"a"}
    "#);
    Ok(())
}

#[tokio::test]
async fn update_keeps_server_metadata() -> Result<()> {
    let case = Case::begin("update").await?;
    let before = case.config_map("a", json!({})).await?;
    let mut changed = config_map("a", json!({ "k": "v" }));
    changed["metadata"]["creationTimestamp"] = json!("2001-01-01T00:00:00Z");
    changed["metadata"]["labels"] = json!({ "new": "label" });
    let after = case.replace("configmaps/a", &changed).await?.object()?;
    assert_eq!(after["metadata"]["creationTimestamp"], before["metadata"]["creationTimestamp"]);
    assert_eq!(after["metadata"]["labels"], json!({ "new": "label" }));
    Ok(())
}

#[tokio::test]
async fn dry_run_update_stores_nothing() -> Result<()> {
    let case = Case::begin("update").await?;
    let before = case.config_map("a", json!({ "k": "1" })).await?;
    let changed = config_map("a", json!({ "k": "2" }));
    let answer = case.replace("configmaps/a?dryRun=All", &changed).await?.object()?;
    assert_eq!(answer["data"], json!({ "k": "2" }));
    assert_eq!(case.get("configmaps/a").await?.object()?, before);
    Ok(())
}

#[tokio::test]
async fn update_of_immutable_fields_is_refused() -> Result<()> {
    let case = Case::begin("update").await?;
    let mut transcript = Transcript::default();
    let mut map = config_map("a", json!({ "k": "1" }));
    map["immutable"] = json!(true);
    case.create("configmaps", &map).await?.object()?;
    for patch in [json!({ "data": { "k": "2" } }), json!({ "immutable": null })] {
        transcript.add(&patch, &case.merge("configmaps/a", &patch).await?);
    }
    let secret = json!({ "metadata": { "name": "s" }, "type": "Opaque" });
    case.create("secrets", &secret).await?.object()?;
    transcript.add("secret type", &case.merge("secrets/s", &json!({ "type": "other" })).await?);
    assert_snapshot!(transcript, @r#"
    {"data":{"k":"2"}}: 422 Invalid: ConfigMap "a" is invalid: …
      about {"kind":"ConfigMap","name":"a"}
      FieldValueForbidden data: Forbidden: field is immutable when `immutable` is set
    {"immutable":null}: 422 Invalid: ConfigMap "a" is invalid: …
      about {"kind":"ConfigMap","name":"a"}
      FieldValueForbidden immutable: Forbidden: field is immutable when `immutable` is set
    secret type: 422 Invalid: Secret "s" is invalid: …
      about {"kind":"Secret","name":"s"}
      FieldValueInvalid type: Invalid value: "other": field is immutable
    "#);
    Ok(())
}

#[tokio::test]
async fn generation_counts_spec_changes() -> Result<()> {
    let case = Case::begin("update").await?;
    let deployment = idle_deployment(json!([{ "name": "c", "image": "i" }]));
    let generation = |object: &Value| object["metadata"]["generation"].clone();
    let created = case.create("deployments", &deployment).await?.object()?;
    assert_eq!(generation(&created), 1);
    let label = json!({ "metadata": { "labels": { "x": "y" } } });
    let labelled = case.merge("deployments/d", &label).await?.object()?;
    assert_eq!(generation(&labelled), 1);
    let changed = case.merge("deployments/d", &json!({ "spec": { "paused": true } })).await?;
    assert_eq!(generation(&changed.object()?), 2);
    Ok(())
}

#[tokio::test]
async fn status_update_changes_status_only() -> Result<()> {
    let case = Case::begin("update").await?;
    let service = json!({
        "metadata": { "name": "s" }, "spec": { "ports": [{ "port": 80 }], "clusterIP": "None" },
    });
    case.create("services", &service).await?.object()?;
    let ingress = json!({ "loadBalancer": { "ingress": [{ "hostname": "h" }] } });
    let both = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "sessionAffinity": "ClientIP" }, "status": ingress });
    let after = case.merge("services/s/status", &both).await?.object()?;
    assert_eq!((&after["status"], &after["spec"]["sessionAffinity"]), (&ingress, &json!("None")));
    let after =
        case.merge("services/s", &json!({ "status": { "loadBalancer": null } })).await?.object()?;
    assert_eq!(after["status"], ingress);
    Ok(())
}
