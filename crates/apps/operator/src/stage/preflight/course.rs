//! How a run goes: what was seen and read of it, and whether it goes on. A state machine that is
//! told the time.

use std::time::Duration;

use fairway_api::reason::preflight_failed;
use fairway_findings::{Document, ExecutionStatus, Reading};
use jiff::{SignedDuration, Timestamp};

mod crashes;

use self::crashes::{CRASHES, Crashes};
use super::diagnosis::{Seen, Trouble};

/// How often it is told when a run was last heard of that has nothing new to say: whoever keeps it
/// writes all of it.
const SIGNS_OF_LIFE: SignedDuration = SignedDuration::from_mins(10);

/// How long a run may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Patience {
    /// Without saying anything new, before its first pass is done; after that, without a sign of
    /// life.
    pub(super) silence: Duration,
    /// In all, where somebody waits for it to end.
    pub(super) whole: Option<Duration>,
}

/// How a run goes.
#[derive(Debug)]
pub(super) struct Course {
    /// Since when somebody has waited for it.
    began: Timestamp,
    /// When it last said something new.
    heard: Timestamp,
    /// When it last gave a sign of life.
    alive: Timestamp,
    patience: Patience,
    seen: Seen,
    crashes: Crashes,
    document: Option<Document>,
    /// Whether that is to be told.
    is_news: bool,
    /// When it was last told.
    told: Timestamp,
    /// What is wrong with what it says.
    unreadable: Option<Trouble>,
}

/// Whether a run goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    GoesOn,
    /// It has said what it was started for.
    Done,
    /// It is given up.
    GivenUp(Trouble),
}

impl Course {
    pub(super) fn begin(patience: Patience, now: Timestamp) -> Self {
        Self {
            began: now,
            heard: now,
            alive: now,
            patience,
            seen: Seen::default(),
            crashes: Crashes::default(),
            document: None,
            is_news: false,
            told: now,
            unreadable: None,
        }
    }

    /// How long it may take, for those who have waited since then.
    pub(super) fn expect(&mut self, patience: Patience, since: Timestamp) {
        (self.patience, self.began) = (patience, since);
    }

    /// Takes in what the cluster shows of it.
    pub(super) fn see(&mut self, seen: Seen, now: Timestamp) {
        if let Some(crashes) = seen.crashes() {
            self.crashes.see(crashes, now);
        }
        self.seen = seen;
    }

    /// Takes in what it says. What cannot be understood does not replace what could.
    pub(super) fn read(&mut self, said: Result<Reading, Trouble>, now: Timestamp) {
        match said {
            Ok(Reading { document, dropped }) => {
                self.unreadable = not_whole(&dropped);
                self.alive = now;
                if self.document.as_ref().is_none_or(|before| document.is_news_after(before)) {
                    (self.heard, self.is_news) = (now, true);
                }
                self.is_news |= now.duration_since(self.told) >= SIGNS_OF_LIFE;
                self.document = Some(document);
            }
            Err(trouble) => self.unreadable = Some(trouble),
        }
    }

    /// What it says, if it was not told before.
    pub(super) fn news(&mut self, now: Timestamp) -> Option<Document> {
        if !std::mem::take(&mut self.is_news) {
            return None;
        }
        self.told = now;
        self.document.clone()
    }

    /// What it says is to be told once more.
    pub(super) fn repeat_news(&mut self) {
        self.is_news = self.document.is_some();
    }

    /// Everything that stands in its way.
    pub(super) fn troubles(&self) -> Vec<Trouble> {
        let of_pods = self.seen.trouble(self.document.is_some());
        of_pods.into_iter().chain(self.unreadable.clone()).chain(self.said_failure()).collect()
    }

    /// What the target release itself says went wrong.
    fn said_failure(&self) -> Option<Trouble> {
        let document = self.document.as_ref()?;
        (document.execution_status == ExecutionStatus::Failed).then(|| {
            let words = crate::text::one_line(&document.message);
            let words = if words.is_empty() { "no message" } else { &words };
            let message = format!("the target release reports a failure: {words}");
            Trouble::passing(preflight_failed::RUNNER_FAILED, message)
        })
    }

    /// Whether it goes on. Who waits for it waits for its rehearsal, too, and for neither longer than
    /// he meant to.
    pub(super) fn verdict(&self, now: Timestamp, is_rehearsed: bool) -> Verdict {
        let troubles = self.troubles();
        if let Some(lasting) = troubles.iter().find(|trouble| trouble.is_final) {
            return Verdict::GivenUp(lasting.clone());
        }
        if self.patience.whole.is_some()
            && self.has_said_all()
            && is_rehearsed
            && !self.is_overtaken()
        {
            return Verdict::Done;
        }
        if self.crashes.are_enough() {
            return Verdict::GivenUp(Self::crashed(&troubles));
        }
        if now >= self.deadline() {
            return Verdict::GivenUp(self.too_slow(&troubles, is_rehearsed));
        }
        Verdict::GoesOn
    }

    /// When to look again even if nothing happens.
    pub(super) fn deadline(&self) -> Timestamp {
        let after = |time: Timestamp, patience: Duration| {
            let patience = SignedDuration::try_from(patience).unwrap_or(SignedDuration::MAX);
            time.saturating_add(patience).unwrap_or(Timestamp::MAX)
        };
        // Once all is said there may be nothing new for ever, but whoever looks says that he does.
        let heard = if self.is_completed() { self.alive } else { self.heard };
        let silence = after(heard, self.patience.silence);
        let whole = self.patience.whole.map(|whole| after(self.began, whole));
        whole.map_or(silence, |whole| whole.min(silence))
    }

    fn is_completed(&self) -> bool {
        let status = self.document.as_ref().map(|document| document.execution_status);
        status == Some(ExecutionStatus::Completed)
    }

    fn has_said_all(&self) -> bool {
        let status = self.document.as_ref().map(|document| document.execution_status);
        matches!(status, Some(ExecutionStatus::Completed | ExecutionStatus::Failed))
    }

    /// Whether something of what it said should have been looked at again.
    fn is_overtaken(&self) -> bool {
        self.document.as_ref().is_some_and(|document| document.overtaken().next().is_some())
    }

    fn crashed(troubles: &[Trouble]) -> Trouble {
        let (reason, why) = match troubles.first() {
            Some(trouble) => (trouble.reason, trouble.message.as_str()),
            None => (preflight_failed::CRASH_LOOP_BACK_OFF, "cause unknown"),
        };
        Trouble::lasting(reason, format!("stopped after {CRASHES} failed attempts; {why}"))
    }

    fn too_slow(&self, troubles: &[Trouble], is_rehearsed: bool) -> Trouble {
        let time = self.patience.whole.unwrap_or(self.patience.silence);
        let time = SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX);
        let what = match &self.document {
            Some(_) if self.is_completed() && self.patience.whole.is_none() => "no heartbeat for",
            Some(_) if self.has_said_all() && !is_rehearsed => "dry run not complete after",
            Some(_) if self.is_overtaken() => "results still stale after",
            Some(_) => "no new results for",
            None => "no results for",
        };
        let given_up = format!("timed out: {what} {time:#}");
        match troubles.first() {
            Some(Trouble { reason, message, .. }) => {
                Trouble::lasting(*reason, format!("{given_up}; {message}"))
            }
            None => Trouble::lasting(preflight_failed::NO_RESULTS_IN_TIME, given_up),
        }
    }
}

/// Results of which something is missing now.
fn not_whole(dropped: &[String]) -> Option<Trouble> {
    let message = format!("some results are dropped: {}", dropped.join("; "));
    let trouble = Trouble::passing(preflight_failed::INVALID_RESULTS, message);
    (!dropped.is_empty()).then_some(trouble)
}

#[cfg(test)]
mod tests;
