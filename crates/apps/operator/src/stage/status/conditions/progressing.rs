//! The condition `Progressing`: whether the cluster is on its way to a release, and how far it is.
//!
//! `kubectl get clusterversion` shows the message: it is one line, and says what is waited for.

use fairway_api::OperatorCondition;
use fairway_api::cluster_version::Release;
use fairway_api::condition::wire_time;
use fairway_api::reason::progressing;
use jiff::Timestamp;

use super::name;
use crate::stage::rollout::failure::{Summary, failing};
use crate::stage::rollout::waiting::{Waiting, waiting};
use crate::stage::rollout::{Effect, Phase, Rollout};

/// How far the release is, and whether something in the spec cannot be used.
pub(in super::super) fn condition(
    release: &Release,
    rollout: &Rollout,
    is_invalid: bool,
    now: Timestamp,
) -> OperatorCondition {
    let failing = failing(&rollout.failures);
    match rollout.phase {
        Phase::Reconciling => kept(release, failing.as_ref(), is_invalid),
        Phase::Installing | Phase::Updating => {
            let blocking = failing.as_ref().filter(|summary| summary.effect == Effect::Fail);
            match blocking {
                Some(failure) => blocked(release, rollout, failure),
                None => on_the_way(release, rollout, is_invalid, now),
            }
        }
    }
}

/// Before the rollout of the release has said anything.
pub(in super::super) fn begun(release: &Release) -> OperatorCondition {
    progressing(true, format!("Working towards {}", name(release)))
}

fn progressing(holds: bool, message: String) -> OperatorCondition {
    OperatorCondition::new(progressing::TYPE, holds).message(message)
}

fn kept(release: &Release, failing: Option<&Summary>, is_invalid: bool) -> OperatorCondition {
    let name = name(release);
    match failing {
        Some(failure) => {
            let why = in_one_line(&failure.message);
            let message = format!("Error while reconciling {name}: {why}");
            progressing(false, message).reason(failure.reason)
        }
        None if is_invalid => {
            progressing(false, format!("Stopped at {name}: the cluster version is invalid"))
                .reason(progressing::INVALID_CLUSTER_VERSION)
        }
        None => progressing(false, format!("Cluster version is {name}")),
    }
}

fn blocked(release: &Release, rollout: &Rollout, failure: &Summary) -> OperatorCondition {
    let (name, why) = (name(release), in_one_line(&failure.message));
    let progress = progress(rollout).map_or_else(String::new, |done| format!("; {done}"));
    progressing(true, format!("Unable to apply {name}: {why}{progress}")).reason(failure.reason)
}

fn on_the_way(
    release: &Release,
    rollout: &Rollout,
    is_invalid: bool,
    now: Timestamp,
) -> OperatorCondition {
    let name = name(release);
    if is_invalid {
        let message = format!(
            "Working towards {name}{}; the cluster version is invalid",
            after_colon(&[progress(rollout)])
        );
        return progressing(true, message).reason(progressing::INVALID_CLUSTER_VERSION);
    }
    let waiting = waiting(&rollout.failures, now);
    let awaited = waiting.as_ref().map(|waiting| awaited(waiting, rollout));
    let message = format!("Working towards {name}{}", after_colon(&[progress(rollout), awaited]));
    let condition = progressing(true, message);
    match waiting {
        Some(waiting) => condition.reason(waiting.reason),
        None => condition,
    }
}

/// What is waited for, and since when: how long that is, everybody can tell without the status
/// being written again and again.
fn awaited(waiting: &Waiting, rollout: &Rollout) -> String {
    let awaited = rollout.failures.iter().filter(|failure| failure.effect == Effect::Wait);
    match awaited.map(|failure| failure.since).min() {
        Some(since) if !waiting.is_slow => {
            format!("{} since {}", waiting.message, wire_time(since).0)
        }
        _ => waiting.message.clone(),
    }
}

/// How much is done, once something is.
fn progress(rollout: &Rollout) -> Option<String> {
    let Rollout { done, total, .. } = rollout;
    let percent = done.saturating_mul(100).checked_div(*total)?;
    (*done > 0).then(|| format!("{done} of {total} done ({percent}% complete)"))
}

fn after_colon(parts: &[Option<String>]) -> String {
    let parts: Vec<&str> = parts.iter().flatten().map(String::as_str).collect();
    if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) }
}

/// A text that may be a list, as the end of a sentence.
fn in_one_line(message: &str) -> String {
    let mut lines = message.split('\n').map(|line| line.trim_start_matches("* "));
    let first = lines.next().unwrap_or_default();
    let rest: Vec<&str> = lines.collect();
    let mut line = first.to_owned();
    if let Some(letter) = line.get_mut(..1) {
        letter.make_ascii_lowercase();
    }
    if !rest.is_empty() {
        line.push(' ');
        line.push_str(&rest.join("; "));
    }
    line
}
