//! When an update will be over, and whether that can be believed.

use fairway_api::cluster_version::{UpdateHistory, UpdateState};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::age::{LONG, Span, time, to_minutes};

/// What an update takes where the cluster's history does not say.
const USUAL: SignedDuration = SignedDuration::from_hours(1);

/// Before so much time, how far an update is says little about how long it takes.
const TOO_EARLY: SignedDuration = SignedDuration::from_mins(5);

/// People plan with estimates: rather too long than too short.
const MARGIN: f64 = 1.2;

/// Every component takes less than this from one change of `Progressing` to the next; the slowest,
/// which restart on one node after the other, about half of it.
pub(super) const QUIET: SignedDuration = SignedDuration::from_mins(30);

/// Estimate of the remaining time of an update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Estimate {
    /// Remaining seconds by the usual course of updates; negative if the update is overdue.
    pub remaining_seconds: i64,
    /// Remaining time as text: a duration, `<10m`, or that it is unknown.
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
    /// The duration of a change to several architectures depends on the nodes.
    MultiArch,
    /// The estimated duration has passed.
    Overdue,
    /// The update is blocked for an unknown time.
    Blocked,
    /// There was no progress for a long time.
    Quiet,
    /// The update has just started, and there is no earlier update to compare it with.
    NothingToCompareWith,
}

/// How an update has gone so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course {
    /// How long it has taken.
    pub(super) taken: SignedDuration,
    /// How long it took until something last changed.
    pub(super) to_last_progress: SignedDuration,
    /// The part of components that are done, from 0 to 1.
    pub(super) completion: f64,
    /// How long an update took before.
    pub(super) before: Option<SignedDuration>,
    /// Whether it changes architectures alone.
    pub(super) pivot: bool,
}

impl Course {
    /// Seconds that are left, negative where they are overdue.
    pub(super) fn remaining(&self) -> i64 {
        let left = self.total() - self.taken.as_secs_f64();
        let left = if left < 0.0 { left / MARGIN } else { left * MARGIN };
        #[expect(clippy::cast_possible_truncation, reason = "it saturates, and parts are dropped")]
        let left = SignedDuration::from_secs(left as i64);
        if left > LONG { to_minutes(left) } else { left.as_secs() }
    }

    /// Seconds that the whole update takes.
    fn total(&self) -> f64 {
        match self.part_of_time() {
            Some(part) => self.to_last_progress.as_secs_f64() / part,
            None => self.before.unwrap_or(USUAL).as_secs_f64(),
        }
    }

    /// The part of the time that is over, where that can be told from the components.
    fn part_of_time(&self) -> Option<f64> {
        let part = usual_course(self.completion);
        let telling = self.completion > 0.0 && self.to_last_progress > TOO_EARLY && part > 0.0;
        telling.then_some(part)
    }

    /// What people are told; nothing where exactly nothing is left.
    pub(super) fn estimate(&self) -> Option<Estimate> {
        let remaining = self.remaining();
        let overdue = remaining < -LONG.as_secs();
        let text = match remaining {
            0 => return None,
            _ if self.pivot => "N/A for Multi-Architecture Migration".to_owned(),
            _ if overdue => {
                let whole = self.taken.saturating_add(SignedDuration::from_secs(remaining));
                format!("N/A; estimate duration was {}", Span(whole.as_mins() * 60))
            }
            _ if remaining < LONG.as_secs() => "<10m".to_owned(),
            _ => Span(remaining).to_string(),
        };
        let quiet = self.taken.saturating_sub(self.to_last_progress) > QUIET;
        let doubt = match () {
            () if self.pivot => Some(Doubt::MultiArch),
            () if remaining < 0 => Some(Doubt::Overdue),
            () if quiet => Some(Doubt::Quiet),
            () if self.part_of_time().is_none() && self.before.is_none() => {
                Some(Doubt::NothingToCompareWith)
            }
            () => None,
        };
        let trusted = doubt.is_none();
        Some(Estimate { remaining_seconds: remaining, remaining: text, trusted, doubt })
    }
}

/// The part of the time that is usually over when that part of the components is done: the first
/// components take long, and so does the last, which waits for nodes. It was fitted to updates of
/// many clusters.
fn usual_course(x: f64) -> f64 {
    let polynomial: &[f64] = match x {
        _ if x < 0.25 => &[-0.030_787_88, 2.628_86, -3.823_954],
        _ if x < 0.9 => &[0.185_121_5, 1.649_94, -4.676_898, 5.451_824, -2.125_286],
        _ => &[25_053.32, -107_394.3, 172_527.2, -123_107.0, 32_921.81],
    };
    polynomial.iter().rev().fold(0.0, |sum, coefficient| sum.mul_add(x, *coefficient))
}

/// How long the newest update took that is neither the present one nor the installation.
pub(super) fn before(history: &[UpdateHistory]) -> Option<SignedDuration> {
    let updates = history.get(1..history.len().saturating_sub(1))?;
    let completed = updates.iter().find(|entry| entry.state == UpdateState::Completed)?;
    let (from, to) = (time(completed.started_time.as_ref())?, end(completed)?);
    Some(to.duration_since(from))
}

/// When the work on a release ended.
pub(super) fn end(entry: &UpdateHistory) -> Option<Timestamp> {
    time(entry.completion_time.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(minutes: i64, to_last_progress: i64, completion: f64) -> Course {
        Course {
            taken: SignedDuration::from_mins(minutes),
            to_last_progress: SignedDuration::from_mins(to_last_progress),
            completion,
            before: None,
            pivot: false,
        }
    }

    fn told(course: Course) -> String {
        let Some(estimate) = course.estimate() else { return "nothing".to_owned() };
        format!("{} {:?}", estimate.remaining, estimate.doubt)
    }

    #[test]
    fn what_is_left_follows_from_what_is_done() {
        let known = Course { before: Some(SignedDuration::from_mins(90)), ..course(2, 1, 0.03) };
        insta::assert_snapshot!([
            ("just begun", course(2, 1, 0.0)),
            ("just begun, with a history", known),
            ("early", course(10, 9, 0.1)),
            ("half", course(30, 29, 0.5)),
            ("nearly", course(50, 48, 0.95)),
            ("a little late", course(70, 48, 0.97)),
            ("quiet", course(45, 10, 0.3)),
            ("overdue", course(300, 48, 0.97)),
            ("another architecture", Course { pivot: true, ..course(10, 9, 0.97) }),
        ].map(|(name, course)| format!("{name}: {}", told(course))).join("\n"), @"
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
    fn exactly_nothing_left_is_no_estimate() {
        assert_eq!(told(course(60, 1, 0.0)), "nothing");
    }

    #[test]
    fn the_newest_update_that_was_completed_says_how_long_they_take_here() {
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
    fn an_estimate_leaves_a_margin_and_says_when_it_is_over() {
        let remaining = |taken: i64, to_last: i64, completion: f64, before: i64| {
            let known = Course {
                taken: SignedDuration::from_secs(taken),
                to_last_progress: SignedDuration::from_secs(to_last),
                completion,
                before: Some(SignedDuration::from_secs(before)),
                pivot: false,
            };
            known.remaining()
        };
        // No component is done, or it is too early: as long as the update before.
        assert_eq!(remaining(600, 600, 0.0, 3600), 3600);
        assert_eq!(remaining(300, 300, 0.5, 3600), 3960);
        assert_eq!(remaining(600, 300, 0.5, 600), 0);
        // So little is done that the curve says nothing.
        assert_eq!(remaining(600, 600, 0.01, 3600), 3600);
        // What is left is rounded to minutes above ten of them, and dropped to seconds below.
        assert_eq!(remaining(0, 0, 0.0, 500), 600);
        assert_eq!(remaining(0, 0, 0.0, 501), 600);
        assert_eq!(remaining(0, 0, 0.0, 499), 598);
        // What is overdue is told as less than it is.
        assert_eq!(remaining(4320, 0, 0.0, 3600), -600);
        assert_eq!(remaining(4321, 0, 0.0, 3600), -600);
        assert_eq!(remaining(4322, 0, 0.0, 3600), -601);
        // Half of the components take 39 % of the time.
        assert_eq!(remaining(1000, 1000, 0.5, 0), 1860);
    }

    #[test]
    fn the_parts_of_the_curve_meet() {
        for x in [0.25, 0.9] {
            assert!((usual_course(x - 1e-9) - usual_course(x)).abs() < 0.05, "at {x}");
        }
        assert!((usual_course(1.0) - 1.0).abs() < 0.05);
    }

    proptest::proptest! {
        #[test]
        fn no_course_breaks_it(taken: i64, to_last: i64, completion in -1.0..2.0f64, before: i64) {
            let course = Course {
                taken: SignedDuration::from_secs(taken),
                to_last_progress: SignedDuration::from_secs(to_last),
                completion,
                before: Some(SignedDuration::from_secs(before)),
                pivot: false,
            };
            let _ = course.estimate();
        }
    }
}
