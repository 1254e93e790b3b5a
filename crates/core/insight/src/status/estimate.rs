//! Estimate of the remaining time of an update.

use fairway_api::cluster_version::{UpdateHistory, UpdateState};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::text::{DurationText, LONG_DURATION, time, to_minutes};

/// Duration of an update without a completed update in the history.
const DEFAULT_DURATION: SignedDuration = SignedDuration::from_hours(1);

/// Elapsed time below which the progress says little about the duration.
const MIN_ELAPSED: SignedDuration = SignedDuration::from_mins(5);

/// Safety margin: users plan with the estimate, so it is rather too long.
const MARGIN: f64 = 1.2;

/// Time without a transition of `Progressing` after which the update is quiet. The slowest
/// components, which restart on each node, need about half of it.
pub(super) const QUIET_THRESHOLD: SignedDuration = SignedDuration::from_mins(30);

/// Estimate of the remaining time of an update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Estimate {
    /// Estimated remaining seconds, based on the usual progress of updates; negative if the update
    /// is overdue.
    pub remaining_seconds: i64,
    /// Remaining time as text: a duration, `<10m`, or `N/A` with the reason.
    pub remaining: String,
    /// Whether the estimate is reliable.
    pub trusted: bool,
    /// Why the estimate is not reliable.
    pub doubt: Option<Doubt>,
}

/// Why an estimate is not reliable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Doubt {
    /// The duration of a change to the multi-architecture release depends on the nodes.
    MultiArch,
    /// The estimated duration has passed.
    Overdue,
    /// The update is blocked for an unknown time.
    Blocked,
    /// There has been no progress for a long time.
    Quiet,
    /// The update has just started, and there is no earlier update to compare it with.
    NothingToCompareWith,
}

/// Progress of a rollout.
#[derive(Clone, Copy, Debug)]
pub(super) struct RolloutProgress {
    /// Time since the start.
    pub(super) elapsed: SignedDuration,
    /// Time from the start to the latest progress.
    pub(super) to_last_progress: SignedDuration,
    /// Part of components that are done, from 0 to 1.
    pub(super) completion: f64,
    /// Duration of the previous update.
    pub(super) before: Option<SignedDuration>,
    /// Whether only the architecture changes.
    pub(super) multi_arch: bool,
}

impl RolloutProgress {
    /// Remaining seconds, negative if the update is overdue.
    pub(super) fn remaining(&self) -> i64 {
        let left = self.total() - self.elapsed.as_secs_f64();
        let left = if left < 0.0 { left / MARGIN } else { left * MARGIN };
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the conversion saturates and truncates"
        )]
        let left = SignedDuration::from_secs(left as i64);
        if left > LONG_DURATION { to_minutes(left) } else { left.as_secs() }
    }

    /// Seconds that the whole update takes.
    fn total(&self) -> f64 {
        match self.elapsed_fraction() {
            Some(part) => self.to_last_progress.as_secs_f64() / part,
            None => self.before.unwrap_or(DEFAULT_DURATION).as_secs_f64(),
        }
    }

    /// Fraction of the update duration that has elapsed, if the progress of the components is
    /// enough for an estimate.
    fn elapsed_fraction(&self) -> Option<f64> {
        let part = usual_elapsed_fraction(self.completion);
        let is_reliable =
            self.completion > 0.0 && self.to_last_progress > MIN_ELAPSED && part > 0.0;
        is_reliable.then_some(part)
    }

    /// Estimate for the report, `None` if exactly no time remains.
    pub(super) fn estimate(&self) -> Option<Estimate> {
        let remaining = self.remaining();
        let overdue = remaining < -LONG_DURATION.as_secs();
        let text = match remaining {
            0 => return None,
            _ if self.multi_arch => "N/A for Multi-Architecture Migration".to_owned(),
            _ if overdue => {
                let whole = self.elapsed.saturating_add(SignedDuration::from_secs(remaining));
                format!("N/A; estimate duration was {}", DurationText(whole.as_mins() * 60))
            }
            _ if remaining < LONG_DURATION.as_secs() => "<10m".to_owned(),
            _ => DurationText(remaining).to_string(),
        };
        let quiet = self.elapsed.saturating_sub(self.to_last_progress) > QUIET_THRESHOLD;
        let doubt = match () {
            () if self.multi_arch => Some(Doubt::MultiArch),
            () if remaining < 0 => Some(Doubt::Overdue),
            () if quiet => Some(Doubt::Quiet),
            () if self.elapsed_fraction().is_none() && self.before.is_none() => {
                Some(Doubt::NothingToCompareWith)
            }
            () => None,
        };
        let trusted = doubt.is_none();
        Some(Estimate { remaining_seconds: remaining, remaining: text, trusted, doubt })
    }
}

/// Fraction of the update duration that has usually elapsed when the fraction `x` of the components
/// is updated. The first components are slow, and so is the last, which waits for nodes. The
/// polynomials are those of `oc adm upgrade status`, fitted to updates of many clusters.
fn usual_elapsed_fraction(x: f64) -> f64 {
    let polynomial: &[f64] = match x {
        _ if x < 0.25 => &[-0.030_787_88, 2.628_86, -3.823_954],
        _ if x < 0.9 => &[0.185_121_5, 1.649_94, -4.676_898, 5.451_824, -2.125_286],
        _ => &[25_053.32, -107_394.3, 172_527.2, -123_107.0, 32_921.81],
    };
    polynomial.iter().rev().fold(0.0, |sum, coefficient| sum.mul_add(x, *coefficient))
}

/// Duration of the latest completed update, except the current one and the installation.
pub(super) fn before(history: &[UpdateHistory]) -> Option<SignedDuration> {
    let updates = history.get(1..history.len().saturating_sub(1))?;
    let completed = updates.iter().find(|entry| entry.state == UpdateState::Completed)?;
    let (from, to) = (time(completed.started_time.as_ref())?, end(completed)?);
    Some(to.duration_since(from))
}

/// Completion time of a history entry.
pub(super) fn end(entry: &UpdateHistory) -> Option<Timestamp> {
    time(entry.completion_time.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(minutes: i64, to_last_progress: i64, completion: f64) -> RolloutProgress {
        RolloutProgress {
            elapsed: SignedDuration::from_mins(minutes),
            to_last_progress: SignedDuration::from_mins(to_last_progress),
            completion,
            before: None,
            multi_arch: false,
        }
    }

    fn text(progress: RolloutProgress) -> String {
        let Some(estimate) = progress.estimate() else { return "nothing".to_owned() };
        format!("{} {:?}", estimate.remaining, estimate.doubt)
    }

    #[test]
    fn remaining_follows_completion() {
        let known =
            RolloutProgress { before: Some(SignedDuration::from_mins(90)), ..progress(2, 1, 0.03) };
        insta::assert_snapshot!([
            ("just begun", progress(2, 1, 0.0)),
            ("just begun, with a history", known),
            ("early", progress(10, 9, 0.1)),
            ("half", progress(30, 29, 0.5)),
            ("nearly", progress(50, 48, 0.95)),
            ("a little late", progress(70, 48, 0.97)),
            ("quiet", progress(45, 10, 0.3)),
            ("overdue", progress(300, 48, 0.97)),
            ("another architecture", RolloutProgress { multi_arch: true, ..progress(10, 9, 0.97) }),
        ].map(|(name, progress)| format!("{name}: {}", text(progress))).join("\n"), @"
        just begun: 1h10m Some(NothingToCompareWith)
        just begun, with a history: 1h46m None
        early: 44m None
        half: 53m None
        nearly: 24m None
        a little late: <10m Some(Overdue)
        quiet: N/A; estimate duration was 28m Some(Overdue)
        overdue: N/A; estimate duration was 1h47m Some(Overdue)
        another architecture: N/A for Multi-Architecture Migration Some(MultiArch)
        ");
    }

    #[test]
    fn estimate_with_zero_remaining_is_none() {
        assert_eq!(text(progress(60, 1, 0.0)), "nothing");
    }

    #[test]
    fn before_returns_duration_of_latest_completed_update() {
        let entry = |state: &str, minutes: i64| -> UpdateHistory {
            let time = |minute: i64| Timestamp::from_second(60 * minute).unwrap().to_string();
            let entry = serde_json::json!({"state": state, "version": "5.1.0", "image": "a",
                "startedTime": time(0), "completionTime": time(minutes)});
            serde_json::from_value(entry).unwrap()
        };
        let minutes = |history: &[UpdateHistory]| before(history).map(|length| length.as_mins());
        let (now, install) = (entry("Partial", 1), entry("Completed", 40));
        assert_eq!(minutes(&[]), None);
        assert_eq!(minutes(std::slice::from_ref(&now)), None);
        assert_eq!(minutes(&[now.clone(), install.clone()]), None, "that was no update");
        let (partial, completed) = (entry("Partial", 50), entry("Completed", 60));
        assert_eq!(minutes(&[now.clone(), partial.clone(), install.clone()]), None);
        assert_eq!(minutes(&[now.clone(), completed.clone(), install.clone()]), Some(60));
        let older = entry("Completed", 70);
        assert_eq!(minutes(&[now, partial, completed, older, install]), Some(60));
    }

    #[test]
    fn estimate_has_margin_and_doubts() {
        let remaining = |elapsed: i64, to_last: i64, completion: f64, before: i64| {
            let known = RolloutProgress {
                elapsed: SignedDuration::from_secs(elapsed),
                to_last_progress: SignedDuration::from_secs(to_last),
                completion,
                before: Some(SignedDuration::from_secs(before)),
                multi_arch: false,
            };
            known.remaining()
        };
        // No component is done, or it is too early: the estimate is the duration of the previous
        // update.
        assert_eq!(remaining(600, 600, 0.0, 3600), 3600);
        assert_eq!(remaining(300, 300, 0.5, 3600), 3960);
        assert_eq!(remaining(600, 300, 0.5, 600), 0);
        // At a completion of 1 %, the polynomial is negative.
        assert_eq!(remaining(600, 600, 0.01, 3600), 3600);
        // The remaining time is rounded to minutes above ten minutes, and truncated to seconds below.
        assert_eq!(remaining(0, 0, 0.0, 500), 600);
        assert_eq!(remaining(0, 0, 0.0, 501), 600);
        assert_eq!(remaining(0, 0, 0.0, 499), 598);
        // The margin shortens an overdue time.
        assert_eq!(remaining(4320, 0, 0.0, 3600), -600);
        assert_eq!(remaining(4321, 0, 0.0, 3600), -600);
        assert_eq!(remaining(4322, 0, 0.0, 3600), -601);
        // Half of the components take 39 % of the time.
        assert_eq!(remaining(1000, 1000, 0.5, 0), 1860);
    }

    #[test]
    fn usual_elapsed_fraction_is_continuous() {
        for x in [0.25, 0.9] {
            assert!(
                (usual_elapsed_fraction(x - 1e-9) - usual_elapsed_fraction(x)).abs() < 0.05,
                "at {x}"
            );
        }
        assert!((usual_elapsed_fraction(1.0) - 1.0).abs() < 0.05);
    }

    proptest::proptest! {
        #[test]
        fn estimate_of_arbitrary_values_does_not_panic(elapsed: i64, to_last: i64, completion in -1.0..2.0f64, before: i64) {
            let progress = RolloutProgress {
                elapsed: SignedDuration::from_secs(elapsed),
                to_last_progress: SignedDuration::from_secs(to_last),
                completion,
                before: Some(SignedDuration::from_secs(before)),
                multi_arch: false,
            };
            let _ = progress.estimate();
        }
    }
}
