//! Waits before an update starts: for preflight results and for the removal of the preflight.

use std::time::Duration;

use tokio::time::Instant;

use crate::settings::OnUpdate;
use crate::stage::preflight::PreflightOutcome;

/// Maximum wait for preflight results that are only reported: most preflights take a minute.
const RESULT_TIMEOUT: Duration = Duration::from_mins(5);

/// Maximum wait for the removal of a preflight: a failing cleanup never blocks an update.
const REMOVAL_TIMEOUT: Duration = Duration::from_mins(1);

/// Limit of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitLimit {
    /// Maximum duration.
    After(Duration),
    /// No limit.
    Never,
}

/// Start of a wait before an update to an image.
#[derive(Debug, Default)]
pub(super) struct WaitTimer {
    start: Option<(String, Instant)>,
    due: Option<Instant>,
}

impl WaitTimer {
    /// Starts the wait for an image, unless it is in progress; returns whether it has timed out.
    pub(super) fn is_over(&mut self, image: &str, limit: WaitLimit, now: Instant) -> bool {
        let since = match &self.start {
            Some((same, since)) if same == image => *since,
            _ => now,
        };
        self.start = Some((image.to_owned(), since));
        let WaitLimit::After(time) = limit else { return false };
        self.due = Some(since + time).filter(|due| *due > now);
        self.due.is_none()
    }

    /// Removes and returns the end of the wait. The next evaluation sets it again.
    pub(super) fn take_due(&mut self) -> Option<Instant> {
        self.due.take()
    }
}

/// Limit of the wait for preflight results; `None` if no result is needed. A result of an earlier
/// request does not count, because the cluster may have changed.
pub(super) fn for_preflight(
    on_update: OnUpdate,
    result: Option<&PreflightOutcome>,
) -> Option<WaitLimit> {
    match on_update {
        OnUpdate::Off => None,
        _ if result.is_some_and(|result| result.answers) => None,
        OnUpdate::Report => Some(WaitLimit::After(RESULT_TIMEOUT)),
        OnUpdate::Require => Some(WaitLimit::Never),
    }
}

/// Limit of the wait for the removal of a preflight.
pub(super) fn for_preflight_removal() -> WaitLimit {
    WaitLimit::After(REMOVAL_TIMEOUT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn for_preflight_required_has_no_limit() {
        let running = PreflightOutcome::default();
        let long_ago = PreflightOutcome { complete: true, ..PreflightOutcome::default() };
        let given_up = PreflightOutcome { answers: true, ..PreflightOutcome::default() };
        let answered =
            PreflightOutcome { complete: true, answers: true, ..PreflightOutcome::default() };
        for result in [None, Some(&running), Some(&long_ago)] {
            assert_eq!(for_preflight(OnUpdate::Off, result), None);
            let limit = Some(WaitLimit::After(RESULT_TIMEOUT));
            assert_eq!(for_preflight(OnUpdate::Report, result), limit);
            assert_eq!(for_preflight(OnUpdate::Require, result), Some(WaitLimit::Never));
        }
        for result in [Some(&given_up), Some(&answered)] {
            for on_update in [OnUpdate::Off, OnUpdate::Report, OnUpdate::Require] {
                assert_eq!(for_preflight(on_update, result), None);
            }
        }
    }

    #[test]
    fn wait_starts_over_for_another_image() {
        let mut timer = WaitTimer::default();
        let began = Instant::now();
        let limit = WaitLimit::After(RESULT_TIMEOUT);
        assert!(!timer.is_over("a", limit, began));
        assert_eq!(timer.take_due(), Some(began + RESULT_TIMEOUT));
        assert_eq!(timer.take_due(), None);
        assert!(!timer.is_over("a", limit, began + RESULT_TIMEOUT / 2));
        assert!(timer.is_over("a", limit, began + RESULT_TIMEOUT));
        assert_eq!(timer.take_due(), None, "a wait that is over has no end to wake up for");
        assert!(!timer.is_over("a", WaitLimit::Never, began + RESULT_TIMEOUT * 2));
        let (limit, began) = (WaitLimit::After(REMOVAL_TIMEOUT), began + RESULT_TIMEOUT);
        assert!(!timer.is_over("b", limit, began));
        assert!(timer.is_over("b", limit, began + REMOVAL_TIMEOUT));
    }
}
