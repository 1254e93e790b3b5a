use anyhow::Result;
use fairway_sandbox::faults::Fault;
use fairway_sandbox::sandbox::Sandbox;
use serde_json::json;

use super::World;
use crate::support::available;

/// The sandbox of the cluster: only a sandbox can fail on demand.
fn sandbox(world: &World) -> Option<&Sandbox> {
    world.operated.cluster.failing_on_demand()
}

/// Accepts a risk, and waits until the operator has evaluated it.
async fn is_followed(world: &World) -> Result<()> {
    let accepted = json!({"desiredUpdate": {"acceptRisks": [{"name": "RiskOne"}]}});
    world.operated.patch_spec(accepted).await?;
    let is_accepted = |status: &_| available(status).contains(&"5.1.2");
    world.operated.status("the acceptance to count", is_accepted).await?;
    world.operated.patch_spec(json!({"desiredUpdate": null})).await?;
    world.settled().await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_after_api_server_restart_in_the_sandbox_watches_again() -> Result<()> {
    let mut world = World::new().await?;
    world.operated.start();
    world.settled().await?;
    let Some(sandbox) = sandbox(&world) else { return Ok(()) };
    sandbox.restart();
    is_followed(&world).await?;
    world.operated.reports("fairway_operator_leader", 1.0).await?;
    world.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_cut_in_the_sandbox_are_restarted() -> Result<()> {
    let mut world = World::new().await?;
    world.operated.start();
    world.settled().await?;
    let Some(sandbox) = sandbox(&world) else { return Ok(()) };
    sandbox.faults().add(Fault::cut_watch(0).resource("clusterversions").times(2));
    sandbox.faults().add(Fault::cut_watch(1).resource("clusterversions").times(2));
    sandbox.restart();
    is_followed(&world).await?;
    world.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn status_write_that_fails_in_the_sandbox_is_retried() -> Result<()> {
    let mut world = World::new().await?;
    world.operated.start();
    world.settled().await?;
    let Some(sandbox) = sandbox(&world) else { return Ok(()) };
    for (fault, outcome) in [
        (Fault::refuse(500), "failed"),
        (Fault::drop_connection(), "failed"),
        // The write succeeded, but the response was lost.
        (Fault::refuse_after(500), "failed"),
        (Fault::refuse(409), "conflict"),
    ] {
        let count = format!("fairway_operator_api_writes_total{{outcome=\"{outcome}\"}}");
        let before = world.operated.sample(&count).await?;
        let writes = fault.verb("update").resource("clusterversions/status");
        sandbox.faults().add(writes.times(1));
        is_followed(&world).await?;
        assert!(sandbox.faults().is_empty(), "{outcome}: it did not happen");
        world.operated.reports(&count, before + 1.0).await?;
    }
    world.operated.stop().await
}
