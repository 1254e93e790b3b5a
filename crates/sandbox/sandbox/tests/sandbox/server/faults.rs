//! Faults on demand, as clients see them.

use std::time::Duration;

use anyhow::Result;
use fairway_sandbox::faults::Fault;
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ObjectMeta, PostParams, WatchEvent, WatchParams};
use tokio::time::Instant;

use super::raw::{self, request};
use super::{Started, start};

fn secret(name: &str) -> Secret {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    Secret { metadata, ..Secret::default() }
}

fn secrets(started: &Started) -> Api<Secret> {
    Api::default_namespaced(started.client())
}

fn code<T>(answer: kube::Result<T>) -> u16 {
    match answer {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(_) => 0,
    }
}

#[tokio::test]
async fn a_request_is_refused_before_or_after_it_was_done() -> Result<()> {
    let started = start().await?;
    let (secrets, faults) = (secrets(&started), started.sandbox.faults());
    faults.add(Fault::refuse(500).verb("create").resource("secrets").times(2));
    for expected in [500, 500, 200] {
        assert_eq!(code(secrets.create(&PostParams::default(), &secret("a")).await), expected);
    }
    faults.add(Fault::refuse_after(503).verb("create").name("").times(1));
    assert_eq!(code(secrets.create(&PostParams::default(), &secret("b")).await), 503);
    assert_eq!(code(secrets.create(&PostParams::default(), &secret("b")).await), 409);
    assert!(faults.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_request_waits() -> Result<()> {
    let started = start().await?;
    started.sandbox.faults().add(Fault::delay(Duration::from_millis(200)).resource("secrets"));
    let begin = Instant::now();
    secrets(&started).list(&kube::api::ListParams::default()).await?;
    assert!(begin.elapsed() >= Duration::from_millis(200));
    Ok(())
}

#[tokio::test]
async fn a_connection_breaks() -> Result<()> {
    let started = start().await?;
    started.sandbox.faults().add(Fault::drop_connection().times(1));
    let version = request("GET", "/version", &[], "");
    assert!(raw::send(&started.sandbox, &version).await.is_err());
    assert_eq!(raw::send(&started.sandbox, &version).await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn a_watch_breaks_after_some_events() -> Result<()> {
    let started = start().await?;
    let secrets = secrets(&started);
    for name in ["a", "b", "c"] {
        secrets.create(&PostParams::default(), &secret(name)).await?;
    }
    started.sandbox.faults().add(Fault::cut_watch(2));
    let mut events = secrets.watch(&WatchParams::default(), "0").await?.boxed();
    let mut names = Vec::new();
    while let Some(Ok(WatchEvent::Added(secret))) = events.next().await {
        names.extend(secret.metadata.name);
    }
    assert_eq!(names, ["a", "b"]);
    Ok(())
}

#[tokio::test]
async fn a_restart_cuts_watches_and_forgets_the_past() -> Result<()> {
    let started = start().await?;
    let secrets = secrets(&started);
    let first = secrets.create(&PostParams::default(), &secret("a")).await?;
    let version = first.metadata.resource_version.unwrap_or_default();
    let mut events = secrets.watch(&WatchParams::default(), &version).await?.boxed();
    secrets.create(&PostParams::default(), &secret("b")).await?;
    assert!(matches!(events.next().await, Some(Ok(WatchEvent::Added(_)))));
    started.sandbox.restart();
    assert!(!matches!(events.next().await, Some(Ok(_))));
    let mut events = secrets.watch(&WatchParams::default(), &version).await?.boxed();
    let Some(Ok(WatchEvent::Error(error))) = events.next().await else {
        panic!("the past is not forgotten");
    };
    assert_eq!(error.code, 410);
    Ok(())
}
