//! Several failures in one sentence.
//!
//! [`failing`] is what the condition `Failing` says, [`waiting`](super::waiting::waiting) what
//! `Progressing` says of what is waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use fairway_api::reason::rollout as reason;
use jiff::Timestamp;

use super::cluster_operator::{Complaint, Trouble};
use super::{Effect, Failure};

/// Failures that are listed; who has more looks at the objects themselves.
const MOST_LISTED: usize = 20;

/// Failures as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// What follows from them: they stand in the way, or are only told.
    pub effect: Effect,
    /// A reason of [`fairway_api::reason::rollout`].
    pub reason: &'static str,
    /// What people read.
    pub message: String,
}

/// What is failing: what stands in the way or, where nothing does, what is only to be told. What is
/// waited for as expected is neither.
pub fn failing(failures: &[Failure]) -> Option<Summary> {
    [Effect::Fail, Effect::Report].into_iter().find_map(|effect| {
        let meant = failures.iter().filter(|failure| failure.effect == effect);
        summary(effect, &condensed(meant))
    })
}

fn summary(effect: Effect, failures: &[Failure]) -> Option<Summary> {
    match failures {
        [] => None,
        [Failure { reason, message, .. }] => {
            Some(Summary { effect, reason, message: message.clone() })
        }
        several => {
            let said: BTreeSet<&str> =
                several.iter().map(|failure| failure.message.as_str()).collect();
            let first = match effect {
                Effect::Report => "Multiple problems are reported:",
                Effect::Wait | Effect::Fail => "Multiple errors are preventing progress:",
            };
            let listed = said.iter().take(MOST_LISTED).map(|line| format!("\n* {line}"));
            let rest = said.len().saturating_sub(MOST_LISTED);
            let rest = (rest > 0).then(|| format!("\n* and {rest} more"));
            let message = iter::once(first.to_owned()).chain(listed).chain(rest).collect();
            Some(Summary { effect, reason: reason::MULTIPLE_ERRORS.code, message })
        }
    }
}

/// The same with one failure for all cluster operators of one reason. Others stay as they are, and
/// come first.
pub(super) fn condensed<'a>(failures: impl IntoIterator<Item = &'a Failure>) -> Vec<Failure> {
    let mut condensed = Vec::new();
    let mut by_reason: BTreeMap<&str, (Complaint, Vec<&Failure>)> = BTreeMap::new();
    for failure in failures {
        let complaint = Complaint::of_reason(failure.reason);
        match complaint.filter(|_| failure.cluster_operator.is_some()) {
            Some(complaint) => {
                by_reason.entry(failure.reason).or_insert((complaint, Vec::new())).1.push(failure);
            }
            None => condensed.push(failure.clone()),
        }
    }
    condensed.extend(by_reason.into_values().map(|(complaint, group)| together(complaint, &group)));
    condensed
}

fn together(complaint: Complaint, group: &[&Failure]) -> Failure {
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
    let said = |(name, failure): &(&str, &Failure)| {
        let detail = failure.message.strip_prefix(&complaint.sentence(name))?.strip_prefix(": ")?;
        Some(format!("{name}: {detail}"))
    };
    let details: Vec<String> = members.iter().take(MOST_LISTED).filter_map(said).collect();
    let sentence = complaint.plural_sentence(&names);
    let message =
        if details.is_empty() { sentence } else { format!("{sentence}: {}", details.join("; ")) };
    Failure {
        effect: group.iter().map(|failure| failure.effect).max().unwrap_or(Effect::Report),
        reason: complaint.plural_reason().code,
        message,
        cluster_operator: Some(names),
        since: group.iter().map(|failure| failure.since).min().unwrap_or_default(),
    }
}

/// A failure because of a cluster operator.
pub(super) fn of_cluster_operator(name: &str, trouble: &Trouble, now: Timestamp) -> Failure {
    let Trouble { complaint, detail } = trouble;
    Failure {
        effect: complaint.effect(),
        reason: complaint.reason().code,
        message: format!("{}: {detail}", complaint.sentence(name)),
        cluster_operator: Some(name.to_owned()),
        since: now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(reason: &'static str, message: &str) -> Failure {
        let since = Timestamp::from_second(7).unwrap();
        let message = message.to_owned();
        Failure { effect: Effect::Fail, reason, message, cluster_operator: None, since }
    }

    fn operator(name: &str, complaint: Complaint, detail: &str) -> Failure {
        let trouble = Trouble { complaint, detail: detail.to_owned() };
        of_cluster_operator(name, &trouble, Timestamp::from_second(9).unwrap())
    }

    type Said<'a> = (Effect, &'a str, &'a str);

    fn said(failures: &[Failure]) -> Vec<Said<'_>> {
        let said = |failure: &Failure| (failure.effect, failure.reason);
        let texts = failures.iter().map(|failure| failure.message.as_str());
        let pairs = failures.iter().map(said).zip(texts);
        pairs.map(|((effect, reason), message)| (effect, reason, message)).collect()
    }

    #[test]
    fn cluster_operators_of_one_reason_are_one_failure() {
        use Complaint::{Degraded, NotAvailable};
        let cases: [(Vec<Failure>, Vec<Said>); 5] = [
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
            let condensed = condensed(&failures);
            assert_eq!(said(&condensed), expected);
        }
    }

    #[test]
    fn what_was_first_counts_for_a_group() {
        let early =
            Failure { since: Timestamp::UNIX_EPOCH, ..operator("b", Complaint::Updating, "") };
        let condensed = condensed(&[operator("a", Complaint::Updating, ""), early]);
        assert_eq!(condensed[0].since, Timestamp::UNIX_EPOCH);
        assert_eq!(condensed[0].cluster_operator.as_deref(), Some("a, b"));
    }

    #[test]
    fn what_stands_in_the_way_outweighs_the_rest() {
        let degraded = operator("a", Complaint::Degraded, "Slow: very");
        let down = operator("b", Complaint::NotAvailable, "Crash: loop");
        let updating = operator("c", Complaint::Updating, "operator to 2");
        let error = failure("UpdatePayloadFailed", "Could not update x");
        let text = |failures: &[&Failure]| {
            let failures: Vec<Failure> = failures.iter().copied().cloned().collect();
            let found = failing(&failures);
            found.map_or("nothing".to_owned(), |Summary { effect, reason, message }| {
                format!("{effect:?} {reason}: {message}")
            })
        };
        assert_eq!(text(&[]), "nothing");
        assert_eq!(text(&[&updating]), "nothing");
        insta::assert_snapshot!(text(&[&degraded, &updating]), @"Report ClusterOperatorDegraded: Cluster operator a is degraded: Slow: very");
        insta::assert_snapshot!(text(&[&degraded, &updating, &down]), @"Fail ClusterOperatorNotAvailable: Cluster operator b is not available: Crash: loop");
        insta::assert_snapshot!(text(&[&degraded, &error, &down, &error]), @r"
        Fail MultipleErrors: Multiple errors are preventing progress:
        * Cluster operator b is not available: Crash: loop
        * Could not update x
        ");
    }

    #[test]
    fn a_long_list_is_cut() {
        let failures: Vec<Failure> = (10..40)
            .map(|number| failure("UpdatePayloadFailed", &format!("number {number}")))
            .collect();
        let message = failing(&failures).unwrap().message;
        assert_eq!(message.lines().count(), 22);
        assert!(message.ends_with("* number 29\n* and 10 more"), "{message}");
    }
}
