//! What an operator says about itself.

use fairway_api::cluster_operator::OperandVersion;
use fairway_api::{ClusterOperator, ClusterOperatorStatus, Conditions as _, OperatorCondition};
use jiff::Timestamp;

use super::behaviour::Behaviour;

/// The operand that is the operator itself.
const OPERATOR: &str = "operator";

/// What there is to report about.
pub(super) struct Situation<'a> {
    /// The version of its release.
    pub(super) version: &'a str,
    /// What it was told.
    pub(super) behaviour: &'a Behaviour,
    /// Whether it had the time to roll that version out.
    pub(super) rolled_out: bool,
}

/// A status, and whether it differs from the one that is there.
pub(super) struct Report {
    pub(super) status: ClusterOperatorStatus,
    pub(super) changed: bool,
}

/// Composes the status that follows the present one.
pub(super) fn compose(live: &ClusterOperator, situation: &Situation<'_>, now: Timestamp) -> Report {
    let before = live.status.clone().unwrap_or_default();
    let mut status = before.clone();
    let reached = before.version_of(OPERATOR);
    let arrived = reached == Some(situation.version)
        || (situation.rolled_out && situation.behaviour.stuck.is_none());
    for condition in conditions(situation, reached, arrived) {
        status.conditions.set(condition, now);
    }
    if arrived {
        status.versions.retain(|version| version.name != OPERATOR);
        status.versions.push(OperandVersion {
            name: OPERATOR.to_owned(),
            version: situation.version.to_owned(),
            ..OperandVersion::default()
        });
    }
    let changed = live.status.as_ref() != Some(&status);
    Report { status, changed }
}

fn conditions(
    situation: &Situation<'_>,
    reached: Option<&str>,
    arrived: bool,
) -> [OperatorCondition; 4] {
    let Situation { version, behaviour, rolled_out: _ } = situation;
    let on_the_way = match reached {
        Some(reached) => format!("Updating from {reached} to {version}."),
        None => format!("Installing {version}."),
    };
    let works = reached.is_some() || arrived;
    let available = match &behaviour.unavailable {
        Some(message) => {
            OperatorCondition::new("Available", false).reason(AS_TOLD).message(message)
        }
        None if works => OperatorCondition::new("Available", true).reason(AS_EXPECTED),
        None => OperatorCondition::new("Available", false).reason(INSTALLING).message(&on_the_way),
    };
    let progressing = if arrived {
        let message = format!("At version {version}.");
        OperatorCondition::new("Progressing", false).reason(AS_EXPECTED).message(message)
    } else if let Some(stuck) = &behaviour.stuck {
        let message = format!("{on_the_way} {stuck}");
        OperatorCondition::new("Progressing", true).reason(AS_TOLD).message(message)
    } else {
        OperatorCondition::new("Progressing", true).reason(ROLLING_OUT).message(on_the_way)
    };
    let meanwhile = behaviour.degraded_while_updating.as_ref().filter(|_| !arrived);
    let degraded = told("Degraded", true, behaviour.degraded.as_ref().or(meanwhile));
    let upgradeable = told("Upgradeable", false, behaviour.not_upgradeable.as_ref());
    [available, progressing, degraded, upgradeable]
}

/// A condition that is as told, or the opposite where nothing is told.
fn told(type_: &str, as_told: bool, message: Option<&String>) -> OperatorCondition {
    match message {
        Some(message) => OperatorCondition::new(type_, as_told).reason(AS_TOLD).message(message),
        None => OperatorCondition::new(type_, !as_told).reason(AS_EXPECTED),
    }
}

const AS_EXPECTED: &str = "AsExpected";
const AS_TOLD: &str = "AsTold";
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

    fn told(behaviour: &Behaviour, before: Option<&str>, rolled_out: bool) -> String {
        let situation = Situation { version: "5.1.0", behaviour, rolled_out };
        let status = compose(&operator(before), &situation, now()).status;
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
    fn from_nothing_to_a_version() {
        let well = Behaviour::default();
        insta::assert_snapshot!(told(&well, None, false), @"
        no version:
          Available=False Installing (Installing 5.1.0.)
          Progressing=True RollingOut (Installing 5.1.0.)
          Degraded=False AsExpected
          Upgradeable=True AsExpected
        ");
        insta::assert_snapshot!(told(&well, None, true), @"
        5.1.0:
          Available=True AsExpected
          Progressing=False AsExpected (At version 5.1.0.)
          Degraded=False AsExpected
          Upgradeable=True AsExpected
        ");
    }

    #[test]
    fn from_a_version_to_the_next() {
        let fragile = Behaviour {
            degraded_while_updating: Some("fragile".to_owned()),
            ..Behaviour::default()
        };
        insta::assert_snapshot!(told(&fragile, Some("5.0.1"), false), @"
        5.0.1:
          Available=True AsExpected
          Progressing=True RollingOut (Updating from 5.0.1 to 5.1.0.)
          Degraded=True AsTold (fragile)
          Upgradeable=True AsExpected
        ");
        insta::assert_snapshot!(told(&fragile, Some("5.0.1"), true), @"
        5.1.0:
          Available=True AsExpected
          Progressing=False AsExpected (At version 5.1.0.)
          Degraded=False AsExpected
          Upgradeable=True AsExpected
        ");
    }

    #[test]
    fn whatever_it_is_told() {
        let text = |text: &str| Some(text.to_owned());
        let badly = Behaviour {
            degraded: text("degraded"),
            unavailable: text("unavailable"),
            not_upgradeable: text("not upgradeable"),
            stuck: text("stuck"),
            ..Behaviour::default()
        };
        insta::assert_snapshot!(told(&badly, Some("5.0.1"), true), @"
        5.0.1:
          Available=False AsTold (unavailable)
          Progressing=True AsTold (Updating from 5.0.1 to 5.1.0. stuck)
          Degraded=True AsTold (degraded)
          Upgradeable=False AsTold (not upgradeable)
        ");
        insta::assert_snapshot!(told(&badly, Some("5.1.0"), false), @"
        5.1.0:
          Available=False AsTold (unavailable)
          Progressing=False AsExpected (At version 5.1.0.)
          Degraded=True AsTold (degraded)
          Upgradeable=False AsTold (not upgradeable)
        ");
    }

    #[test]
    fn what_was_said_is_not_said_again() {
        let behaviour = Behaviour::default();
        let situation = Situation { version: "5.1.0", behaviour: &behaviour, rolled_out: true };
        let mut live = operator(None);
        let first = compose(&live, &situation, now());
        assert!(first.changed);
        live.status = Some(first.status);
        let later = now() + jiff::SignedDuration::from_hours(1);
        assert!(!compose(&live, &situation, later).changed);
    }
}
