use std::time::Duration;

use anyhow::Result;
use fairway_operator::election::Timing;
use fairway_sandbox::faults::Fault;
use fairway_testkit::wait;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tokio::time::Instant;

use super::World;
use crate::support::available;

const TIMING: Timing = Timing {
    lease: Duration::from_secs(4),
    renew: Duration::from_secs(3),
    retry: Duration::from_millis(300),
};

async fn world() -> Result<World> {
    let mut world = World::new().await?;
    world.operated.settings.election.timing = TIMING;
    world.operated.start();
    world.settled().await?;
    Ok(world)
}

/// Writes another holder into the Lease.
async fn steal(world: &World, seconds: u32, renewed: &str) -> Result<()> {
    let lease = &world.operated.settings.election.lease;
    let leases: Api<Lease> = Api::namespaced(world.operated.cluster.client(), &lease.namespace);
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
    let mut world = world().await?;
    let operated = &world.operated;
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
    steal(&world, 12, "2026-01-01T00:00:00.000000Z").await?;
    operated.reports("fairway_operator_leader", 0.0).await?;
    operated.patch_spec(accepted).await?;
    assert_eq!(operated.status_writes(mark)?, 0, "only the leader writes");

    operated.reports("fairway_operator_leader", 1.0).await?;
    let is_accepted = |status: &_| available(status).contains(&"5.1.2");
    operated.status("the acceptance to count", is_accepted).await?;
    assert!(operated.status_writes(mark)? > 0);
    world.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn election_ignores_clocks_of_other_replicas() -> Result<()> {
    let mut world = world().await?;
    for time in ["1999-12-31T23:59:59.000000Z", "2099-12-31T23:59:59.000000Z"] {
        let begin = Instant::now();
        steal(&world, 5, time).await?;
        world.operated.reports("fairway_operator_leader", 0.0).await?;
        world.operated.reports("fairway_operator_leader", 1.0).await?;
        let waited = begin.elapsed();
        assert!(waited >= Duration::from_secs(5), "{time}: it led again after {waited:?}");
        world.settled().await?;
    }
    world.operated.stop().await
}
