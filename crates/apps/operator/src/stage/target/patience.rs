//! What an update waits for before it begins, and for how long.

use std::time::Duration;

use tokio::time::Instant;

use crate::settings::OnUpdate;
use crate::stage::preflight::Outcome;

/// How long what a preflight says is waited for where it is only reported: most are done in a
/// minute.
const ANSWER: Duration = Duration::from_mins(5);

/// How long it may take to remove a preflight: a failing cleanup never blocks an update.
const CLEARING: Duration = Duration::from_mins(1);

/// When patience ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// After so long.
    After(Duration),
    /// Not before what is waited for is there.
    Never,
}

/// Since when something is waited for, before an update to which image.
#[derive(Debug, Default)]
pub(super) struct Patience {
    awaited: Option<(String, Instant)>,
    due: Option<Instant>,
}

impl Patience {
    /// Whether it was waited for long enough.
    pub(super) fn is_over(&mut self, image: &str, limit: Limit, now: Instant) -> bool {
        let since = match &self.awaited {
            Some((same, since)) if same == image => *since,
            _ => now,
        };
        self.awaited = Some((image.to_owned(), since));
        let Limit::After(time) = limit else { return false };
        self.due = Some(since + time).filter(|due| *due > now);
        self.due.is_none()
    }

    /// When it will have been long enough. It is told once: who looks again asks again.
    pub(super) fn take_due(&mut self) -> Option<Instant> {
        self.due.take()
    }
}

/// Whether a preflight still has to say something, and how long that is waited for. What it said
/// when somebody else asked is no answer: the cluster may be another by now.
pub(super) fn for_answer(on_update: OnUpdate, said: Option<&Outcome>) -> Option<Limit> {
    match on_update {
        OnUpdate::Off => None,
        _ if said.is_some_and(|said| said.answers) => None,
        OnUpdate::Report => Some(Limit::After(ANSWER)),
        OnUpdate::Require => Some(Limit::Never),
    }
}

/// How long it is waited until nothing is left of preflights.
pub(super) fn for_clearing() -> Limit {
    Limit::After(CLEARING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_required_is_waited_for_without_end() {
        let running = Outcome::default();
        let long_ago = Outcome { complete: true, ..Outcome::default() };
        let given_up = Outcome { answers: true, ..Outcome::default() };
        let answered = Outcome { complete: true, answers: true, ..Outcome::default() };
        for said in [None, Some(&running), Some(&long_ago)] {
            assert_eq!(for_answer(OnUpdate::Off, said), None);
            assert_eq!(for_answer(OnUpdate::Report, said), Some(Limit::After(ANSWER)));
            assert_eq!(for_answer(OnUpdate::Require, said), Some(Limit::Never));
        }
        for said in [Some(&given_up), Some(&answered)] {
            for on_update in [OnUpdate::Off, OnUpdate::Report, OnUpdate::Require] {
                assert_eq!(for_answer(on_update, said), None);
            }
        }
    }

    #[test]
    fn patience_ends_and_begins_anew_with_another_update() {
        let mut patience = Patience::default();
        let began = Instant::now();
        assert!(!patience.is_over("a", Limit::After(ANSWER), began));
        assert_eq!(patience.take_due(), Some(began + ANSWER));
        assert_eq!(patience.take_due(), None);
        assert!(!patience.is_over("a", Limit::After(ANSWER), began + ANSWER / 2));
        assert!(patience.is_over("a", Limit::After(ANSWER), began + ANSWER));
        assert_eq!(patience.take_due(), None, "nobody is woken up for what is over");
        assert!(!patience.is_over("a", Limit::Never, began + ANSWER * 2));
        assert!(!patience.is_over("b", Limit::After(CLEARING), began + ANSWER));
        assert!(patience.is_over("b", Limit::After(CLEARING), began + ANSWER + CLEARING));
    }
}
