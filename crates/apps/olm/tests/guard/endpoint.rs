//! The endpoints of a guard under floods of connections.

use anyhow::Result;
use fairway_testkit::ConnectionFlood;
use tokio::net::TcpListener;

use crate::support::{Platform, http_client, up_to};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flood_of_idle_connections_does_not_silence_the_webhook() -> Result<()> {
    let platform = Platform::begin(Some("4.7.2")).await?;
    // The kernel does not reuse a port that soon.
    let probes = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
    let mut settings = platform.settings()?;
    settings.probes = Some(probes);
    let guard = platform.start(settings)?;
    platform.until_refused("4.6").await?;
    let flood = ConnectionFlood::start(platform.address()?, 500).await?;
    let prober = http_client().build()?;
    flood
        .withstand(async || {
            // The API server ignores a webhook that does not respond in time.
            let installed = platform.install_dry_run("too-old", up_to("4.6")).await;
            assert!(installed.is_err(), "the webhook did not respond");
            let probe = prober.get(format!("http://{probes}/readyz")).send().await?;
            assert_eq!(probe.status(), 200);
            Ok(())
        })
        .await?;
    // Evicted connections were opened again, so the flood has lasted.
    assert!(flood.opened() > 500);
    drop(flood);
    guard.stop().await
}
