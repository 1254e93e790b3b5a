//! ClusterOperator status of an operator.

use fairway_api::cluster_operator::OperandVersion;
use fairway_api::{ClusterOperator, ClusterOperatorStatus, Conditions as _, OperatorCondition};
use jiff::Timestamp;

use super::behaviour::Behaviour;

/// The operand for the operator itself.
const OPERATOR: &str = "operator";

/// Inputs of the status.
pub(super) struct StatusInput<'a> {
    /// Version of the release.
    pub(super) version: &'a str,
    /// Simulated behaviour.
    pub(super) behaviour: &'a Behaviour,
    /// Whether the rollout of that version is complete.
    pub(super) rolled_out: bool,
}

/// A status, and whether it differs from the live one.
pub(super) struct ComposedStatus {
    pub(super) status: ClusterOperatorStatus,
    pub(super) changed: bool,
}

/// Composes the next status.
pub(super) fn compose(
    live: &ClusterOperator,
    input: &StatusInput<'_>,
    now: Timestamp,
) -> ComposedStatus {
    let before = live.status.clone().unwrap_or_default();
    let mut status = before.clone();
    let reached = before.version_of(OPERATOR);
    let completed =
        reached == Some(input.version) || (input.rolled_out && input.behaviour.stuck.is_none());
    for condition in conditions(input, reached, completed) {
        status.conditions.set(condition, now);
    }
    if completed {
        status.versions.retain(|version| version.name != OPERATOR);
        status.versions.push(OperandVersion {
            name: OPERATOR.to_owned(),
            version: input.version.to_owned(),
            ..OperandVersion::default()
        });
    }
    let changed = live.status.as_ref() != Some(&status);
    ComposedStatus { status, changed }
}

fn conditions(
    input: &StatusInput<'_>,
    reached: Option<&str>,
    completed: bool,
) -> [OperatorCondition; 4] {
    let StatusInput { version, behaviour, rolled_out: _ } = input;
    let transition = match reached {
        Some(reached) => format!("Updating from {reached} to {version}."),
        None => format!("Installing {version}."),
    };
    let works = reached.is_some() || completed;
    let available = match &behaviour.unavailable {
        Some(message) => {
            OperatorCondition::new("Available", false).reason(CONFIGURED).message(message)
        }
        None if works => OperatorCondition::new("Available", true).reason(AS_EXPECTED),
        None => OperatorCondition::new("Available", false).reason(INSTALLING).message(&transition),
    };
    let progressing = if completed {
        let message = format!("At version {version}.");
        OperatorCondition::new("Progressing", false).reason(AS_EXPECTED).message(message)
    } else if let Some(stuck) = &behaviour.stuck {
        let message = format!("{transition} {stuck}");
        OperatorCondition::new("Progressing", true).reason(CONFIGURED).message(message)
    } else {
        OperatorCondition::new("Progressing", true).reason(ROLLING_OUT).message(transition)
    };
    let meanwhile = behaviour.degraded_while_updating.as_ref().filter(|_| !completed);
    let degraded = condition("Degraded", true, behaviour.degraded.as_ref().or(meanwhile));
    let upgradeable = condition("Upgradeable", false, behaviour.not_upgradeable.as_ref());
    [available, progressing, degraded, upgradeable]
}

/// A condition with the configured message, or its normal state without one.
fn condition(type_: &str, configured: bool, message: Option<&String>) -> OperatorCondition {
    match message {
        Some(message) => {
            OperatorCondition::new(type_, configured).reason(CONFIGURED).message(message)
        }
        None => OperatorCondition::new(type_, !configured).reason(AS_EXPECTED),
    }
}

const AS_EXPECTED: &str = "AsExpected";
const CONFIGURED: &str = "Configured";
const INSTALLING: &str = "Installing";
const ROLLING_OUT: &str = "RollingOut";

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use fairway_api::ClusterOperatorSpec;

    use super::*;

    fn now() -> Timestamp {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    fn operator(version: Option<&str>) -> ClusterOperator {
        let versions = version.map(|version| OperandVersion {
            name: OPERATOR.to_owned(),
            version: version.to_owned(),
            ..OperandVersion::default()
        });
        let status = ClusterOperatorStatus {
            versions: versions.into_iter().collect(),
            ..ClusterOperatorStatus::default()
        };
        let new = ClusterOperator::new("network", ClusterOperatorSpec::default());
        ClusterOperator { status: Some(status), ..new }
    }

    fn describe(behaviour: &Behaviour, before: Option<&str>, rolled_out: bool) -> String {
        let input = StatusInput { version: "5.1.0", behaviour, rolled_out };
        let status = compose(&operator(before), &input, now()).status;
        let mut text = format!("{}:", status.version_of(OPERATOR).unwrap_or("no version"));
        for condition in &status.conditions {
            let status = condition.status.as_str();
            let reason = condition.reason.as_deref().unwrap_or_default();
            write!(text, "\n  {}={status} {reason}", condition.type_).unwrap();
            let message = condition.message.iter().map(|message| format!(" ({message})"));
            text.extend(message);
        }
        text
    }

    #[test]
    fn status_of_installation() {
        let well = Behaviour::default();
        insta::assert_snapshot!(describe(&well, None, false), @"
        no version:
          Available=False Installing (Installing 5.1.0.)
          Progressing=True RollingOut (Installing 5.1.0.)
          Degraded=False AsExpected
          Upgradeable=True AsExpected
        ");
        insta::assert_snapshot!(describe(&well, None, true), @"
        5.1.0:
          Available=True AsExpected
          Progressing=False AsExpected (At version 5.1.0.)
          Degraded=False AsExpected
          Upgradeable=True AsExpected
        ");
    }

    #[test]
    fn status_of_update() {
        let fragile = Behaviour {
            degraded_while_updating: Some("fragile".to_owned()),
            ..Behaviour::default()
        };
        insta::assert_snapshot!(describe(&fragile, Some("5.0.1"), false), @"
        5.0.1:
          Available=True AsExpected
          Progressing=True RollingOut (Updating from 5.0.1 to 5.1.0.)
          Degraded=True Configured (fragile)
          Upgradeable=True AsExpected
        ");
        insta::assert_snapshot!(describe(&fragile, Some("5.0.1"), true), @"
        5.1.0:
          Available=True AsExpected
          Progressing=False AsExpected (At version 5.1.0.)
          Degraded=False AsExpected
          Upgradeable=True AsExpected
        ");
    }

    #[test]
    fn status_with_configured_behaviour() {
        let text = |text: &str| Some(text.to_owned());
        let badly = Behaviour {
            degraded: text("degraded"),
            unavailable: text("unavailable"),
            not_upgradeable: text("not upgradeable"),
            stuck: text("stuck"),
            ..Behaviour::default()
        };
        insta::assert_snapshot!(describe(&badly, Some("5.0.1"), true), @"
        5.0.1:
          Available=False Configured (unavailable)
          Progressing=True Configured (Updating from 5.0.1 to 5.1.0. stuck)
          Degraded=True Configured (degraded)
          Upgradeable=False Configured (not upgradeable)
        ");
        insta::assert_snapshot!(describe(&badly, Some("5.1.0"), false), @"
        5.1.0:
          Available=False Configured (unavailable)
          Progressing=False AsExpected (At version 5.1.0.)
          Degraded=True Configured (degraded)
          Upgradeable=False Configured (not upgradeable)
        ");
    }

    #[test]
    fn unchanged_status_is_not_written() {
        let behaviour = Behaviour::default();
        let input = StatusInput { version: "5.1.0", behaviour: &behaviour, rolled_out: true };
        let mut live = operator(None);
        let first = compose(&live, &input, now());
        assert!(first.changed);
        live.status = Some(first.status);
        let later = now() + jiff::SignedDuration::from_hours(1);
        assert!(!compose(&live, &input, later).changed);
    }
}
