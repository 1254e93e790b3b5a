//! Leader election by Lease: one replica writes, the others wait.
//!
//! [`lead`] waits for the Lease, runs the work of the leader, and renews the Lease meanwhile.
//! [`Leadership`] is the leader's permission to write. It ends before another replica can lead, and
//! [`Leadership::write`] drops a write at that moment. The state machine has no clock and no
//! network; its tests delay and lose messages.
//!
//! | module | content |
//! | --- | --- |
//! | `candidate` | the state machine: next request, and result of a response |
//! | `lease` | requests for the Lease |
//! | `leadership` | permission to write |
//! | `identity` | identity of a replica across restarts |
//! | `timing` | durations and their consistency |

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

use candidate::{Candidate, NextAction};
use lease::ClusterLease;

/// Namespace and name of a Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Settings of leader election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElectionSettings {
    /// The Lease of the leader.
    pub lease: LeaseName,
    /// Identity of this candidate in the Lease.
    pub identity: String,
    /// Durations.
    pub timing: Timing,
}

/// Waits for the Lease, runs `work` as the leader, and releases the Lease.
///
/// Returns `None` if `stop` is cancelled before this process leads. After that, `work` must end by
/// itself, and the Lease is renewed until it does. If the Lease is lost, `work` is dropped, and all
/// clones of its [`Leadership`] end.
pub async fn lead<T>(
    client: Client,
    settings: &ElectionSettings,
    stop: &CancellationToken,
    work: impl AsyncFnOnce(Leadership) -> T,
) -> Result<Option<T>, LostLease> {
    let mut election = ElectionLoop::new(client, settings);
    let Some(lease_deadline) = election.acquire(stop).await else { return Ok(None) };
    tracing::info!(identity = settings.identity, "leader elected");
    let (lease_deadline, leadership) = Leadership::until(lease_deadline);
    // Biased: a lost Lease must end the work before it is polled again.
    let done = tokio::select! {
        biased;
        () = election.renew(&lease_deadline) => return Err(LostLease),
        done = work(leadership) => done,
    };
    drop(lease_deadline);
    election.lease.release(&settings.identity).await;
    Ok(Some(done))
}

struct ElectionLoop {
    candidate: Candidate,
    lease: ClusterLease,
    timing: Timing,
}

impl ElectionLoop {
    fn new(client: Client, settings: &ElectionSettings) -> Self {
        let ElectionSettings { lease, identity, timing } = settings.clone();
        Self {
            candidate: Candidate::new(identity, timing, Instant::now()),
            lease: ClusterLease::new(client, lease, timing.retry),
            timing,
        }
    }

    /// Sends requests until the Lease is acquired; returns the deadline of leadership. A request in
    /// flight is not dropped: it could acquire a Lease that is never released.
    async fn acquire(&mut self, stop: &CancellationToken) -> Option<Instant> {
        let mut other_holder = None;
        while !stop.is_cancelled() {
            match self.candidate.next(Instant::now()) {
                NextAction::Wait(until) => {
                    let _ = timeout_at(until, stop.cancelled()).await;
                }
                _ => self.step().await,
            }
            if let Some(lease_deadline) = self.candidate.lease_deadline() {
                return Some(lease_deadline);
            }
            let holder = self.candidate.other_holder();
            if holder != other_holder.as_deref() {
                other_holder = holder.map(str::to_owned);
                tracing::info!(holder = other_holder, "waiting for lease");
            }
        }
        None
    }

    /// Renews the Lease until it is lost.
    async fn renew(&mut self, lease_deadline: &watch::Sender<Option<Instant>>) {
        while let Some(until) = self.candidate.lease_deadline() {
            if timeout_at(until, self.step()).await.is_err() {
                tracing::error!("cannot renew lease in time");
                break;
            }
            if let Some(holder) = self.candidate.other_holder() {
                tracing::error!(holder, "another replica took the lease");
            }
            lease_deadline.send_replace(self.candidate.lease_deadline());
        }
        lease_deadline.send_replace(None);
    }

    async fn step(&mut self) {
        let sent_at = Instant::now();
        let answer = match self.candidate.next(sent_at) {
            NextAction::Wait(until) => return sleep_until(until).await,
            NextAction::Read => self.lease.read().await,
            NextAction::Claim => {
                self.lease.claim(self.candidate.identity(), self.timing.lease).await
            }
        };
        self.candidate.process(answer, sent_at, Instant::now());
    }
}
