//! Two guards, of which one ends and comes back.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use fairway_election::{ElectionSettings, Timing};
use fairway_olm::{CertificateSettings, Reach, Settings};
use fairway_testkit::wait;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::balancer::Balancer;
use crate::support::{Platform, Running, start_on, up_to};

/// How long an API server waits for a guard. Who was not answered after that was not answered
/// because the machine is slow, and not because nobody was there.
const PATIENCE: Duration = Duration::from_secs(3);

/// More than it takes until everybody has heard that a guard ends.
const FAREWELL: Duration = Duration::from_secs(6);

/// Where a guard is one of two.
struct Pair {
    platform: Arc<Platform>,
    balancer: Balancer,
}

impl Pair {
    async fn start(&mut self, identity: &str, lifetime: Duration) -> Result<Running> {
        let socket = TcpListener::bind("127.0.0.1:0").await?;
        let address = socket.local_addr()?;
        let settings = self.platform.settings()?;
        let timing = Timing {
            lease: Duration::from_mins(2),
            renew: Duration::from_mins(1),
            retry: Duration::from_secs(1),
        };
        let identity = identity.to_owned();
        let settings = Settings {
            listen: address,
            reach: Reach::Url(format!("https://{}/validate", self.balancer.address).parse()?),
            certificate: CertificateSettings { lifetime, ..settings.certificate },
            election: ElectionSettings { identity, timing, ..settings.election },
            farewell: FAREWELL,
            ..settings
        };
        let guard = start_on(socket, self.platform.client(), settings);
        self.balancer.add(address).await?;
        Ok(guard)
    }
}

/// Tries to install what may be installed, and what may not, until it is stopped.
async fn try_all_the_time(platform: Arc<Platform>, stop: CancellationToken) -> Result<usize> {
    let mut tries = 0;
    while !stop.is_cancelled() {
        platform.rehearse("fine", up_to("4.7")).await.map_err(anyhow::Error::msg)?;
        let begun = Instant::now();
        let told = platform.rehearse("too-old", up_to("4.6")).await;
        if begun.elapsed() < PATIENCE {
            let told = told.err().unwrap_or_default();
            ensure!(
                told.contains("denied the request"),
                "it slipped through after {tries}: {told}"
            );
            tries += 1;
        }
    }
    Ok(tries)
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_slips_through_while_one_of_two_restarts() -> Result<()> {
    let platform = Arc::new(Platform::begin(Some("4.7.2")).await?);
    let mut pair = Pair { platform: Arc::clone(&platform), balancer: Balancer::start().await? };
    let first = pair.start("first", Duration::from_hours(1)).await?;
    let second = pair.start("second", Duration::from_hours(1)).await?;
    platform.until_refused("4.6").await?;
    let old = platform.authorities().await?;
    let stop = CancellationToken::new();
    let tries = tokio::spawn(try_all_the_time(Arc::clone(&platform), stop.clone()));

    // By their measure, the certificate is nearly over: whoever leads renews it.
    let lifetime = Duration::from_hours(10);
    first.stop().await?;
    let first = pair.start("first", lifetime).await?;
    second.stop().await?;
    let second = pair.start("second", lifetime).await?;
    wait::until("the certificate to be renewed", || async {
        let now = platform.authorities().await?;
        Ok((now.len() == 1 && now != old).then_some(()))
    })
    .await?;
    stop.cancel();
    let tries = tries.await??;
    ensure!(tries >= 10, "only {tries} tries tell nothing");
    tokio::try_join!(first.stop(), second.stop())?;
    Ok(())
}
