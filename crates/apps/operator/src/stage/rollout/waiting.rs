//! What is waited for as expected, and what takes longer than that.

use fairway_api::reason::rollout as reason;
use jiff::{SignedDuration, Timestamp};

use super::failure::condensed;
use super::{Effect, Failure};

/// Operators are to reach their version within 20 minutes; some are a little slower.
const USUAL: SignedDuration = SignedDuration::from_mins(30);

/// It restarts every node, one after the other.
const NODES: (&str, SignedDuration) = ("machine-config", SignedDuration::from_mins(90));

/// What is named of all that is waited for: a new cluster waits for everything at once.
const MOST_NAMED: usize = 10;

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// A reason of [`fairway_api::reason::rollout`].
    pub reason: &'static str,
    /// What people read, as the end of a sentence: `waiting on network, storage`.
    pub message: String,
    /// Whether some of it takes longer than expected.
    pub is_slow: bool,
}

/// What is waited for as expected, if something is.
pub fn waiting(failures: &[Failure], now: Timestamp) -> Option<Waiting> {
    let awaited: Vec<&Failure> =
        failures.iter().filter(|failure| failure.effect == Effect::Wait).collect();
    let reason = match condensed(awaited.iter().copied()).as_slice() {
        [] => return None,
        [one] => one.reason,
        _ => reason::MULTIPLE_ERRORS.code,
    };
    let slow: Vec<&Failure> =
        awaited.iter().copied().filter(|failure| is_slow(failure, now)).collect();
    let is_slow = !slow.is_empty();
    let message =
        if is_slow { slow_text(&slow) } else { format!("waiting on {}", names(&awaited)) };
    Some(Waiting { reason, message, is_slow })
}

/// When the next of what is waited for takes longer than expected, if nothing changes until then.
pub fn next_slow(failures: &[Failure], now: Timestamp) -> Option<Timestamp> {
    let awaited = failures.iter().filter(|failure| failure.effect == Effect::Wait);
    let ends = awaited.filter(|failure| !is_slow(failure, now)).filter_map(|failure| {
        // A moment later it is longer than that.
        failure
            .since
            .checked_add(usual(failure))
            .ok()?
            .checked_add(SignedDuration::from_secs(1))
            .ok()
    });
    ends.min()
}

fn is_slow(failure: &Failure, now: Timestamp) -> bool {
    now.duration_since(failure.since) > usual(failure)
}

fn usual(failure: &Failure) -> SignedDuration {
    if is_of_nodes(failure) { NODES.1 } else { USUAL }
}

fn is_of_nodes(failure: &Failure) -> bool {
    failure.cluster_operator.as_deref() == Some(NODES.0)
}

fn slow_text(slow: &[&Failure]) -> String {
    let (nodes, others): (Vec<&Failure>, Vec<&Failure>) =
        slow.iter().copied().partition(|failure| is_of_nodes(failure));
    let mut parts = Vec::new();
    if !others.is_empty() {
        parts.push(format!("{} over {} minutes", names(&others), USUAL.as_mins()));
    }
    if !nodes.is_empty() {
        parts.push(format!("{} over {} minutes", NODES.0, NODES.1.as_mins()));
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
    let rest = names.len().saturating_sub(MOST_NAMED);
    names.truncate(MOST_NAMED);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{}{rest}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::rollout::cluster_operator::{Complaint, Trouble};
    use crate::stage::rollout::failure::of_cluster_operator;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn updating(name: &str, minutes: i64) -> Failure {
        let trouble =
            Trouble { complaint: Complaint::Updating, detail: "operator to 2".to_owned() };
        of_cluster_operator(name, &trouble, NOW - SignedDuration::from_mins(minutes))
    }

    fn text(failures: &[Failure]) -> String {
        waiting(failures, NOW).map_or(
            "nothing".to_owned(),
            |Waiting { reason, message, is_slow }| {
                format!("{reason} {message}{}", if is_slow { " (slow)" } else { "" })
            },
        )
    }

    #[test]
    fn only_what_is_expected_is_waited_for() {
        let down = Trouble { complaint: Complaint::NotAvailable, detail: String::new() };
        assert_eq!(text(&[]), "nothing");
        assert_eq!(text(&[of_cluster_operator("a", &down, NOW)]), "nothing");
    }

    #[test]
    fn what_takes_long_is_told_apart() {
        insta::assert_snapshot!(text(&[updating("a", 30)]), @"ClusterOperatorUpdating waiting on a");
        insta::assert_snapshot!(text(&[updating("b", 1), updating("a", 30)]), @"ClusterOperatorsUpdating waiting on a, b");
        insta::assert_snapshot!(text(&[updating("b", 1), updating("a", 31)]), @"ClusterOperatorsUpdating waiting on a over 30 minutes which is longer than expected (slow)");
        insta::assert_snapshot!(text(&[updating("machine-config", 90)]), @"ClusterOperatorUpdating waiting on machine-config");
        insta::assert_snapshot!(text(&[updating("machine-config", 91)]), @"ClusterOperatorUpdating waiting on machine-config over 90 minutes which is longer than expected (slow)");
        insta::assert_snapshot!(text(&[updating("machine-config", 91), updating("b", 40), updating("a", 40)]), @"ClusterOperatorsUpdating waiting on a, b over 30 minutes and machine-config over 90 minutes which is longer than expected (slow)");
    }

    #[test]
    fn it_is_known_when_something_becomes_slow() {
        let failures =
            [updating("a", 10), updating("machine-config", 80), updating("slow already", 40)];
        let next = next_slow(&failures, NOW).unwrap();
        assert_eq!(next, NOW + SignedDuration::from_secs(10 * 60 + 1));
        assert!(waiting(&failures[1..2], next).unwrap().is_slow);
        assert_eq!(next_slow(&failures[2..], NOW), None);
    }

    #[test]
    fn a_long_list_is_cut() {
        let failures: Vec<Failure> =
            (10..22).map(|number| updating(&number.to_string(), 1)).collect();
        insta::assert_snapshot!(text(&failures), @"ClusterOperatorsUpdating waiting on 10, 11, 12, 13, 14, 15, 16, 17, 18, 19 and 2 more");
    }

    #[test]
    fn objects_are_waited_for_too() {
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
