//! Failures of the API server, of `ClusterVersion` and of the lease.

use std::time::Duration;

use anyhow::Result;
use fairway_api::{CLUSTER_VERSION_NAME, ConditionStatus};
use fairway_operator::election::Timing;
use fairway_sandbox::faults::Fault;
use fairway_sandbox::sandbox::Sandbox;
use fairway_testkit::wait;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{TestSetup, is_complete, is_settled};
use crate::support::{available, reason, recommended};

/// The sandbox of the cluster: only a sandbox can fail on demand.
fn sandbox(setup: &TestSetup) -> Option<&Sandbox> {
    setup.operated.cluster.fault_injection()
}

/// Accepts a risk, and waits until the operator has evaluated it.
async fn is_followed(setup: &TestSetup) -> Result<()> {
    let accepted = json!({"desiredUpdate": {"acceptRisks": [{"name": "RiskOne"}]}});
    setup.operated.patch_spec(accepted).await?;
    let is_accepted = |status: &_| available(status).contains(&"5.1.2");
    setup.operated.status("the acceptance to count", is_accepted).await?;
    setup.operated.patch_spec(json!({"desiredUpdate": null})).await?;
    setup.settled().await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_after_api_server_restart_in_the_sandbox_watches_again() -> Result<()> {
    let mut setup = TestSetup::new().await?;
    setup.operated.start();
    setup.settled().await?;
    let Some(sandbox) = sandbox(&setup) else { return Ok(()) };
    sandbox.restart();
    is_followed(&setup).await?;
    setup.operated.reports("fairway_operator_leader", 1.0).await?;
    setup.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_cut_in_the_sandbox_are_restarted() -> Result<()> {
    let mut setup = TestSetup::new().await?;
    setup.operated.start();
    setup.settled().await?;
    let Some(sandbox) = sandbox(&setup) else { return Ok(()) };
    sandbox.faults().add(Fault::cut_watch(0).resource("clusterversions").times(2));
    sandbox.faults().add(Fault::cut_watch(1).resource("clusterversions").times(2));
    sandbox.restart();
    is_followed(&setup).await?;
    setup.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn status_write_that_fails_in_the_sandbox_is_retried() -> Result<()> {
    let mut setup = TestSetup::new().await?;
    setup.operated.start();
    setup.settled().await?;
    let Some(sandbox) = sandbox(&setup) else { return Ok(()) };
    for (fault, outcome) in [
        (Fault::refuse(500), "failed"),
        (Fault::drop_connection(), "failed"),
        // The write succeeded, but the response was lost.
        (Fault::refuse_after(500), "failed"),
        (Fault::refuse(409), "conflict"),
    ] {
        let count = format!("fairway_operator_api_writes_total{{outcome=\"{outcome}\"}}");
        let before = setup.operated.sample(&count).await?;
        let writes = fault.verb("update").resource("clusterversions/status");
        sandbox.faults().add(writes.times(1));
        is_followed(&setup).await?;
        assert!(sandbox.faults().is_empty(), "{outcome}: it did not happen");
        setup.operated.reports(&count, before + 1.0).await?;
    }
    setup.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_version_created_again_gets_a_status() -> Result<()> {
    let mut setup = TestSetup::new().await?;
    setup.operated.start();
    for name in ["A", "B", "C"] {
        let accepted = json!({"desiredUpdate": {"acceptRisks": [{"name": name}]}});
        setup.operated.patch_spec(accepted).await?;
    }
    setup.settled().await?;
    let api = setup.operated.cluster_version();
    let before = api.get(CLUSTER_VERSION_NAME).await?;
    api.delete(CLUSTER_VERSION_NAME, &DeleteParams::default()).await?;
    let is_reported = |text: &str| !text.contains("\ncluster_version_available_updates{");
    setup.operated.metrics("the missing ClusterVersion to be reported", is_reported).await?;

    let metadata = ObjectMeta { name: Some(before.name_any()), ..ObjectMeta::default() };
    let mut again = before.clone();
    (again.metadata, again.status) = (metadata, None);
    api.create(&PostParams::default(), &again).await?;
    let is_seen = |status: &_| is_settled(status) && status.observed_generation == 1;
    setup.operated.status("the new object to be seen", is_seen).await?;
    setup.operated.reports("cluster_version_available_updates", 2.0).await?;
    setup.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn status_changed_by_another_client_is_corrected() -> Result<()> {
    let mut setup = TestSetup::new().await?;
    setup.operated.start();
    // No further write is expected.
    let is_whole = |status: &_| is_settled(status) && is_complete(status);
    let before = setup.operated.status("the release to be complete", is_whole).await?;
    let writes = r#"fairway_operator_api_writes_total{outcome="written"}"#;
    let written = setup.operated.sample(writes).await?;
    let foreign =
        json!({"status": {"availableUpdates": [], "conditionalUpdates": [], "conditions": []}});
    let api = setup.operated.cluster_version();
    let parameters = PatchParams::default();
    api.patch_status(CLUSTER_VERSION_NAME, &parameters, &Patch::Merge(foreign)).await?;
    let status = setup.settled().await?;
    assert_eq!(status.available_updates, before.available_updates);
    assert_eq!(status.conditional_updates, before.conditional_updates, "times are remembered, too");
    setup.operated.reports(writes, written + 1.0).await?;
    setup.operated.stop().await
}

async fn annotate(setup: &TestSetup, value: &Value) -> Result<()> {
    let patch = json!({"metadata": {"annotations": {"fairway.dev/accepted-risks": value}}});
    let api = setup.operated.cluster_version();
    api.patch(CLUSTER_VERSION_NAME, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn oversized_spec_and_annotation_accept_no_risk() -> Result<()> {
    let mut setup = TestSetup::new().await?;
    setup.operated.start();
    setup.settled().await?;
    // The maximum size of the API.
    annotate(&setup, &json!("[".repeat(200 << 10))).await?;
    let mut names: Vec<_> = (0..999).map(|number| json!({"name": format!("R{number}")})).collect();
    names.push(json!({"name": "RiskOne"}));
    setup.operated.patch_spec(json!({"desiredUpdate": {"acceptRisks": names}})).await?;
    let generation = setup.operated.cluster_version().get(CLUSTER_VERSION_NAME).await?;
    let generation = generation.metadata.generation.unwrap_or_default();
    let is_seen = |status: &_| is_settled(status) && status.observed_generation == generation;
    let status = setup.operated.status("the harm to be seen", is_seen).await?;
    let condition = recommended(&status, "5.1.2").unwrap();
    assert_eq!(
        condition.status,
        ConditionStatus::False,
        "terms that cannot be read accept nothing"
    );
    assert!(condition.message.contains("cannot read"), "{}", condition.message);
    assert!(serde_json::to_vec(&status)?.len() < 64 << 10);

    annotate(&setup, &Value::Null).await?;
    let is_accepted = |status: &_| available(status).contains(&"5.1.2");
    setup.operated.status("the acceptance to count", is_accepted).await?;

    setup.operated.patch_spec(json!({"channel": "no such channel", "upstream": "ftp://x"})).await?;
    let is_invalid = |status: &_| reason(status, "Invalid") == "InvalidClusterVersion";
    setup.operated.status("the spec to be invalid", is_invalid).await?;
    let spec = json!({"channel": crate::support::CHANNEL, "upstream": setup.updates.url(), "desiredUpdate": null});
    setup.operated.patch_spec(spec).await?;
    let is_valid = |status: &_| is_settled(status) && reason(status, "Invalid").is_empty();
    setup.operated.status("the spec to be valid", is_valid).await?;
    setup.operated.stop().await
}

const TIMING: Timing = Timing {
    lease: Duration::from_secs(4),
    renew: Duration::from_secs(3),
    retry: Duration::from_millis(300),
};

async fn setup() -> Result<TestSetup> {
    let mut setup = TestSetup::new().await?;
    setup.operated.settings.election.timing = TIMING;
    setup.operated.start();
    setup.settled().await?;
    Ok(setup)
}

/// Writes another holder into the Lease.
async fn steal(setup: &TestSetup, seconds: u32, renewed: &str) -> Result<()> {
    let lease = &setup.operated.settings.election.lease;
    let leases: Api<Lease> = Api::namespaced(setup.operated.cluster.client(), &lease.namespace);
    let stolen = json!({"spec": {
        "holderIdentity": "a rival",
        "leaseDurationSeconds": seconds,
        "renewTime": renewed,
    }});
    leases.patch(&lease.name, &PatchParams::default(), &Patch::Merge(stolen)).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn status_write_stops_when_lease_is_lost() -> Result<()> {
    let mut setup = setup().await?;
    let operated = &setup.operated;
    // The write takes longer than the Lease is held.
    if let Some(sandbox) = operated.cluster.as_sandbox() {
        let slow = Fault::delay(Duration::from_secs(8));
        sandbox.faults().add(slow.verb("update").resource("clusterversions/status").times(1));
    }
    let accepted = json!({"desiredUpdate": {"acceptRisks": [{"name": "RiskOne"}]}});
    if let Some(sandbox) = operated.cluster.as_sandbox() {
        operated.patch_spec(accepted.clone()).await?;
        let begun = async || Ok(sandbox.faults().is_empty().then_some(()));
        wait::until("the write to begin", begun).await?;
    }
    // From here: an earlier write may be in progress until this one starts.
    let mark = operated.cluster.audit_log()?.mark()?;
    steal(&setup, 12, "2026-01-01T00:00:00.000000Z").await?;
    operated.reports("fairway_operator_leader", 0.0).await?;
    operated.patch_spec(accepted).await?;
    assert_eq!(operated.status_writes(mark)?, 0, "only the leader writes");

    operated.reports("fairway_operator_leader", 1.0).await?;
    let is_accepted = |status: &_| available(status).contains(&"5.1.2");
    operated.status("the acceptance to count", is_accepted).await?;
    assert!(operated.status_writes(mark)? > 0);
    setup.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn election_ignores_clocks_of_other_replicas() -> Result<()> {
    let mut setup = setup().await?;
    for time in ["1999-12-31T23:59:59.000000Z", "2099-12-31T23:59:59.000000Z"] {
        let begin = Instant::now();
        steal(&setup, 5, time).await?;
        setup.operated.reports("fairway_operator_leader", 0.0).await?;
        setup.operated.reports("fairway_operator_leader", 1.0).await?;
        let waited = begin.elapsed();
        assert!(waited >= Duration::from_secs(5), "{time}: it led again after {waited:?}");
        setup.settled().await?;
    }
    setup.operated.stop().await
}
