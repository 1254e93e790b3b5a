//! Who leads: what a candidate does next, and what it makes of the answers.
//!
//! Nothing here trusts a clock of somebody else. A candidate notes on its own clock when it saw
//! the lease change, and takes over once that is longer ago than the lease lasts; a leader counts
//! from the moment before it asked to renew, and stops before anybody can take over. The API
//! server lets only one of several writes over the same revision happen.

use std::time::Duration;

use tokio::time::Instant;

use super::timing::Timing;

/// Who was outrun looks again this many times sooner than usual; but not at once, or somebody who
/// writes the lease all the time would make us ask all the time.
const HASTE: u32 = 8;

/// What a lease says, as far as candidates care.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The server's name of this state of the lease.
    pub(super) revision: String,
    /// Who holds it; nobody if empty.
    pub(super) holder: String,
    /// How long it lasts, if it says so.
    pub(super) lasts: Option<Duration>,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing, until then.
    Wait(Instant),
    /// Ask what the lease says.
    Look,
    /// Write the own name into it, over the state that was last seen; or create it, where there
    /// was none.
    Claim,
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The lease says this, or there is none.
    Seen(Option<Record>),
    /// The own name is in the lease, which says this now.
    Claimed(Record),
    /// Somebody else wrote the lease first.
    Outrun,
    /// It cannot be told: no answer, or one that says nothing about the lease.
    Failed,
}

/// One who wants to lead.
#[derive(Debug)]
pub(super) struct Candidate {
    identity: String,
    timing: Timing,
    seen: Option<Sighting>,
    /// Until when it leads, unless it renews before.
    term: Option<Instant>,
    /// When to ask again.
    due: Instant,
}

/// The lease as it was last seen.
#[derive(Debug)]
struct Sighting {
    record: Option<Record>,
    /// When it was first seen like this.
    since: Instant,
    /// Whether nothing is known that speaks against writing over it.
    certain: bool,
}

impl Candidate {
    pub(super) fn new(identity: String, timing: Timing, now: Instant) -> Self {
        Self { identity, timing, seen: None, term: None, due: now }
    }

    pub(super) fn identity(&self) -> &str {
        &self.identity
    }

    /// Until when it leads, if it does.
    pub(super) fn term(&self) -> Option<Instant> {
        self.term
    }

    /// Who else holds the lease, as far as is known.
    pub(super) fn rival(&self) -> Option<&str> {
        let holder = self.seen.as_ref()?.record.as_ref()?.holder.as_str();
        (!holder.is_empty() && holder != self.identity).then_some(holder)
    }

    /// What to do next.
    pub(super) fn next(&self, now: Instant) -> Step {
        if now < self.due {
            return Step::Wait(self.due);
        }
        match &self.seen {
            Some(seen) if seen.certain && self.is_open(seen, now) => Step::Claim,
            _ => Step::Look,
        }
    }

    /// Takes in what came of a request that was made at `asked`.
    pub(super) fn learn(&mut self, answer: Answer, asked: Instant, now: Instant) {
        match answer {
            Answer::Seen(record) => self.saw(record, now),
            Answer::Claimed(record) => {
                self.seen = Some(Sighting { record: Some(record), since: now, certain: true });
                self.term = Some(asked + self.timing.renew);
                self.due = asked + self.timing.retry;
            }
            Answer::Outrun => {
                self.doubt();
                self.due = now + self.timing.retry / HASTE;
            }
            Answer::Failed => {
                self.doubt();
                self.due = now.max(asked + self.timing.retry);
            }
        }
    }

    fn saw(&mut self, record: Option<Record>, now: Instant) {
        // Any write counts as a sign of life, whatever it changed: better no leader than two.
        let known = self.seen.take().filter(|seen| {
            let revision = |record: &Option<Record>| record.as_ref().map(|r| r.revision.clone());
            revision(&seen.record) == revision(&record)
        });
        let since = known.map_or(now, |seen| seen.since);
        let seen = Sighting { record, since, certain: true };
        self.due = if self.is_open(&seen, now) {
            now
        } else {
            (now + self.timing.retry).min(self.expiry(&seen))
        };
        self.seen = Some(seen);
        if self.rival().is_some() {
            self.term = None;
        }
    }

    fn doubt(&mut self) {
        if let Some(seen) = &mut self.seen {
            seen.certain = false;
        }
    }

    /// Whether the lease may be claimed: it is nobody's, our own, or its holder gives no sign.
    fn is_open(&self, seen: &Sighting, now: Instant) -> bool {
        match &seen.record {
            None => true,
            Some(record) => {
                record.holder.is_empty()
                    || record.holder == self.identity
                    || now >= self.expiry(seen)
            }
        }
    }

    fn expiry(&self, seen: &Sighting) -> Instant {
        let lasts = seen.record.as_ref().and_then(|record| record.lasts);
        seen.since + lasts.unwrap_or(self.timing.lease)
    }
}

#[cfg(test)]
mod tests;
