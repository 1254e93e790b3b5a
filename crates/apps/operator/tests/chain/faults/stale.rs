//! Requests that the API server accepts and never answers, and stale watches.

use std::time::Duration;

use anyhow::Result;
use fairway_api::Conditions as _;
use fairway_api::cluster_version::ClusterVersionStatus;
use fairway_sandbox::faults::Fault;
use serde_json::json;

use super::TestSetup;
use crate::support::{available, reason};

/// Shorter than that of the operator, so that tests are short.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread")]
async fn requests_without_response_in_the_sandbox_are_retried() -> Result<()> {
    let mut setup = TestSetup::new().await?;
    let Some(sandbox) = setup.operated.cluster.fault_injection() else { return Ok(()) };
    let faults = sandbox.faults().clone();
    let client = setup.operated.cluster.client_with_read_timeout("hung", READ_TIMEOUT).await?;
    setup.operated.client = client;
    let of_operator = |fault: Fault| fault.resource("clusterversions").user_agent("hung").times(1);
    faults.add(of_operator(Fault::hang().verb("list")));
    setup.operated.start();
    setup.settled().await?;
    assert!(faults.is_empty(), "the list did not hang");

    for (fault, spec, expected) in [
        (Fault::hang().verb("watch"), json!([{"name": "RiskOne"}]), true),
        (Fault::hang_watch(0), json!(null), false),
    ] {
        faults.add(of_operator(fault));
        let Some(sandbox) = setup.operated.cluster.as_sandbox() else { return Ok(()) };
        sandbox.restart();
        let taken = async || Ok(faults.is_empty().then_some(()));
        fairway_testkit::wait::until("the watch to hang", taken).await?;
        setup.operated.patch_spec(json!({"desiredUpdate": {"acceptRisks": spec}})).await?;
        let is_seen = |status: &_| available(status).contains(&"5.1.2") == expected;
        setup.operated.status("the change to be seen", is_seen).await?;
    }
    setup.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn stale_cluster_operators_in_the_sandbox_are_unknown() -> Result<()> {
    let mut setup = TestSetup::new().await?;
    setup.operated.settings.max_watch_age = Duration::from_secs(15);
    setup.operated.start();
    setup.settled().await?;
    let Some(sandbox) = setup.operated.cluster.fault_injection() else { return Ok(()) };
    for verb in ["list", "watch"] {
        sandbox.faults().add(Fault::refuse(403).verb(verb).resource("clusteroperators"));
    }
    sandbox.restart();
    let is_unknown =
        |status: &_| reason(status, "Upgradeable") == "ClusterOperatorUpgradeableUnknown";
    let status = setup.operated.status("the operators to be unknown", is_unknown).await?;
    let message = status.conditions.find("Upgradeable").and_then(|it| it.message.clone());
    let message = message.unwrap_or_default();
    assert!(message.contains("the watch of clusteroperators is stale since "), "{message}");
    assert!(message.contains("forbidden by a fault"), "{message}");
    let stale = "fairway_operator_watch_stale{watch=\"clusteroperators\"}";
    setup.operated.reports(stale, 1.0).await?;

    sandbox.faults().clear();
    setup.operated.reports(stale, 0.0).await?;
    // Idle watches are stale by now, because the sandbox renews them less often.
    let is_known = |status: &ClusterVersionStatus| {
        let upgradeable = status.conditions.find("Upgradeable");
        let message = upgradeable.and_then(|it| it.message.as_deref()).unwrap_or_default();
        !message.contains("clusteroperators")
    };
    setup.operated.status("the operators to be known", is_known).await?;
    setup.operated.stop().await
}
