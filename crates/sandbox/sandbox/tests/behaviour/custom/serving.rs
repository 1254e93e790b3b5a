//! Versions and subresources of custom resources.

use anyhow::Result;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Case, widgets};

/// Widgets with status and scale subresources.
fn with_subresources(case: &Case) -> Value {
    let spec = json!({ "type": "object", "properties": { "replicas": { "type": "integer" } } });
    let mut definition = widgets(case.ns(), &spec);
    definition["spec"]["versions"][0]["subresources"] = json!({
        "status": {},
        "scale": { "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" },
    });
    definition
}

#[tokio::test]
async fn status_subresource_separates_spec_and_status() -> Result<()> {
    let case = Case::begin("custom").await?;
    let path = format!("{}/w", case.define_as(&with_subresources(&case)).await?);
    let (collection, _) = path.split_once('/').unwrap_or_default();
    let mut widget = case.widget("w", &json!({ "replicas": 1 }));
    widget["status"] = json!({ "a": "ignored" });
    let created = case.create(collection, &widget).await?.object()?;
    assert_eq!((&created["status"], &created["metadata"]["generation"]), (&Value::Null, &json!(1)));
    let status = json!({ "spec": { "replicas": 9 }, "status": { "a": "b" }, "metadata": { "labels": { "l": "m" } } });
    let after = case.merge(&format!("{path}/status"), &status).await?.object()?;
    assert_snapshot!(json!([after["spec"], after["status"], after["metadata"]["generation"], after["metadata"]["labels"]]), @r#"[{"replicas":1},{"a":"b"},1,null]"#);
    let after = case
        .merge(&path, &json!({ "spec": { "replicas": 2 }, "status": { "a": "c" } }))
        .await?
        .object()?;
    assert_snapshot!(json!([after["spec"], after["status"], after["metadata"]["generation"]]), @r#"[{"replicas":2},{"a":"b"},2]"#);
    Ok(())
}

#[tokio::test]
async fn status_without_subresource_is_part_of_object() -> Result<()> {
    let case = Case::begin("custom").await?;
    let path = format!("{}/w", case.define(&json!({ "type": "object" })).await?);
    let mut widget = case.widget("w", &json!({}));
    widget["status"] = json!({ "a": "b" });
    let (collection, _) = path.split_once('/').unwrap_or_default();
    let created = case.create(collection, &widget).await?.object()?;
    assert_eq!(created["status"], json!({ "a": "b" }));
    assert_snapshot!(case.get(&format!("{path}/status")).await?.shown(), @r#"
    404 NotFound: widgets.NS.test "w" not found
      about {"group":"NS.test","kind":"widgets","name":"w"}
    "#);
    assert_snapshot!(case.get(&format!("{path}/scale")).await?.shown(), @r#"
    404 NotFound: widgets.NS.test "w" not found
      about {"group":"NS.test","kind":"widgets","name":"w"}
    "#);
    Ok(())
}

#[tokio::test]
async fn scale_subresource_reads_and_writes_replicas() -> Result<()> {
    let case = Case::begin("custom").await?;
    let path = format!("{}/w", case.define_as(&with_subresources(&case)).await?);
    case.create_widget("w", &json!({ "replicas": 2 })).await?.object()?;
    case.merge(&format!("{path}/status"), &json!({ "status": { "replicas": 1 } }))
        .await?
        .object()?;
    let scale = case.get(&format!("{path}/scale")).await?.object()?;
    assert_snapshot!(json!([scale["kind"], scale["apiVersion"], scale["spec"], scale["status"]]), @r#"["Scale","autoscaling/v1",{"replicas":2},{"replicas":1}]"#);
    case.merge(&format!("{path}/scale"), &json!({ "spec": { "replicas": 5 } })).await?.object()?;
    assert_eq!(case.get(&path).await?.object()?["spec"]["replicas"], 5);
    Ok(())
}

#[tokio::test]
async fn versions_serve_the_same_objects() -> Result<()> {
    let case = Case::begin("custom").await?;
    let mut definition = widgets(
        case.ns(),
        &json!({ "type": "object", "properties": { "a": { "type": "string" } } }),
    );
    let version = definition["spec"]["versions"][0].clone();
    let named = |name: &str, served: bool| {
        let mut version = version.clone();
        version["name"] = json!(name);
        version["storage"] = json!(name == "v1");
        version["served"] = json!(served);
        version
    };
    definition["spec"]["versions"] =
        json!([named("v1", true), named("v2", true), named("v3", false)]);
    case.define_as(&definition).await?;
    case.create_widget("w", &json!({ "a": "x" })).await?.object()?;
    let group = format!("{}.test", case.ns());
    let other =
        case.get(&format!("/apis/{group}/v2/namespaces/{{ns}}/widgets/w")).await?.object()?;
    assert_eq!(other["apiVersion"], format!("{group}/v2"));
    assert_eq!(other["spec"], json!({ "a": "x" }));
    let unserved = case.get(&format!("/apis/{group}/v3/namespaces/{{ns}}/widgets/w")).await?;
    assert_snapshot!(format!("{} {:?}", unserved.status, unserved.text()), @r#"404 "404 page not found\n""#);
    let wrong = case
        .create(
            &format!("/apis/{group}/v2/namespaces/{{ns}}/widgets"),
            &case.widget("x", &json!({})),
        )
        .await?;
    assert_snapshot!(wrong.shown(), @"400 BadRequest: the API version in the data (NS.test/v1) does not match the expected API version (NS.test/v2)");
    Ok(())
}

#[tokio::test]
async fn cluster_scoped_resources_have_no_namespace() -> Result<()> {
    let case = Case::begin("custom").await?;
    let mut definition = widgets(case.ns(), &json!({ "type": "object" }));
    definition["spec"]["scope"] = json!("Cluster");
    let path = case.define_as(&definition).await?;
    assert_eq!(case.get(&path).await?.status, 404);
    let path = format!("/apis/{}.test/v1/widgets", case.ns());
    let created = case.create(&path, &case.widget("w", &json!({}))).await?.object()?;
    assert_eq!(created["metadata"]["namespace"], Value::Null);
    assert_eq!(case.get(&format!("{path}/w")).await?.object()?, created);
    Ok(())
}

#[tokio::test]
async fn custom_list_map_items_are_owned_by_key() -> Result<()> {
    let case = Case::begin("custom").await?;
    let element = json!({
        "type": "object", "required": ["k"],
        "properties": { "k": { "type": "string" }, "v": { "type": "string" } },
    });
    let schema = json!({
        "type": "object",
        "properties": {
            "map": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": element },
            "set": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } },
            "atomic": { "type": "array", "items": { "type": "string" } },
        },
    });
    let path = format!("{}/w", case.define(&schema).await?);
    let one = json!({ "map": [{ "k": "a", "v": "1" }], "set": ["x"], "atomic": ["p"] });
    case.apply(&path, "one", &case.widget("w", &one)).await?.object()?;
    let two = json!({ "map": [{ "k": "b", "v": "2" }], "set": ["y"] });
    let after = case.apply(&path, "two", &case.widget("w", &two)).await?.object()?;
    assert_snapshot!(after["spec"], @r#"{"atomic":["p"],"map":[{"k":"a","v":"1"},{"k":"b","v":"2"}],"set":["x","y"]}"#);
    let both = json!({ "map": [{ "k": "a", "v": "2" }], "atomic": ["p", "q"] });
    assert_snapshot!(case.apply(&path, "two", &case.widget("w", &both)).await?.shown(), @r#"
    409 Conflict: Apply failed with 2 conflicts: conflicts with "one":
    - .spec.atomic
    - .spec.map[k="a"].v
      FieldManagerConflict .spec.atomic: conflict with "one"
      FieldManagerConflict .spec.map[k="a"].v: conflict with "one"
    "#);
    let after =
        case.apply(&path, "one", &case.widget("w", &json!({ "set": ["x"] }))).await?.object()?;
    assert_snapshot!(after["spec"], @r#"{"map":[{"k":"b","v":"2"}],"set":["x","y"]}"#);
    Ok(())
}

#[tokio::test]
async fn custom_resources_have_metadata_field_selectors_only() -> Result<()> {
    let case = Case::begin("custom").await?;
    let path = case.define(&json!({ "type": "object" })).await?;
    case.create_widget("w", &json!({})).await?.object()?;
    let found = case.get(&format!("{path}?fieldSelector=metadata.name%3Dw")).await?.object()?;
    assert_eq!(found["items"].as_array().map(Vec::len), Some(1));
    assert_snapshot!(case.get(&format!("{path}?fieldSelector=spec.a%3Dw")).await?.shown(), @"400 BadRequest: field label not supported: spec.a");
    Ok(())
}
