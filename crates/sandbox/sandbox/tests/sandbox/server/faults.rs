//! Injected faults, as clients see them.

use std::time::Duration;

use anyhow::Result;
use fairway_sandbox::faults::Fault;
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, PostParams, WatchEvent, WatchParams};
use tokio::time::{Instant, timeout};

use super::raw::{self, request};
use super::{TestSandbox, secret, start};

fn secrets(test: &TestSandbox) -> Api<Secret> {
    Api::default_namespaced(test.client())
}

fn code<T>(response: kube::Result<T>) -> u16 {
    match response {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(_) => 0,
    }
}

#[tokio::test]
async fn refuse_applies_before_or_after_the_write() -> Result<()> {
    let test = start().await?;
    let (secrets, faults) = (secrets(&test), test.sandbox.faults());
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
async fn delay_delays_response() -> Result<()> {
    let test = start().await?;
    test.sandbox.faults().add(Fault::delay(Duration::from_millis(200)).resource("secrets"));
    let begin = Instant::now();
    secrets(&test).list(&kube::api::ListParams::default()).await?;
    assert!(begin.elapsed() >= Duration::from_millis(200));
    Ok(())
}

#[tokio::test]
async fn drop_connection_breaks_connection() -> Result<()> {
    let test = start().await?;
    test.sandbox.faults().add(Fault::drop_connection().times(1));
    let version = request("GET", "/version", &[], "");
    assert!(raw::send(&test.sandbox, &version).await.is_err());
    assert_eq!(raw::send(&test.sandbox, &version).await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn cut_watch_breaks_watch_after_events() -> Result<()> {
    let test = start().await?;
    let secrets = secrets(&test);
    for name in ["a", "b", "c"] {
        secrets.create(&PostParams::default(), &secret(name)).await?;
    }
    test.sandbox.faults().add(Fault::cut_watch(2));
    let mut events = secrets.watch(&WatchParams::default(), "0").await?.boxed();
    let mut names = Vec::new();
    while let Some(Ok(WatchEvent::Added(secret))) = events.next().await {
        names.extend(secret.metadata.name);
    }
    assert_eq!(names, ["a", "b"]);
    Ok(())
}

/// Longer than the sandbox takes for a response.
const SILENCE: Duration = Duration::from_millis(500);

#[tokio::test]
async fn hang_never_responds() -> Result<()> {
    let test = start().await?;
    let secrets = secrets(&test);
    test.sandbox.faults().add(Fault::hang().verb("list").resource("secrets").times(2));
    let list = || async { secrets.list(&kube::api::ListParams::default()).await };
    assert!(timeout(SILENCE, list()).await.is_err());
    // A restart breaks the connection of a request without a response.
    let restart = async {
        tokio::task::yield_now().await;
        while !test.sandbox.faults().is_empty() {
            tokio::task::yield_now().await;
        }
        test.sandbox.restart();
    };
    let (response, ()) = tokio::join!(list(), restart);
    assert_eq!(code(response), 0);
    assert_eq!(code(list().await), 200);
    Ok(())
}

#[tokio::test]
async fn hang_watch_sends_nothing_after_events() -> Result<()> {
    let test = start().await?;
    let secrets = secrets(&test);
    for name in ["a", "b", "c"] {
        secrets.create(&PostParams::default(), &secret(name)).await?;
    }
    test.sandbox.faults().add(Fault::hang_watch(2));
    // The shortest duration of a watch: its end does not arrive, either.
    let parameters = WatchParams::default().timeout(1);
    let mut events = secrets.watch(&parameters, "0").await?.boxed();
    let mut names = Vec::new();
    while let Ok(Some(event)) = timeout(SILENCE * 3, events.next()).await {
        let WatchEvent::Added(secret) = event? else { panic!("only secrets are added") };
        names.extend(secret.metadata.name);
    }
    assert_eq!(names, ["a", "b"]);
    assert!(timeout(SILENCE, events.next()).await.is_err(), "the connection is open");
    Ok(())
}

#[tokio::test]
async fn continued_applies_to_later_pages() -> Result<()> {
    let test = start().await?;
    let secrets = secrets(&test);
    for name in ["a", "b"] {
        secrets.create(&PostParams::default(), &secret(name)).await?;
    }
    test.sandbox.faults().add(Fault::refuse(410).verb("list").continued());
    let page = kube::api::ListParams::default().limit(1);
    let first = secrets.list(&page).await?;
    let token = first.metadata.continue_.unwrap_or_default();
    assert_eq!(code(secrets.list(&page.continue_token(&token)).await), 410);
    Ok(())
}

#[tokio::test]
async fn restart_breaks_watches_and_compacts_history() -> Result<()> {
    let test = start().await?;
    let secrets = secrets(&test);
    let first = secrets.create(&PostParams::default(), &secret("a")).await?;
    let version = first.metadata.resource_version.unwrap_or_default();
    let mut events = secrets.watch(&WatchParams::default(), &version).await?.boxed();
    secrets.create(&PostParams::default(), &secret("b")).await?;
    assert!(matches!(events.next().await, Some(Ok(WatchEvent::Added(_)))));
    test.sandbox.restart();
    assert!(!matches!(events.next().await, Some(Ok(_))));
    let mut events = secrets.watch(&WatchParams::default(), &version).await?.boxed();
    let Some(Ok(WatchEvent::Error(error))) = events.next().await else {
        panic!("the past is not forgotten");
    };
    assert_eq!(error.code, 410);
    Ok(())
}
