//! Summaries of several failures for the conditions `Failing` ([`failing`]) and `Progressing`
//! ([`waiting`]).

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use fairway_api::reason::rollout as reason;
use jiff::{SignedDuration, Timestamp};

use super::cluster_operator::{OperatorDiagnosis, OperatorProblem};
use super::{Effect, Failure};

/// Maximum number of listed failures.
const MAX_LISTED: usize = 20;

/// Several failures as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureSummary {
    /// Effect of the failures: [`Effect::Fail`] or [`Effect::Report`].
    pub effect: Effect,
    /// A reason of [`fairway_api::reason::rollout`].
    pub reason: &'static str,
    /// Message of the condition.
    pub message: String,
}

/// Summary for `Failing`: failures that block the rollout or, without those, failures that are only
/// reported. It excludes failures that only delay the rollout.
pub fn failing(failures: &[Failure]) -> Option<FailureSummary> {
    [Effect::Fail, Effect::Report].into_iter().find_map(|effect| {
        let relevant = failures.iter().filter(|failure| failure.effect == effect);
        summary(effect, &grouped(relevant))
    })
}

fn summary(effect: Effect, failures: &[Failure]) -> Option<FailureSummary> {
    match failures {
        [] => None,
        [Failure { reason, message, .. }] => {
            Some(FailureSummary { effect, reason, message: message.clone() })
        }
        several => {
            let messages: BTreeSet<&str> =
                several.iter().map(|failure| failure.message.as_str()).collect();
            let first = match effect {
                Effect::Report => "Multiple problems are reported:",
                Effect::Wait | Effect::Fail => "Several errors block the rollout:",
            };
            let listed = messages.iter().take(MAX_LISTED).map(|line| format!("\n* {line}"));
            let rest = messages.len().saturating_sub(MAX_LISTED);
            let rest = (rest > 0).then(|| format!("\n* and {rest} more"));
            let message = iter::once(first.to_owned()).chain(listed).chain(rest).collect();
            Some(FailureSummary { effect, reason: reason::MULTIPLE_ERRORS.code, message })
        }
    }
}

/// Merges the failures of ClusterOperators with the same reason. Other failures stay as they are and
/// come first.
pub(super) fn grouped<'a>(failures: impl IntoIterator<Item = &'a Failure>) -> Vec<Failure> {
    let mut grouped = Vec::new();
    let mut by_reason: BTreeMap<&str, (OperatorProblem, Vec<&Failure>)> = BTreeMap::new();
    for failure in failures {
        let problem = OperatorProblem::of_reason(failure.reason);
        match problem.filter(|_| failure.cluster_operator.is_some()) {
            Some(problem) => {
                by_reason.entry(failure.reason).or_insert((problem, Vec::new())).1.push(failure);
            }
            None => grouped.push(failure.clone()),
        }
    }
    grouped.extend(by_reason.into_values().map(|(problem, group)| merge_group(problem, &group)));
    grouped
}

fn merge_group(problem: OperatorProblem, group: &[&Failure]) -> Failure {
    if let [alone] = group {
        return (*alone).clone();
    }
    let mut members: Vec<(&str, &Failure)> = group
        .iter()
        .map(|failure| (failure.cluster_operator.as_deref().unwrap_or_default(), *failure))
        .collect();
    members.sort_by_key(|(name, _)| *name);
    let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    let names = names.join(", ");
    let line = |(name, failure): &(&str, &Failure)| {
        let detail = failure.message.strip_prefix(&problem.sentence(name))?.strip_prefix(": ")?;
        Some(format!("{name}: {detail}"))
    };
    let details: Vec<String> = members.iter().take(MAX_LISTED).filter_map(line).collect();
    let sentence = problem.plural_sentence(&names);
    let message =
        if details.is_empty() { sentence } else { format!("{sentence}: {}", details.join("; ")) };
    Failure {
        effect: group.iter().map(|failure| failure.effect).max().unwrap_or(Effect::Report),
        reason: problem.plural_reason().code,
        message,
        cluster_operator: Some(names),
        since: group.iter().map(|failure| failure.since).min().unwrap_or_default(),
    }
}

/// The failure of a ClusterOperator.
pub(super) fn operator_failure(
    name: &str,
    diagnosis: &OperatorDiagnosis,
    now: Timestamp,
) -> Failure {
    let OperatorDiagnosis { problem, detail } = diagnosis;
    Failure {
        effect: problem.effect(),
        reason: problem.reason().code,
        message: format!("{}: {detail}", problem.sentence(name)),
        cluster_operator: Some(name.to_owned()),
        since: now,
    }
}

/// Expected duration of an operator's update: 20 minutes by contract, and a reserve.
const EXPECTED_DURATION: SignedDuration = SignedDuration::from_mins(30);

/// Operator that restarts all nodes one by one, and its expected duration.
const NODE_OPERATOR: (&str, SignedDuration) = ("machine-config", SignedDuration::from_mins(90));

/// Maximum number of names in a message: during an installation, all operators are pending.
const MAX_NAMES: usize = 10;

/// Failures that the rollout waits for, for the condition `Progressing`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitSummary {
    /// A reason of [`fairway_api::reason::rollout`].
    pub reason: &'static str,
    /// Message as the end of a sentence: `waiting on network, storage`.
    pub message: String,
    /// Whether one of them takes longer than expected.
    pub is_slow: bool,
}

/// Summary of failures that only delay the rollout.
pub fn waiting(failures: &[Failure], now: Timestamp) -> Option<WaitSummary> {
    let awaited: Vec<&Failure> =
        failures.iter().filter(|failure| failure.effect == Effect::Wait).collect();
    let reason = match grouped(awaited.iter().copied()).as_slice() {
        [] => return None,
        [one] => one.reason,
        _ => reason::MULTIPLE_ERRORS.code,
    };
    let slow: Vec<&Failure> =
        awaited.iter().copied().filter(|failure| is_slow(failure, now)).collect();
    let is_slow = !slow.is_empty();
    let message =
        if is_slow { slow_text(&slow) } else { format!("waiting on {}", names(&awaited)) };
    Some(WaitSummary { reason, message, is_slow })
}

/// Time at which the next failure takes longer than expected, if nothing changes.
pub fn next_slow(failures: &[Failure], now: Timestamp) -> Option<Timestamp> {
    let awaited = failures.iter().filter(|failure| failure.effect == Effect::Wait);
    let ends = awaited.filter(|failure| !is_slow(failure, now)).filter_map(|failure| {
        // `is_slow` compares with `>`, so one second after the expected end.
        failure
            .since
            .checked_add(expected_duration(failure))
            .ok()?
            .checked_add(SignedDuration::from_secs(1))
            .ok()
    });
    ends.min()
}

fn is_slow(failure: &Failure, now: Timestamp) -> bool {
    now.duration_since(failure.since) > expected_duration(failure)
}

fn expected_duration(failure: &Failure) -> SignedDuration {
    if is_node_operator(failure) { NODE_OPERATOR.1 } else { EXPECTED_DURATION }
}

fn is_node_operator(failure: &Failure) -> bool {
    failure.cluster_operator.as_deref() == Some(NODE_OPERATOR.0)
}

fn slow_text(slow: &[&Failure]) -> String {
    let (nodes, others): (Vec<&Failure>, Vec<&Failure>) =
        slow.iter().copied().partition(|failure| is_node_operator(failure));
    let mut parts = Vec::new();
    if !others.is_empty() {
        parts.push(format!("{} over {} minutes", names(&others), EXPECTED_DURATION.as_mins()));
    }
    if !nodes.is_empty() {
        parts.push(format!("{} over {} minutes", NODE_OPERATOR.0, NODE_OPERATOR.1.as_mins()));
    }
    format!("waiting on {} which is longer than expected", parts.join(" and "))
}

fn names(failures: &[&Failure]) -> String {
    let mut names: Vec<&str> = failures
        .iter()
        .map(|failure| failure.cluster_operator.as_deref().unwrap_or(&failure.message))
        .collect();
    names.sort_unstable();
    names.dedup();
    let rest = names.len().saturating_sub(MAX_NAMES);
    names.truncate(MAX_NAMES);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{}{rest}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(reason: &'static str, message: &str) -> Failure {
        let since = Timestamp::from_second(7).unwrap();
        let message = message.to_owned();
        Failure { effect: Effect::Fail, reason, message, cluster_operator: None, since }
    }

    fn operator(name: &str, problem: OperatorProblem, detail: &str) -> Failure {
        let diagnosis = OperatorDiagnosis { problem, detail: detail.to_owned() };
        operator_failure(name, &diagnosis, Timestamp::from_second(9).unwrap())
    }

    type Row<'a> = (Effect, &'a str, &'a str);

    fn rows(failures: &[Failure]) -> Vec<Row<'_>> {
        let row = |failure: &Failure| (failure.effect, failure.reason);
        let texts = failures.iter().map(|failure| failure.message.as_str());
        let pairs = failures.iter().map(row).zip(texts);
        pairs.map(|((effect, reason), message)| (effect, reason, message)).collect()
    }

    #[test]
    fn condensed_cluster_operators_with_same_reason_are_merged() {
        use OperatorProblem::{Degraded, NotAvailable};
        let cases: [(Vec<Failure>, Vec<Row>); 5] = [
            (vec![], vec![]),
            (
                vec![operator("a", NotAvailable, "x")],
                vec![(
                    Effect::Fail,
                    "ClusterOperatorNotAvailable",
                    "Cluster operator a is not available: x",
                )],
            ),
            (
                vec![operator("b", NotAvailable, "y"), operator("a", NotAvailable, "x")],
                vec![(
                    Effect::Fail,
                    "ClusterOperatorsNotAvailable",
                    "Cluster operators a, b are not available: a: x; b: y",
                )],
            ),
            (
                vec![
                    operator("a", NotAvailable, "x"),
                    failure("UpdatePayloadFailed", "one"),
                    operator("b", Degraded, "y"),
                    operator("c", Degraded, "z"),
                    failure("UpdatePayloadFailed", "two"),
                ],
                vec![
                    (Effect::Fail, "UpdatePayloadFailed", "one"),
                    (Effect::Fail, "UpdatePayloadFailed", "two"),
                    (
                        Effect::Report,
                        "ClusterOperatorsDegraded",
                        "Cluster operators b, c are degraded: b: y; c: z",
                    ),
                    (
                        Effect::Fail,
                        "ClusterOperatorNotAvailable",
                        "Cluster operator a is not available: x",
                    ),
                ],
            ),
            (
                vec![failure("UpdatePayloadFailed", "two"), failure("UpdatePayloadFailed", "one")],
                vec![
                    (Effect::Fail, "UpdatePayloadFailed", "two"),
                    (Effect::Fail, "UpdatePayloadFailed", "one"),
                ],
            ),
        ];
        for (failures, expected) in cases {
            let grouped = grouped(&failures);
            assert_eq!(rows(&grouped), expected);
        }
    }

    #[test]
    fn condensed_group_has_earliest_time() {
        let early = Failure {
            since: Timestamp::UNIX_EPOCH,
            ..operator("b", OperatorProblem::Updating, "")
        };
        let grouped = grouped(&[operator("a", OperatorProblem::Updating, ""), early]);
        assert_eq!(grouped[0].since, Timestamp::UNIX_EPOCH);
        assert_eq!(grouped[0].cluster_operator.as_deref(), Some("a, b"));
    }

    #[test]
    fn failing_prefers_blocking_failures() {
        let degraded = operator("a", OperatorProblem::Degraded, "Slow: very");
        let down = operator("b", OperatorProblem::NotAvailable, "Crash: loop");
        let updating = operator("c", OperatorProblem::Updating, "operator to 2");
        let error = failure("UpdatePayloadFailed", "Could not update x");
        let text = |failures: &[&Failure]| {
            let failures: Vec<Failure> = failures.iter().copied().cloned().collect();
            let found = failing(&failures);
            found.map_or("nothing".to_owned(), |FailureSummary { effect, reason, message }| {
                format!("{effect:?} {reason}: {message}")
            })
        };
        assert_eq!(text(&[]), "nothing");
        assert_eq!(text(&[&updating]), "nothing");
        insta::assert_snapshot!(text(&[&degraded, &updating]), @"Report ClusterOperatorDegraded: Cluster operator a is degraded: Slow: very");
        insta::assert_snapshot!(text(&[&degraded, &updating, &down]), @"Fail ClusterOperatorNotAvailable: Cluster operator b is not available: Crash: loop");
        insta::assert_snapshot!(text(&[&degraded, &error, &down, &error]), @r"
        Fail MultipleErrors: Several errors block the rollout:
        * Cluster operator b is not available: Crash: loop
        * Could not update x
        ");
    }

    #[test]
    fn failing_with_many_failures_is_truncated() {
        let failures: Vec<Failure> = (10..40)
            .map(|number| failure("UpdatePayloadFailed", &format!("number {number}")))
            .collect();
        let message = failing(&failures).unwrap().message;
        assert_eq!(message.lines().count(), 22);
        assert!(message.ends_with("* number 29\n* and 10 more"), "{message}");
    }
}

#[cfg(test)]
mod waiting_tests {
    use super::*;
    use crate::stage::rollout::cluster_operator::{OperatorDiagnosis, OperatorProblem};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn updating(name: &str, minutes: i64) -> Failure {
        let diagnosis = OperatorDiagnosis {
            problem: OperatorProblem::Updating,
            detail: "operator to 2".to_owned(),
        };
        operator_failure(name, &diagnosis, NOW - SignedDuration::from_mins(minutes))
    }

    fn text(failures: &[Failure]) -> String {
        waiting(failures, NOW).map_or(
            "nothing".to_owned(),
            |WaitSummary { reason, message, is_slow }| {
                format!("{reason} {message}{}", if is_slow { " (slow)" } else { "" })
            },
        )
    }

    #[test]
    fn waiting_ignores_blocking_failures() {
        let down =
            OperatorDiagnosis { problem: OperatorProblem::NotAvailable, detail: String::new() };
        assert_eq!(text(&[]), "nothing");
        assert_eq!(text(&[operator_failure("a", &down, NOW)]), "nothing");
    }

    #[test]
    fn waiting_longer_than_expected_is_slow() {
        insta::assert_snapshot!(text(&[updating("a", 30)]), @"ClusterOperatorUpdating waiting on a");
        insta::assert_snapshot!(text(&[updating("b", 1), updating("a", 30)]), @"ClusterOperatorsUpdating waiting on a, b");
        insta::assert_snapshot!(text(&[updating("b", 1), updating("a", 31)]), @"ClusterOperatorsUpdating waiting on a over 30 minutes which is longer than expected (slow)");
        insta::assert_snapshot!(text(&[updating("machine-config", 90)]), @"ClusterOperatorUpdating waiting on machine-config");
        insta::assert_snapshot!(text(&[updating("machine-config", 91)]), @"ClusterOperatorUpdating waiting on machine-config over 90 minutes which is longer than expected (slow)");
        insta::assert_snapshot!(text(&[updating("machine-config", 91), updating("b", 40), updating("a", 40)]), @"ClusterOperatorsUpdating waiting on a, b over 30 minutes and machine-config over 90 minutes which is longer than expected (slow)");
    }

    #[test]
    fn next_slow_returns_earliest_time() {
        let failures =
            [updating("a", 10), updating("machine-config", 80), updating("slow already", 40)];
        let next = next_slow(&failures, NOW).unwrap();
        assert_eq!(next, NOW + SignedDuration::from_secs(10 * 60 + 1));
        assert!(waiting(&failures[1..2], next).unwrap().is_slow);
        assert_eq!(next_slow(&failures[2..], NOW), None);
    }

    #[test]
    fn waiting_with_many_names_is_truncated() {
        let failures: Vec<Failure> =
            (10..22).map(|number| updating(&number.to_string(), 1)).collect();
        insta::assert_snapshot!(text(&failures), @"ClusterOperatorsUpdating waiting on 10, 11, 12, 13, 14, 15, 16, 17, 18, 19 and 2 more");
    }

    #[test]
    fn waiting_names_objects() {
        let deployment = Failure {
            effect: Effect::Wait,
            reason: reason::WORKLOAD_NOT_AVAILABLE.code,
            message: "deployment \"a/b\": 1 of 2 replicas are new".to_owned(),
            cluster_operator: None,
            since: NOW,
        };
        insta::assert_snapshot!(text(&[deployment.clone(), updating("network", 1)]), @r#"MultipleErrors waiting on deployment "a/b": 1 of 2 replicas are new, network"#);
        insta::assert_snapshot!(text(&[deployment]), @r#"WorkloadNotAvailable waiting on deployment "a/b": 1 of 2 replicas are new"#);
    }
}
