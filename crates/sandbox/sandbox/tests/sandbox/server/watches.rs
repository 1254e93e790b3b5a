//! Watches over HTTP.

use anyhow::{Context, Result};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ObjectMeta, PostParams, WatchEvent, WatchParams};
use serde_json::{Value, json};

use super::raw::{self, request};
use super::start;

fn secret(name: &str) -> Secret {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    Secret { metadata, ..Secret::default() }
}

#[tokio::test]
async fn events_come_one_by_one_and_none_is_lost() -> Result<()> {
    let started = start().await?;
    let secrets: Api<Secret> = Api::default_namespaced(started.client());
    let first = secrets.create(&PostParams::default(), &secret("first")).await?;
    let version = first.metadata.resource_version.unwrap_or_default();
    let mut events = secrets.watch(&WatchParams::default(), &version).await?.boxed();
    let written = async {
        for number in 0..500 {
            secrets.create(&PostParams::default(), &secret(&format!("m{number}"))).await?;
        }
        anyhow::Ok(())
    };
    let read = async {
        for number in 0..500 {
            let Some(Ok(WatchEvent::Added(secret))) = events.next().await else {
                anyhow::bail!("event {number} is missing");
            };
            assert_eq!(secret.metadata.name, Some(format!("m{number}")));
        }
        Ok(())
    };
    let (written, read) = tokio::join!(written, read);
    written.and(read)
}

/// The events of a watch that lasts a second.
async fn events(started: &super::Started, query: &str, accept: &str) -> Result<Vec<Value>> {
    let path = format!("/api/v1/namespaces/default/secrets?watch=1&timeoutSeconds=1&{query}");
    let answer =
        raw::send(&started.sandbox, &request("GET", &path, &[&format!("Accept: {accept}")], ""))
            .await?;
    anyhow::ensure!(answer.status == 200, "{answer:?}");
    let lines = answer.body.lines().filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).context("not an event")).collect()
}

#[tokio::test]
async fn a_watch_begins_with_what_is_there_and_says_when_it_is_told() -> Result<()> {
    let started = start().await?;
    let secrets: Api<Secret> = Api::default_namespaced(started.client());
    secrets.create(&PostParams::default(), &secret("a")).await?;
    let json = "application/json";

    let plain = events(&started, "", json).await?;
    assert_eq!(plain.len(), 1);
    assert_eq!(plain[0]["type"], "ADDED");
    assert_eq!(plain[0]["object"]["kind"], "Secret");

    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let marked = events(&started, query, json).await?;
    let types: Vec<_> = marked.iter().map(|event| &event["type"]).collect();
    assert_eq!(types, ["ADDED", "BOOKMARK", "BOOKMARK"]);
    let annotations = &marked[1]["object"]["metadata"]["annotations"];
    assert_eq!(*annotations, json!({ "k8s.io/initial-events-end": "true" }));

    let named = events(&started, "fieldSelector=metadata.name%3Db", json).await?;
    assert_eq!(named, [] as [Value; 0]);
    Ok(())
}

#[tokio::test]
async fn a_watch_has_the_form_that_was_asked_for() -> Result<()> {
    let started = start().await?;
    let secrets: Api<Secret> = Api::default_namespaced(started.client());
    secrets.create(&PostParams::default(), &secret("a")).await?;
    secrets.create(&PostParams::default(), &secret("b")).await?;
    let tables = events(&started, "", "application/json;as=Table;g=meta.k8s.io;v=v1").await?;
    assert_eq!(tables[0]["object"]["kind"], "Table");
    assert_eq!(tables[0]["object"]["rows"][0]["cells"][0], "a");
    let columns = |event: &Value| event["object"]["columnDefinitions"].as_array().map(Vec::len);
    assert_eq!(columns(&tables[0]), Some(4));
    assert_eq!(columns(&tables[1]).unwrap_or_default(), 0);

    let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let partial = events(&started, "", accept).await?;
    assert_eq!(partial[1]["object"]["kind"], "PartialObjectMetadata");
    assert_eq!(partial[1]["object"]["metadata"]["name"], "b");
    Ok(())
}
