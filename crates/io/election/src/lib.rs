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
pub use leadership::{Leadership, LostLease, TermSender};
pub use timing::{Timing, TimingError};

use fairway_clock::ClockReading;
use kube::Client;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use candidate::{Candidate, LeaseResponse, NextAction};
use leadership::Term;
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
    let Some(term) = election.acquire(stop).await else { return Ok(None) };
    tracing::info!(identity = settings.identity, "leader elected");
    let (term, leadership) = Leadership::for_term(term);
    // Biased: a lost Lease must end the work before it is polled again.
    let done = tokio::select! {
        biased;
        () = election.renew(&term) => return Err(LostLease),
        done = work(leadership) => done,
    };
    drop(term);
    election.lease.release(&settings.identity).await;
    Ok(Some(done))
}

struct ElectionLoop {
    candidate: Candidate,
    lease: ClusterLease,
    timing: Timing,
    /// Clocks before the last request to hold the Lease. The Candidate counts with one of them.
    claimed_at: ClockReading,
}

impl ElectionLoop {
    fn new(client: Client, settings: &ElectionSettings) -> Self {
        let ElectionSettings { lease, identity, timing } = settings.clone();
        Self {
            candidate: Candidate::new(identity, timing, Instant::now()),
            lease: ClusterLease::new(client, lease, timing.retry),
            timing,
            claimed_at: ClockReading::now(),
        }
    }

    /// The current term; `None` if the Lease is not held.
    fn term(&self) -> Option<Term> {
        self.candidate.lease_deadline().map(|deadline| Term::new(self.claimed_at, deadline))
    }

    /// Sends requests until the Lease is acquired; returns the first term. A request in flight is not
    /// dropped: it could acquire a Lease that is never released.
    async fn acquire(&mut self, stop: &CancellationToken) -> Option<Term> {
        let mut other_holder = None;
        while !stop.is_cancelled() {
            match self.candidate.next(Instant::now()) {
                NextAction::Wait(until) => {
                    let _ = timeout_at(until, stop.cancelled()).await;
                }
                _ => self.step().await,
            }
            if let Some(term) = self.term() {
                return Some(term);
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
    async fn renew(&mut self, term: &TermSender) {
        while let Some(until) = self.candidate.lease_deadline() {
            // Before each request: a leader whose writes are refused must not renew the Lease.
            if term.is_over() {
                tracing::error!("lease expired while the host was suspended, or its clock was set");
                break;
            }
            if timeout_at(until, self.step()).await.is_err() {
                tracing::error!("cannot renew lease in time");
                break;
            }
            if self.candidate.is_restored() {
                tracing::error!(
                    "lease has a lower resourceVersion: etcd was restored; starting over"
                );
            }
            if let Some(holder) = self.candidate.other_holder() {
                tracing::error!(holder, "another replica took the lease");
            }
            term.renew(self.term());
        }
        term.renew(None);
    }

    async fn step(&mut self) {
        let sent_at = Instant::now();
        let mut claimed_at = None;
        let answer = match self.candidate.next(sent_at) {
            NextAction::Wait(until) => return sleep_until(until).await,
            NextAction::Read => self.lease.read().await,
            NextAction::Claim => {
                claimed_at = Some(ClockReading::now());
                self.lease.claim(self.candidate.identity(), self.timing.lease).await
            }
        };
        if let (LeaseResponse::Claimed(_), Some(claimed_at)) = (&answer, claimed_at) {
            self.claimed_at = claimed_at;
        }
        self.candidate.process(answer, sent_at, Instant::now());
    }
}
