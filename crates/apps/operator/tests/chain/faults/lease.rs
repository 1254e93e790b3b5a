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

/// Somebody else writes itself into the lease, for so many seconds.
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
async fn a_lease_lost_while_writing_stops_the_write() -> Result<()> {
    let mut world = world().await?;
    let operated = &world.operated;
    // A write takes longer than the lease is held.
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
    // Not before: an earlier write may still be under way until this one begins.
    let mark = operated.cluster.audit_log()?.mark()?;
    steal(&world, 12, "2026-01-01T00:00:00.000000Z").await?;
    operated.reports("fairway_operator_leader", 0.0).await?;
    operated.patch_spec(accepted).await?;
    assert_eq!(operated.status_writes(mark)?, 0, "nobody may write who does not lead");

    operated.reports("fairway_operator_leader", 1.0).await?;
    let is_accepted = |status: &_| available(status).contains(&"5.1.2");
    operated.status("the acceptance to count", is_accepted).await?;
    assert!(operated.status_writes(mark)? > 0);
    world.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn clocks_of_others_count_for_nothing() -> Result<()> {
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
