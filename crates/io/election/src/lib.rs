//! Leader election by Lease: one operator writes, all others wait.
//!
//! `candidate` decides, `lease` asks the API server, and [`Leadership`] is what the leader gets:
//! the right to write, which ends with the lease at the latest.

mod candidate;
mod identity;
mod leadership;
mod lease;
mod timing;

pub use identity::Identity;
pub use leadership::{Leadership, LostLease};
pub use timing::{Timing, TimingError};

use kube::Client;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use candidate::{Candidate, Step};
use lease::ClusterLease;

/// Which lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseName {
    /// The namespace it is in.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// How an election is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElectionSettings {
    /// Which lease is held by whoever leads.
    pub lease: LeaseName,
    /// How this candidate is called in it.
    pub identity: String,
    /// How long everything takes.
    pub timing: Timing,
}

/// Waits until this process leads, works, and then releases the lease.
///
/// `None` is when it was stopped before it led. When it is stopped later, the work has to end by
/// itself: until then the lease is renewed. When the lease is lost, the work is dropped where it
/// stands, and its [`Leadership`] ends, wherever it was handed on to.
pub async fn lead<T>(
    client: Client,
    settings: &ElectionSettings,
    stop: &CancellationToken,
    work: impl AsyncFnOnce(Leadership) -> T,
) -> Result<Option<T>, LostLease> {
    let mut campaign = Campaign::new(client, settings);
    let Some(term) = campaign.win(stop).await else { return Ok(None) };
    tracing::info!(identity = settings.identity, "leader elected");
    let (term, leadership) = Leadership::until(term);
    let done = tokio::select! {
        biased;
        () = campaign.keep(&term) => return Err(LostLease),
        done = work(leadership) => done,
    };
    drop(term);
    campaign.lease.release(&settings.identity).await;
    Ok(Some(done))
}

struct Campaign {
    candidate: Candidate,
    lease: ClusterLease,
    timing: Timing,
}

impl Campaign {
    fn new(client: Client, settings: &ElectionSettings) -> Self {
        let ElectionSettings { lease, identity, timing } = settings.clone();
        Self {
            candidate: Candidate::new(identity, timing, Instant::now()),
            lease: ClusterLease::new(client, lease, timing.retry),
            timing,
        }
    }

    /// Asks until the lease is won; until when it is then held. A request that was begun is
    /// finished: it could win a lease that nobody would release.
    async fn win(&mut self, stop: &CancellationToken) -> Option<Instant> {
        let mut rival = None;
        while !stop.is_cancelled() {
            match self.candidate.next(Instant::now()) {
                Step::Wait(until) => {
                    let _ = timeout_at(until, stop.cancelled()).await;
                }
                _ => self.step().await,
            }
            if let Some(term) = self.candidate.term() {
                return Some(term);
            }
            let holder = self.candidate.rival();
            if holder != rival.as_deref() {
                rival = holder.map(str::to_owned);
                tracing::info!(holder = rival, "waiting for lease");
            }
        }
        None
    }

    /// Renews the lease until it is lost.
    async fn keep(&mut self, term: &watch::Sender<Option<Instant>>) {
        while let Some(until) = self.candidate.term() {
            if timeout_at(until, self.step()).await.is_err() {
                tracing::error!("cannot renew lease in time");
                break;
            }
            if let Some(holder) = self.candidate.rival() {
                tracing::error!(holder, "another replica took the lease");
            }
            term.send_replace(self.candidate.term());
        }
        term.send_replace(None);
    }

    async fn step(&mut self) {
        let asked = Instant::now();
        let answer = match self.candidate.next(asked) {
            Step::Wait(until) => return sleep_until(until).await,
            Step::Look => self.lease.look().await,
            Step::Claim => self.lease.claim(self.candidate.identity(), self.timing.lease).await,
        };
        self.candidate.learn(answer, asked, Instant::now());
    }
}
