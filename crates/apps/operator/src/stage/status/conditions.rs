//! Conditions about the target release.

use std::collections::BTreeSet;

use fairway_api::cluster_version::{CapabilitiesStatus, Release};
use fairway_api::condition::wire_time;
use fairway_api::reason::{
    available, failing, implicitly_enabled_capabilities as implicit, progressing,
};
use fairway_api::{ConditionStatus, OperatorCondition, limits};
use jiff::Timestamp;

use crate::stage::rollout::summary::{self, FailureSummary};
use crate::stage::rollout::summary::{WaitSummary, waiting};
use crate::stage::rollout::{Effect, Phase, Rollout};
use crate::stage::target::Capabilities;

/// Name of a release in messages: its version or, if that is unknown, its image.
fn name(release: &Release) -> &str {
    let names = [release.version.as_str(), release.image.as_str()];
    names.into_iter().find(|name| !name.is_empty()).unwrap_or("<unknown>")
}

/// `Available`, once the release is complete. Until then, the release before is available.
pub(super) fn available(release: &Release, rollout: &Rollout) -> Option<OperatorCondition> {
    let done = rollout.phase == Phase::Reconciling;
    done.then(|| {
        OperatorCondition::new(available::TYPE, true)
            .message(format!("Done applying {}", name(release)))
    })
}

/// The initial `Available`.
pub(super) fn initial_available() -> OperatorCondition {
    OperatorCondition::new(available::TYPE, false)
}

/// `ImplicitlyEnabledCapabilities`. Enabled capabilities cannot be disabled.
pub(super) fn implicitly_enabled_capabilities(capabilities: &Capabilities) -> OperatorCondition {
    if capabilities.implicit.is_empty() {
        return OperatorCondition::new(implicit::TYPE, false)
            .reason(implicit::AS_EXPECTED)
            .message("Capabilities match configured spec");
    }
    let names: Vec<&str> = capabilities.implicit.iter().map(String::as_str).collect();
    OperatorCondition::new(implicit::TYPE, true)
        .reason(implicit::CAPABILITIES_IMPLICITLY_ENABLED)
        .message(format!("The following capabilities could not be disabled: {}", names.join(", ")))
}

/// The capabilities of the status. Names that the API server rejects are omitted, because it would
/// reject the whole status.
pub(super) fn capabilities_status(
    before: Option<CapabilitiesStatus>,
    capabilities: &Capabilities,
) -> CapabilitiesStatus {
    let is_legal = |name: &&String| (1..=limits::CAPABILITY).contains(&name.chars().count());
    let names = |set: &BTreeSet<String>| {
        set.iter().filter(is_legal).take(limits::CAPABILITIES).cloned().collect()
    };
    CapabilitiesStatus {
        enabled_capabilities: names(&capabilities.enabled),
        known_capabilities: names(&capabilities.known),
        ..before.unwrap_or_default()
    }
}

/// `Failing`. An operator that is slower than expected makes it `Unknown`.
pub(super) fn failing(rollout: &Rollout, now: Timestamp) -> OperatorCondition {
    if let Some(FailureSummary { reason, message, .. }) = summary::failing(&rollout.failures) {
        return OperatorCondition::new(failing::TYPE, true).reason(reason).message(message);
    }
    match waiting(&rollout.failures, now).filter(|waiting| waiting.is_slow) {
        Some(waiting) => OperatorCondition::new(failing::TYPE, ConditionStatus::Unknown)
            .reason(failing::SLOW_CLUSTER_OPERATOR)
            .message(waiting.message),
        None => initial_failing(),
    }
}

/// The initial `Failing`.
pub(super) fn initial_failing() -> OperatorCondition {
    OperatorCondition::new(failing::TYPE, false)
}

/// `Failing` for a release without an image.
pub(super) fn failing_without_image(release: &Release) -> Option<OperatorCondition> {
    release.image.is_empty().then(|| {
        OperatorCondition::new(failing::TYPE, true).reason(failing::NO_DESIRED_IMAGE).message(
            "The release image of the operator is unknown, so the operator cannot roll out a \
                 release",
        )
    })
}

/// `Progressing`. `kubectl get clusterversion` shows its message, so it is one line.
pub(super) fn progressing(
    release: &Release,
    rollout: &Rollout,
    is_invalid: bool,
    now: Timestamp,
) -> OperatorCondition {
    let failing = summary::failing(&rollout.failures);
    match rollout.phase {
        Phase::Reconciling => reconciling(release, failing.as_ref(), is_invalid),
        Phase::Installing | Phase::Updating => {
            let blocking = failing.as_ref().filter(|summary| summary.effect == Effect::Fail);
            match blocking {
                Some(failure) => blocked(release, rollout, failure),
                None => in_progress(release, rollout, is_invalid, now),
            }
        }
    }
}

/// `Progressing` before the first progress of the rollout.
pub(super) fn initial_progressing(release: &Release) -> OperatorCondition {
    progressing_condition(true, format!("Working towards {}", name(release)))
}

fn progressing_condition(holds: bool, message: String) -> OperatorCondition {
    OperatorCondition::new(progressing::TYPE, holds).message(message)
}

fn reconciling(
    release: &Release,
    failing: Option<&FailureSummary>,
    is_invalid: bool,
) -> OperatorCondition {
    let name = name(release);
    match failing {
        Some(failure) => {
            let why = in_one_line(&failure.message);
            let message = format!("Error while reconciling {name}: {why}");
            progressing_condition(false, message).reason(failure.reason)
        }
        None if is_invalid => progressing_condition(
            false,
            format!("Stopped at {name}: the cluster version is invalid"),
        )
        .reason(progressing::INVALID_CLUSTER_VERSION),
        None => progressing_condition(false, format!("Cluster version is {name}")),
    }
}

fn blocked(release: &Release, rollout: &Rollout, failure: &FailureSummary) -> OperatorCondition {
    let (name, why) = (name(release), in_one_line(&failure.message));
    let progress = progress(rollout).map_or_else(String::new, |done| format!("; {done}"));
    progressing_condition(true, format!("Unable to apply {name}: {why}{progress}"))
        .reason(failure.reason)
}

fn in_progress(
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
        return progressing_condition(true, message).reason(progressing::INVALID_CLUSTER_VERSION);
    }
    let waiting = waiting(&rollout.failures, now);
    let awaited = waiting.as_ref().map(|waiting| awaited(waiting, rollout));
    let message = format!("Working towards {name}{}", after_colon(&[progress(rollout), awaited]));
    let condition = progressing_condition(true, message);
    match waiting {
        Some(waiting) => condition.reason(waiting.reason),
        None => condition,
    }
}

/// What the rollout waits for, with the start time: a duration would need a write every second.
fn awaited(waiting: &WaitSummary, rollout: &Rollout) -> String {
    let awaited = rollout.failures.iter().filter(|failure| failure.effect == Effect::Wait);
    match awaited.map(|failure| failure.since).min() {
        Some(since) if !waiting.is_slow => {
            format!("{} since {}", waiting.message, wire_time(since).0)
        }
        _ => waiting.message.clone(),
    }
}

/// Number of applied manifests, once there is one.
fn progress(rollout: &Rollout) -> Option<String> {
    let Rollout { done, total, .. } = rollout;
    let percent = done.saturating_mul(100).checked_div(*total)?;
    (*done > 0).then(|| format!("{done} of {total} done ({percent}% complete)"))
}

fn after_colon(parts: &[Option<String>]) -> String {
    let parts: Vec<&str> = parts.iter().flatten().map(String::as_str).collect();
    if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) }
}

/// A message that may be a list, as the end of a sentence.
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
