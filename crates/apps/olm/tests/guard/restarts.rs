//! Two replicas of the guard, one of which restarts.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use fairway_election::{ElectionSettings, Timing};
use fairway_olm::{CertificateSettings, Settings, WebhookAddress};
use fairway_testkit::wait;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::balancer::Balancer;
use crate::support::{Platform, Running, start_on, up_to};

/// Timeout of the webhook. A slower response is due to a slow host, not to a missing guard.
const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(3);

/// Longer than the load balancer uses a guard that ends.
const SHUTDOWN_GRACE_PERIOD: Duration = Duration::from_secs(6);

/// Two replicas behind a load balancer.
struct Pair {
    platform: Arc<Platform>,
    balancer: Balancer,
}

impl Pair {
    async fn start(&mut self, identity: &str, lifetime: Duration) -> Result<Running> {
        let socket = TcpListener::bind("127.0.0.1:0").await?;
        let address = socket.local_addr()?;
        // The kernel does not reuse a port that soon.
        let probes = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
        let settings = self.platform.settings()?;
        let timing = Timing {
            lease: Duration::from_mins(2),
            renew: Duration::from_mins(1),
            retry: Duration::from_secs(1),
        };
        let identity = identity.to_owned();
        let settings = Settings {
            listen: address,
            probes: Some(probes),
            reach: WebhookAddress::Url(
                format!("https://{}/validate", self.balancer.address).parse()?,
            ),
            certificate: CertificateSettings { lifetime, ..settings.certificate },
            election: ElectionSettings { identity, timing, ..settings.election },
            shutdown_grace_period: SHUTDOWN_GRACE_PERIOD,
            ..settings
        };
        let guard = start_on(socket, self.platform.client(), settings);
        self.balancer.add(address, probes).await?;
        Ok(guard)
    }
}

/// Sends dry runs of allowed and refused installations until it is stopped.
async fn install_repeatedly(platform: Arc<Platform>, stop: CancellationToken) -> Result<usize> {
    let mut tries = 0;
    while !stop.is_cancelled() {
        platform.install_dry_run("fine", up_to("4.7")).await.map_err(anyhow::Error::msg)?;
        let begun = Instant::now();
        let refused = platform.install_dry_run("too-old", up_to("4.6")).await;
        if begun.elapsed() < WEBHOOK_TIMEOUT {
            let message = refused.err().unwrap_or_default();
            ensure!(message.contains("denied the request"), "not refused after {tries}: {message}");
            tries += 1;
        }
    }
    Ok(tries)
}

#[tokio::test(flavor = "multi_thread")]
async fn install_while_one_of_two_guards_restarts_is_refused() -> Result<()> {
    let platform = Arc::new(Platform::begin(Some("4.7.2")).await?);
    let mut pair = Pair { platform: Arc::clone(&platform), balancer: Balancer::start().await? };
    let first = pair.start("first", Duration::from_hours(1)).await?;
    let second = pair.start("second", Duration::from_hours(1)).await?;
    platform.until_refused("4.6").await?;
    let old = platform.ca_certificates().await?;
    let stop = CancellationToken::new();
    let tries = tokio::spawn(install_repeatedly(Arc::clone(&platform), stop.clone()));

    // With this lifetime, the certificate is due for renewal by the leader.
    let lifetime = Duration::from_hours(10);
    first.stop().await?;
    let first = pair.start("first", lifetime).await?;
    second.stop().await?;
    let second = pair.start("second", lifetime).await?;
    wait::until("the certificate to be renewed", || async {
        let now = platform.ca_certificates().await?;
        Ok((now.len() == 1 && now != old).then_some(()))
    })
    .await?;
    stop.cancel();
    let tries = tries.await??;
    ensure!(tries >= 10, "only {tries} attempts are too few");
    tokio::try_join!(first.stop(), second.stop())?;
    Ok(())
}
