//! How a run goes: what was seen and read of it, and whether it goes on. A state machine that is
//! told the time.

use std::time::Duration;

use fairway_api::reason::preflight_failed;
use fairway_findings::{Document, ExecutionStatus, Reading};
use jiff::{SignedDuration, Timestamp};

use super::diagnosis::{Seen, Trouble};

/// How often the program of a run may end before it is given up: once is bad luck, and twice may be.
const CRASHES: u32 = 3;

/// How long a run may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Patience {
    /// Without saying anything, before its first pass is done.
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
    patience: Patience,
    seen: Seen,
    document: Option<Document>,
    /// Whether that is new.
    is_news: bool,
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
        let (seen, document, unreadable) = (Seen::default(), None, None);
        Self { began: now, heard: now, patience, seen, document, is_news: false, unreadable }
    }

    /// How long it may take, for those who have waited since then.
    pub(super) fn expect(&mut self, patience: Patience, since: Timestamp) {
        (self.patience, self.began) = (patience, since);
    }

    /// Takes in what the cluster shows of it.
    pub(super) fn see(&mut self, seen: Seen) {
        self.seen = seen;
    }

    /// Takes in what it says. What cannot be understood does not replace what could.
    pub(super) fn read(&mut self, said: Result<Reading, Trouble>, now: Timestamp) {
        match said {
            Ok(Reading { document, dropped }) => {
                self.unreadable = not_whole(&dropped);
                (self.document, self.is_news) = (Some(document), true);
                self.heard = now;
            }
            Err(trouble) => self.unreadable = Some(trouble),
        }
    }

    /// What it says, if it was not told before.
    pub(super) fn news(&mut self) -> Option<Document> {
        let is_news = std::mem::take(&mut self.is_news);
        self.document.clone().filter(|_| is_news)
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
            let words = if words.is_empty() { "it does not say why" } else { &words };
            let message = format!("the target release says that it cannot go on: {words}");
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
        if self.patience.whole.is_some() && self.has_said_all() && is_rehearsed {
            return Verdict::Done;
        }
        if self.seen.crashes() >= CRASHES {
            return Verdict::GivenUp(Self::crashed(&troubles));
        }
        match self.deadline() {
            Some(deadline) if now >= deadline => Verdict::GivenUp(self.too_slow(&troubles)),
            _ => Verdict::GoesOn,
        }
    }

    /// When to look again even if nothing happens.
    pub(super) fn deadline(&self) -> Option<Timestamp> {
        let after = |time: Timestamp, patience: Duration| {
            let patience = SignedDuration::try_from(patience).unwrap_or(SignedDuration::MAX);
            time.saturating_add(patience).unwrap_or(Timestamp::MAX)
        };
        let silence = (!self.is_completed()).then(|| after(self.heard, self.patience.silence));
        let whole = self.patience.whole.map(|whole| after(self.began, whole));
        silence.into_iter().chain(whole).min()
    }

    fn is_completed(&self) -> bool {
        let status = self.document.as_ref().map(|document| document.execution_status);
        status == Some(ExecutionStatus::Completed)
    }

    fn has_said_all(&self) -> bool {
        let status = self.document.as_ref().map(|document| document.execution_status);
        matches!(status, Some(ExecutionStatus::Completed | ExecutionStatus::Failed))
    }

    fn crashed(troubles: &[Trouble]) -> Trouble {
        let (reason, why) = match troubles.first() {
            Some(trouble) => (trouble.reason, trouble.message.as_str()),
            None => (preflight_failed::CRASH_LOOP_BACK_OFF, "nobody knows why"),
        };
        Trouble::lasting(reason, format!("it was given up after {CRASHES} attempts; {why}"))
    }

    fn too_slow(&self, troubles: &[Trouble]) -> Trouble {
        let time = self.patience.whole.unwrap_or(self.patience.silence);
        let time = SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX);
        let what = match &self.document {
            Some(_) if self.has_said_all() => "its dry-run was not over after",
            Some(_) => "it said nothing new for",
            None => "it said nothing for",
        };
        let given_up = format!("it was given up because {what} {time:#}");
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
    let message = format!("the results were not taken whole: {}", dropped.join("; "));
    let trouble = Trouble::passing(preflight_failed::INVALID_RESULTS, message);
    (!dropped.is_empty()).then_some(trouble)
}

#[cfg(test)]
mod tests;
