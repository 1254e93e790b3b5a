//! Media types: tables, `PartialObjectMetadata` and YAML.

use anyhow::Result;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{ApiClient, Case, Transcript, config_map, widgets};

const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";

fn accepting(case: &Case, form: &str) -> Result<ApiClient> {
    case.with_header("accept", form)
}

/// Columns and cells, without ages.
fn table(answer: &Value) -> String {
    let column = |it: &Value| {
        format!("{}:{}", it["name"].as_str().unwrap_or("-"), it["type"].as_str().unwrap_or("-"))
    };
    let columns = answer["columnDefinitions"].as_array().into_iter().flatten();
    let columns: Vec<String> = columns.map(column).collect();
    let age = columns.iter().position(|name| name.starts_with("Age:"));
    let mut lines = vec![columns.join(" ")];
    for row in answer["rows"].as_array().into_iter().flatten() {
        let cells = row["cells"].as_array().into_iter().flatten().enumerate();
        let cells = cells
            .map(|(at, cell)| if Some(at) == age { "AGE".to_owned() } else { cell.to_string() });
        lines.push(cells.collect::<Vec<_>>().join(" "));
    }
    lines.join("\n")
}

#[tokio::test]
async fn list_as_table_has_columns_and_rows() -> Result<()> {
    let case = Case::begin("forms").await?;
    for (name, data) in [("a", json!({ "x": "1", "y": "2" })), ("b", json!({}))] {
        case.create("secrets", &json!({ "metadata": { "name": name }, "stringData": data }))
            .await?
            .object()?;
    }
    let answer = accepting(&case, TABLE)?.get("secrets?fieldSelector=type%3DOpaque").await?;
    assert_eq!(answer.header("content-type"), "application/json");
    let answer = answer.object()?;
    assert_eq!(
        (&answer["kind"], &answer["apiVersion"]),
        (&json!("Table"), &json!("meta.k8s.io/v1"))
    );
    assert!(answer["metadata"]["resourceVersion"].is_string());
    assert_snapshot!(table(&answer), @r#"
    Name:string Type:string Data:string Age:string
    "a" "Opaque" 2 AGE
    "b" "Opaque" 0 AGE
    "#);
    let object = &answer["rows"][0]["object"];
    assert_eq!(
        (&object["kind"], &object["metadata"]["name"]),
        (&json!("PartialObjectMetadata"), &json!("a"))
    );
    assert_eq!(object["data"], Value::Null);
    Ok(())
}

#[tokio::test]
async fn object_as_table_has_one_row() -> Result<()> {
    let case = Case::begin("forms").await?;
    case.config_map("a", json!({ "x": "1" })).await?;
    let caller = accepting(&case, TABLE)?;
    assert_snapshot!(table(&caller.get("configmaps/a").await?.object()?), @r#"
    Name:string Data:string Age:string
    "a" 1 AGE
    "#);
    let whole = caller.get("configmaps/a?includeObject=Object").await?.object()?;
    assert_eq!(whole["rows"][0]["object"]["data"], json!({ "x": "1" }));
    let none = caller.get("configmaps/a?includeObject=None").await?.object()?;
    assert_eq!(none["rows"][0]["object"], Value::Null);
    let nonsense = caller.get("configmaps/a?includeObject=Some").await?;
    assert_snapshot!(nonsense.outline(), @"400 BadRequest");
    Ok(())
}

#[tokio::test]
async fn watch_as_table_sends_tables() -> Result<()> {
    let case = Case::begin("forms").await?;
    case.config_map("a", json!({})).await?;
    let mut events =
        accepting(&case, TABLE)?.watch("configmaps?fieldSelector=metadata.name%3Da").await?;
    let event = events.event().await?;
    assert_eq!((&event["type"], &event["object"]["kind"]), (&json!("ADDED"), &json!("Table")));
    assert_eq!(event["object"]["rows"][0]["cells"][0], "a");
    Ok(())
}

#[tokio::test]
async fn custom_resource_table_has_printer_columns() -> Result<()> {
    let case = Case::begin("forms").await?;
    let spec = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let mut definition = widgets(case.ns(), &spec);
    definition["spec"]["versions"][0]["additionalPrinterColumns"] = json!([
        { "name": "Size", "type": "integer", "jsonPath": ".spec.size" },
        { "name": "First", "type": "string", "jsonPath": ".spec.parts[0].name", "priority": 1 },
        { "name": "Ready", "type": "string", "jsonPath": ".spec.conditions[?(@.type==\"Ready\")].status" },
        { "name": "Since", "type": "date", "jsonPath": ".metadata.creationTimestamp" },
    ]);
    let path = case.define_as(&definition).await?;
    case.create_widget("full", &json!({
        "size": 3, "parts": [{ "name": "p" }], "conditions": [{ "type": "Other", "status": "x" }, { "type": "Ready", "status": "True" }],
    })).await?.object()?;
    case.create_widget("empty", &json!({})).await?.object()?;
    let answer = accepting(&case, TABLE)?.get(&path).await?.object()?;
    let text = table(&answer);
    let text: String = text
        .lines()
        .map(|line| line.rsplit_once(' ').map_or(line, |(cells, _)| cells))
        .collect::<Vec<_>>()
        .join("\n");
    assert_snapshot!(text, @r#"
    Name:string Size:integer First:string Ready:string
    "empty" null null null
    "full" 3 "p" "True"
    "#);
    assert_eq!(answer["columnDefinitions"][2]["priority"], 1);
    Ok(())
}

#[tokio::test]
async fn custom_resource_table_without_columns_has_name_and_age() -> Result<()> {
    let case = Case::begin("forms").await?;
    let path = case.define(&json!({ "type": "object" })).await?;
    case.create_widget("w", &json!({})).await?.object()?;
    let answer = accepting(&case, TABLE)?.get(&path).await?.object()?;
    assert_snapshot!(table(&answer), @r#"
    Name:string Age:date
    "w" AGE
    "#);
    Ok(())
}

#[tokio::test]
async fn partial_object_metadata_has_metadata_only() -> Result<()> {
    let case = Case::begin("forms").await?;
    let mut object = config_map("a", json!({ "k": "v" }));
    object["metadata"]["labels"] = json!({ "suite": "forms" });
    case.create("configmaps", &object).await?.object()?;
    let one = accepting(&case, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")?;
    let partial = one.get("configmaps/a").await?.object()?;
    assert_eq!(
        (&partial["kind"], &partial["apiVersion"]),
        (&json!("PartialObjectMetadata"), &json!("meta.k8s.io/v1"))
    );
    assert_eq!(
        (&partial["metadata"]["labels"]["suite"], &partial["data"]),
        (&json!("forms"), &Value::Null)
    );
    let many =
        accepting(&case, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")?;
    let list = many.get("configmaps?labelSelector=suite").await?.object()?;
    assert_eq!(
        (&list["kind"], &list["items"][0]["data"]),
        (&json!("PartialObjectMetadataList"), &Value::Null)
    );
    let mut events = one.watch("configmaps?labelSelector=suite").await?;
    assert_eq!(events.event().await?["object"]["kind"], "PartialObjectMetadata");
    Ok(())
}

#[tokio::test]
async fn unsupported_media_types_are_not_acceptable() -> Result<()> {
    let case = Case::begin("forms").await?;
    case.config_map("a", json!({})).await?;
    let mut transcript = Transcript::default();
    for form in [
        "*/*",
        "text/html, application/json;q=0.9",
        "application/json;as=Table;g=meta.k8s.io;v=v9, application/json",
        "text/plain",
        "application/json;as=Nonsense;g=meta.k8s.io;v=v1",
    ] {
        let answer = accepting(&case, form)?.get("configmaps/a").await?;
        let shown = if answer.succeeded() {
            answer.header("content-type").to_owned()
        } else {
            answer.outline()
        };
        transcript.line(form, shown);
    }
    assert_snapshot!(transcript, @"
    */*: application/json
    text/html, application/json;q=0.9: application/json
    application/json;as=Table;g=meta.k8s.io;v=v9, application/json: application/json
    text/plain: 406 NotAcceptable
    application/json;as=Nonsense;g=meta.k8s.io;v=v1: 406 NotAcceptable
    ");
    Ok(())
}

#[tokio::test]
async fn yaml_is_accepted_and_returned() -> Result<()> {
    let case = Case::begin("forms").await?;
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: 'yes'\n";
    let created =
        case.send(http::Method::POST, "configmaps", Some("application/yaml"), yaml.into()).await?;
    assert_eq!(created.object()?["data"]["k"], "yes");
    let answer = accepting(&case, "application/yaml")?.get("configmaps/a").await?;
    assert_eq!(answer.header("content-type"), "application/yaml");
    assert!(answer.text().contains("kind: ConfigMap\n"), "{}", answer.text());
    Ok(())
}
