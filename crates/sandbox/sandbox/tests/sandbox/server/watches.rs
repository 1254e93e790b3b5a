//! Watches over HTTP.

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

use super::raw::{self, request};
use super::{secret, start};

/// The events of a watch of one second.
async fn events(test: &super::TestSandbox, query: &str, accept: &str) -> Result<Vec<Value>> {
    let path = format!("/api/v1/namespaces/default/secrets?watch=1&timeoutSeconds=1&{query}");
    let response =
        raw::send(&test.sandbox, &request("GET", &path, &[&format!("Accept: {accept}")], ""))
            .await?;
    anyhow::ensure!(response.status == 200, "{response:?}");
    let lines = response.body.lines().filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).context("not an event")).collect()
}

#[tokio::test]
async fn watch_starts_with_initial_events_and_marks_their_end() -> Result<()> {
    let test = start().await?;
    let secrets: Api<Secret> = Api::default_namespaced(test.client());
    secrets.create(&PostParams::default(), &secret("a")).await?;
    let json = "application/json";

    let plain = events(&test, "", json).await?;
    assert_eq!(plain.len(), 1);
    assert_eq!(plain[0]["type"], "ADDED");
    assert_eq!(plain[0]["object"]["kind"], "Secret");

    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let marked = events(&test, query, json).await?;
    let types: Vec<_> = marked.iter().map(|event| &event["type"]).collect();
    assert_eq!(types, ["ADDED", "BOOKMARK", "BOOKMARK"]);
    let annotations = &marked[1]["object"]["metadata"]["annotations"];
    assert_eq!(*annotations, json!({ "k8s.io/initial-events-end": "true" }));

    let named = events(&test, "fieldSelector=metadata.name%3Db", json).await?;
    assert_eq!(named, [] as [Value; 0]);
    Ok(())
}
