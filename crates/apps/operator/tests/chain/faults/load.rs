//! An API server under load: refused and slow requests do not cause a hot loop.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use fairway_sandbox::faults::Fault;
use fairway_testkit::AuditEvent;
use serde_json::json;

use super::TestSetup;
use crate::support::available;

/// `User-Agent` of the operator under test.
const OPERATOR: &str = "loaded";

/// Duration of each kind of load.
const LOAD: Duration = Duration::from_secs(10);

/// Requests of one kind in that time: API Priority and Fairness asks for a second between them.
const MAX_REQUESTS: usize = 16;

/// Requests by verb, path and selector, without those that end a watch.
fn requests(events: &[AuditEvent]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for event in events.iter().filter(|event| event.user_agent.contains(OPERATOR)) {
        if event.verb == "watch" && event.stage == "ResponseComplete" && is_success(event) {
            continue;
        }
        let (path, query) = event.request_uri.split_once('?').unwrap_or((&event.request_uri, ""));
        let selector = query.split('&').find(|it| it.starts_with("fieldSelector")).unwrap_or("");
        *counts.entry(format!("{} {path} {selector}", event.verb)).or_default() += 1;
    }
    counts
}

fn is_success(event: &AuditEvent) -> bool {
    event.response_status.as_ref().is_some_and(|response| response.code < 300)
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_and_slow_requests_in_the_sandbox_cause_no_hot_loop() -> Result<()> {
    let mut setup = TestSetup::new().await?;
    setup.operated.client = setup.operated.cluster.client_named(OPERATOR).await?;
    setup.operated.start();
    setup.settled().await?;
    let Some(sandbox) = setup.operated.cluster.fault_injection() else { return Ok(()) };
    let mut accepts = json!([{"name": "RiskOne"}]);
    for fault in [
        Fault::refuse(429),
        Fault::refuse(500),
        Fault::refuse(503),
        Fault::delay(Duration::from_secs(2)),
    ] {
        // Not the Lease, which an operator loses after a while. Its reads and writes have a
        // simulation of their own.
        for verb in ["list", "watch", "patch", "create"] {
            sandbox.faults().add(fault.clone().verb(verb).user_agent(OPERATOR));
        }
        let status = fault.clone().verb("update").resource("clusterversions/status");
        sandbox.faults().add(status.user_agent(OPERATOR));
        let log = setup.operated.cluster.audit_log()?;
        let mark = log.mark()?;
        sandbox.restart();
        setup.operated.patch_spec(json!({"desiredUpdate": {"acceptRisks": accepts}})).await?;
        fairway_clock::pause(LOAD).await;
        let counts = requests(&log.since(mark)?);
        assert!(!counts.is_empty(), "{fault:?}: no request");
        let most = counts.iter().max_by_key(|(_, count)| **count);
        assert!(most.is_none_or(|(_, count)| *count <= MAX_REQUESTS), "{fault:?}: {most:?}");
        sandbox.faults().clear();

        let expected = !accepts.is_null();
        let is_seen = |status: &_| available(status).contains(&"5.1.2") == expected;
        setup.operated.status("the change to be seen", is_seen).await?;
        accepts = if expected { json!(null) } else { json!([{"name": "RiskOne"}]) };
    }
    setup.operated.stop().await
}
