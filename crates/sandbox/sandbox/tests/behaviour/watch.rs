//! Watches.

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow, ensure};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::differences;
use crate::support::{Case, Transcript, WatchEvents, config_map};

/// `ConfigMaps` of the case; controllers create others in the namespace.
const OWN: &str = "configmaps?labelSelector=suite";

fn labelled(name: &str, label: &str) -> Value {
    let mut object = config_map(name, json!({ "k": "0" }));
    object["metadata"]["labels"] = json!({ "suite": label });
    object
}

async fn create(case: &Case, name: &str, label: &str) -> Result<Value> {
    case.create("configmaps", &labelled(name, label)).await?.object()
}

async fn change(case: &Case, name: &str, value: &str) -> Result<Value> {
    case.merge(&format!("configmaps/{name}"), &json!({ "data": { "k": value } })).await?.object()
}

fn version(object: &Value) -> Result<u64> {
    Ok(object["metadata"]["resourceVersion"].as_str().context("no version")?.parse()?)
}

/// A watch of the case's objects from now on.
async fn from_now(case: &Case, query: &str) -> Result<WatchEvents> {
    let list = case.get(OWN).await?.object()?;
    case.watch(&format!("{OWN}{query}&resourceVersion={}", version(&list)?)).await
}

#[tokio::test]
async fn watch_events_are_in_write_order() -> Result<()> {
    let case = Case::begin("watch").await?;
    let mut events = from_now(&case, "").await?;
    create(&case, "a", "x").await?;
    create(&case, "b", "x").await?;
    change(&case, "a", "1").await?;
    case.delete("configmaps/a").await?.object()?;
    change(&case, "b", "2").await?;
    assert_snapshot!(events.shown(5).await?, @r#"
    ADDED "a" {"k":"0"}
    ADDED "b" {"k":"0"}
    MODIFIED "a" {"k":"1"}
    DELETED "a" {"k":"1"}
    MODIFIED "b" {"k":"2"}
    "#);
    Ok(())
}

#[tokio::test]
async fn watch_without_version_starts_with_existing_objects() -> Result<()> {
    let case = Case::begin("watch").await?;
    create(&case, "b", "x").await?;
    create(&case, "a", "x").await?;
    for query in ["", "&resourceVersion=0"] {
        let mut events = case.watch(&format!("{OWN}{query}")).await?;
        let mut first = [events.event().await?, events.event().await?]
            .map(|event| event["object"]["metadata"]["name"].clone());
        first.sort_by_key(ToString::to_string);
        assert_eq!(first, ["a", "b"], "{query}");
        change(&case, "a", if query.is_empty() { "1" } else { "2" }).await?;
        assert_eq!(events.event().await?["type"], "MODIFIED");
    }
    Ok(())
}

#[tokio::test]
async fn watch_from_version_sends_later_events() -> Result<()> {
    let case = Case::begin("watch").await?;
    let first = create(&case, "a", "x").await?;
    change(&case, "a", "1").await?;
    change(&case, "a", "2").await?;
    case.delete("configmaps/a").await?.object()?;
    let mut events = case.watch(&format!("{OWN}&resourceVersion={}", version(&first)?)).await?;
    assert_snapshot!(events.shown(3).await?, @r#"
    MODIFIED "a" {"k":"1"}
    MODIFIED "a" {"k":"2"}
    DELETED "a" {"k":"2"}
    "#);
    Ok(())
}

#[tokio::test]
async fn watch_event_has_resource_version_of_write() -> Result<()> {
    let case = Case::begin("watch").await?;
    let mut events = from_now(&case, "").await?;
    let created = create(&case, "a", "x").await?;
    let changed = change(&case, "a", "1").await?;
    case.delete("configmaps/a").await?.object()?;
    assert_eq!(events.event().await?, json!({ "type": "ADDED", "object": created }));
    assert_eq!(events.event().await?, json!({ "type": "MODIFIED", "object": changed }));
    let deleted = events.event().await?;
    assert!(
        version(&deleted["object"])? > version(&changed)?,
        "a deletion has a version of its own"
    );
    assert_eq!(deleted["object"]["data"], changed["data"]);
    Ok(())
}

#[tokio::test]
async fn watch_with_selector_sends_added_and_deleted() -> Result<()> {
    let case = Case::begin("watch").await?;
    let list = case.get(OWN).await?.object()?;
    let path = format!("configmaps?labelSelector=suite%3Dyes&resourceVersion={}", version(&list)?);
    let mut events = case.watch(&path).await?;
    create(&case, "a", "no").await?;
    let label = |label: &str| json!({ "metadata": { "labels": { "suite": label } } });
    case.merge("configmaps/a", &label("yes")).await?.object()?;
    change(&case, "a", "1").await?;
    case.merge("configmaps/a", &label("no")).await?.object()?;
    change(&case, "a", "2").await?;
    case.merge("configmaps/a", &label("yes")).await?.object()?;
    case.delete("configmaps/a").await?.object()?;
    assert_snapshot!(events.shown(5).await?, @r#"
    ADDED "a" {"k":"0"}
    MODIFIED "a" {"k":"1"}
    DELETED "a" {"k":"1"}
    ADDED "a" {"k":"2"}
    DELETED "a" {"k":"2"}
    "#);
    Ok(())
}

#[tokio::test]
async fn watch_deleted_event_of_unmatched_object_has_old_content() -> Result<()> {
    let case = Case::begin("watch").await?;
    let created = create(&case, "a", "yes").await?;
    let path =
        format!("configmaps?labelSelector=suite%3Dyes&resourceVersion={}", version(&created)?);
    let mut events = case.watch(&path).await?;
    let change = json!({ "metadata": { "labels": { "suite": "no" } }, "data": { "k": "new" } });
    let after = case.merge("configmaps/a", &change).await?.object()?;
    let event = events.event().await?;
    assert_eq!((&event["type"], &event["object"]["data"]["k"]), (&json!("DELETED"), &json!("0")));
    assert_eq!(version(&event["object"])?, version(&after)?);
    Ok(())
}

#[tokio::test]
async fn watch_by_name_sends_one_object() -> Result<()> {
    let case = Case::begin("watch").await?;
    let mut events = from_now(&case, "&fieldSelector=metadata.name%3Db").await?;
    create(&case, "a", "x").await?;
    create(&case, "b", "x").await?;
    change(&case, "a", "1").await?;
    change(&case, "b", "1").await?;
    assert_snapshot!(events.shown(2).await?, @r#"
    ADDED "b" {"k":"0"}
    MODIFIED "b" {"k":"1"}
    "#);
    Ok(())
}

#[tokio::test]
async fn watch_ends_after_timeout_seconds() -> Result<()> {
    let case = Case::begin("watch").await?;
    create(&case, "a", "x").await?;
    let mut events = case.watch(&format!("{OWN}&timeoutSeconds=1")).await?;
    assert_snapshot!(events.rest().await?, @r#"ADDED "a" {"k":"0"}"#);
    Ok(())
}

#[tokio::test]
async fn watch_bookmarks_have_current_version() -> Result<()> {
    let case = Case::begin("watch").await?;
    let created = create(&case, "a", "x").await?;
    let path = format!("{OWN}&allowWatchBookmarks=true&timeoutSeconds=3&resourceVersion=0");
    // An API server sends the bookmark two seconds before it ends the watch. A busy one sends none.
    let mut bookmark = Err(anyhow!("no watch"));
    for _ in 0..5 {
        let mut events = case.watch(&path).await?;
        assert_eq!(events.event().await?["type"], "ADDED");
        bookmark = events.event().await;
        if bookmark.is_ok() {
            break;
        }
    }
    let bookmark = bookmark?;
    assert_eq!(
        (&bookmark["type"], &bookmark["object"]["kind"]),
        (&json!("BOOKMARK"), &json!("ConfigMap"))
    );
    assert!(version(&bookmark["object"])? >= version(&created)?);
    let metadata = bookmark["object"]["metadata"].as_object().context("no metadata")?;
    assert_eq!(metadata.get("name"), None);
    Ok(())
}

#[tokio::test]
async fn invalid_watches_are_refused() -> Result<()> {
    let case = Case::begin("watch").await?;
    let mut transcript = Transcript::default();
    for query in [
        "labelSelector=a%3Db%3Dc",
        "fieldSelector=data.k%3Dv",
        "resourceVersionMatch=Exact&resourceVersion=1",
    ] {
        transcript.add(query, &case.get(&format!("configmaps?watch=true&{query}")).await?);
    }
    assert_snapshot!(transcript, @r#"
    labelSelector=a%3Db%3Dc: 400 BadRequest: found '=', expected: ',' or 'end of string'
    fieldSelector=data.k%3Dv: 400 BadRequest: "data.k" is not a known field selector: only "metadata.name", "metadata.namespace"
    resourceVersionMatch=Exact&resourceVersion=1: 422 Invalid: ListOptions.meta.k8s.io "" is invalid: …
      about {"group":"meta.k8s.io","kind":"ListOptions"}
      FieldValueForbidden resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch
    "#);
    Ok(())
}

#[tokio::test]
async fn expired_version_is_gone() -> Result<()> {
    let case = Case::begin("watch").await?;
    create(&case, "a", "x").await?;
    let version = case.cluster.compacted_version().await?;
    let mut events = case.watch(&format!("{OWN}&resourceVersion={version}")).await?;
    let event = events.event().await?;
    assert_eq!(event["type"], "ERROR");
    let refused = &event["object"];
    assert_eq!((&refused["code"], &refused["reason"]), (&json!(410), &json!("Expired")));
    assert_eq!(events.next().await?, None, "the watch ends");
    // A server that compacts rarely still lists that version.
    if !differences::compacts_rarely(&case).await? {
        let query = format!("{OWN}&resourceVersion={version}&resourceVersionMatch=Exact&limit=1");
        assert_snapshot!(case.get(&query).await?.shown(), @"410 Expired: The resourceVersion for the provided list is too old.");
    }
    Ok(())
}

#[tokio::test]
async fn concurrent_writes_send_each_event_once() -> Result<()> {
    const WRITERS: usize = 4;
    const WRITES: usize = 10;
    let case = Case::begin("watch").await?;
    let mut events = from_now(&case, "").await?;
    let write = |writer: usize| {
        let case = &case;
        async move {
            let name = format!("w{writer}");
            create(case, &name, "x").await?;
            for number in 1..WRITES {
                change(case, &name, &number.to_string()).await?;
            }
            anyhow::Ok(())
        }
    };
    futures::future::try_join_all((0..WRITERS).map(write)).await?;
    let mut seen: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut last = 0;
    for _ in 0..WRITERS * WRITES {
        let event = events.event().await?;
        let version = version(&event["object"])?;
        ensure!(version > last, "version {version} came after {last}");
        last = version;
        let object = &event["object"];
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        seen.entry(word(&object["metadata"]["name"])).or_default().push(word(&object["data"]["k"]));
    }
    let all: Vec<String> = (0..WRITES).map(|number| number.to_string()).collect();
    for writer in 0..WRITERS {
        assert_eq!(seen.get(&format!("w{writer}")), Some(&all));
    }
    Ok(())
}

#[tokio::test]
async fn watch_covers_all_namespaces() -> Result<()> {
    let case = Case::begin("watch").await?;
    let other = case.cluster.namespace("another").await?;
    let own = create(&case, "a", case.ns()).await?;
    let selector = format!("labelSelector=suite%3D{}", case.ns());
    let mut events = case
        .watch(&format!("/api/v1/configmaps?{selector}&resourceVersion={}", version(&own)?))
        .await?;
    let path = format!("/api/v1/namespaces/{}/configmaps", other.name());
    case.create(&path, &labelled("b", case.ns())).await?.object()?;
    change(&case, "a", "1").await?;
    assert_snapshot!(events.shown(2).await?, @r#"
    ADDED "b" {"k":"0"}
    MODIFIED "a" {"k":"1"}
    "#);
    Ok(())
}
