//! The state machine of leader election: the next request of a candidate, and its result.
//!
//! It trusts no other clock. A candidate records on its own clock when it saw the Lease change, and
//! takes over once that is longer ago than the lease duration. A leader counts from before its renew
//! request, and stops before another candidate can take over. Optimistic concurrency of the API server
//! lets only one of several concurrent writes succeed. client-go's `leaderelection` has the same rules.

use std::time::Duration;

use tokio::time::Instant;

use super::timing::Timing;

/// After a conflict, the next request follows after `retry` divided by this. Not at once: another
/// client that writes the Lease continuously would cause a busy loop.
const CONFLICT_RETRY_DIVISOR: u32 = 8;

/// The fields of a Lease that candidates need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeaseRecord {
    /// `resourceVersion` of the Lease.
    pub(super) revision: String,
    /// Holder; empty if the Lease is released.
    pub(super) holder: String,
    /// Lease duration, if it is set.
    pub(super) lasts: Option<Duration>,
}

/// Next action of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NextAction {
    /// Wait until then.
    Wait(Instant),
    /// Read the Lease.
    Read,
    /// Write the own identity over the last seen revision, or create the Lease.
    Claim,
}

/// Result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LeaseResponse {
    /// The Lease, or `None` if it does not exist.
    Seen(Option<LeaseRecord>),
    /// The write succeeded; the Lease afterwards.
    Claimed(LeaseRecord),
    /// Another client wrote the Lease first.
    Conflict,
    /// Unknown: no response, or an error.
    Failed,
}

/// A candidate for the Lease.
#[derive(Debug)]
pub(super) struct Candidate {
    identity: String,
    timing: Timing,
    seen: Option<SeenLease>,
    /// Time until which it leads, unless it renews before.
    lease_deadline: Option<Instant>,
    /// Time of the next request.
    due: Instant,
    /// The highest `resourceVersion` of the Lease.
    highest: Option<u64>,
    /// Whether the last response had a lower one.
    is_restored: bool,
}

/// The last seen Lease.
#[derive(Debug)]
struct SeenLease {
    record: Option<LeaseRecord>,
    /// Time at which this revision was first seen.
    since: Instant,
    /// Whether no later request failed, so that the revision can be overwritten.
    certain: bool,
}

impl Candidate {
    pub(super) fn new(identity: String, timing: Timing, now: Instant) -> Self {
        Self {
            identity,
            timing,
            seen: None,
            lease_deadline: None,
            due: now,
            highest: None,
            is_restored: false,
        }
    }

    pub(super) fn identity(&self) -> &str {
        &self.identity
    }

    /// Time until which it leads; `None` if it does not.
    pub(super) fn lease_deadline(&self) -> Option<Instant> {
        self.lease_deadline
    }

    /// Whether the API server has an earlier state than before: etcd was restored. Watches then continue
    /// at versions that the server does not have yet, and miss all changes until it reaches them. A
    /// leader stops, so that its work starts over with new lists.
    pub(super) fn is_restored(&self) -> bool {
        self.is_restored
    }

    /// The other holder of the Lease, as last seen.
    pub(super) fn other_holder(&self) -> Option<&str> {
        let holder = self.seen.as_ref()?.record.as_ref()?.holder.as_str();
        (!holder.is_empty() && holder != self.identity).then_some(holder)
    }

    /// The next action.
    pub(super) fn next(&self, now: Instant) -> NextAction {
        if now < self.due {
            return NextAction::Wait(self.due);
        }
        match &self.seen {
            Some(seen) if seen.certain && self.is_claimable(seen, now) => NextAction::Claim,
            _ => NextAction::Read,
        }
    }

    /// Processes the result of a request that was sent at `sent_at`.
    pub(super) fn process(&mut self, answer: LeaseResponse, sent_at: Instant, now: Instant) {
        if let LeaseResponse::Seen(Some(record)) | LeaseResponse::Claimed(record) = &answer {
            // API servers do not guarantee an order of versions, but all have one.
            let revision = record.revision.parse().ok();
            self.is_restored = revision.is_some() && revision < self.highest;
            self.highest = revision;
        }
        match answer {
            LeaseResponse::Seen(record) => self.process_lease(record, now),
            LeaseResponse::Claimed(record) => {
                self.seen = Some(SeenLease { record: Some(record), since: now, certain: true });
                self.lease_deadline = Some(sent_at + self.timing.renew);
                self.due = sent_at + self.timing.retry;
                self.stop_after_restore();
            }
            LeaseResponse::Conflict => {
                self.mark_uncertain();
                self.due = now + self.timing.retry / CONFLICT_RETRY_DIVISOR;
            }
            LeaseResponse::Failed => {
                self.mark_uncertain();
                self.due = now.max(sent_at + self.timing.retry);
            }
        }
    }

    fn process_lease(&mut self, record: Option<LeaseRecord>, now: Instant) {
        // Any write counts as a renewal: no leader is better than two.
        let known = self.seen.take().filter(|seen| {
            let revision =
                |record: &Option<LeaseRecord>| record.as_ref().map(|r| r.revision.clone());
            revision(&seen.record) == revision(&record)
        });
        let since = known.map_or(now, |seen| seen.since);
        let seen = SeenLease { record, since, certain: true };
        self.due = if self.is_claimable(&seen, now) {
            now
        } else {
            (now + self.timing.retry).min(self.expiry(&seen))
        };
        self.seen = Some(seen);
        if self.other_holder().is_some() {
            self.lease_deadline = None;
        }
        self.stop_after_restore();
    }

    fn stop_after_restore(&mut self) {
        if self.is_restored {
            self.lease_deadline = None;
        }
    }

    fn mark_uncertain(&mut self) {
        if let Some(seen) = &mut self.seen {
            seen.certain = false;
        }
    }

    /// Whether the Lease may be claimed: it is released, our own, or expired.
    fn is_claimable(&self, seen: &SeenLease, now: Instant) -> bool {
        match &seen.record {
            None => true,
            Some(record) => {
                record.holder.is_empty()
                    || record.holder == self.identity
                    || now >= self.expiry(seen)
            }
        }
    }

    fn expiry(&self, seen: &SeenLease) -> Instant {
        let lasts = seen.record.as_ref().and_then(|record| record.lasts);
        seen.since + lasts.unwrap_or(self.timing.lease)
    }
}

#[cfg(test)]
mod tests;
