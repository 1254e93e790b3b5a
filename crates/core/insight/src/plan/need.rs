//! What has to be done before an update on the way.

use std::collections::BTreeMap;

use fairway_api::reason::upgradeable;
use fairway_risk::Source;
use fairway_risk::sources::Gate;
use schemars::JsonSchema;
use serde::Serialize;

use super::concerns::UPGRADEABLE_FALSE;
use super::hop::HopRisk;
use crate::shell::Word;

/// What the names of risks about operators of OLM begin with.
const OPERATOR_RISKS: [&str; 2] = ["OperatorWillNotRun-", "OperatorApisMissing-"];

/// Action that an update needs first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "type")]
pub enum Prerequisite {
    /// Wait until the update in progress has completed.
    Wait,
    /// Repair the cluster.
    Repair {
        /// Condition of ClusterVersion that reports the problem.
        condition: String,
        /// Message of the condition.
        message: String,
        /// Risk that reports the problem, if it only blocks some updates.
        risk: Option<String>,
    },
    /// Update or remove an OLM operator.
    Operator {
        /// Risk that reports the operator, and that can be accepted instead.
        risk: String,
        /// Operator, as `namespace/name`.
        operator: String,
    },
    /// Resolve a problem of a component.
    Component {
        /// Risk that reports the component, and that can be accepted instead.
        risk: String,
        /// Name of the component.
        component: String,
    },
    /// Acknowledge an admin gate.
    Confirmation {
        /// Risk that reports the admin gate.
        risk: String,
        /// Text of the admin gate.
        message: String,
        /// Command that acknowledges it.
        command: String,
    },
    /// Change the channel.
    Channel {
        /// Name of the channel.
        channel: String,
    },
    /// Run a preflight, because the update skips a minor version.
    Preflight {
        /// Version of the target release.
        version: String,
    },
    /// Accept a risk.
    Acceptance {
        /// Name of the risk.
        risk: String,
    },
}

impl Prerequisite {
    /// The risk that asks for it.
    pub fn risk(&self) -> Option<&str> {
        match self {
            Self::Operator { risk, .. }
            | Self::Component { risk, .. }
            | Self::Confirmation { risk, .. }
            | Self::Acceptance { risk } => Some(risk),
            Self::Repair { risk, .. } => risk.as_deref(),
            Self::Wait | Self::Channel { .. } | Self::Preflight { .. } => None,
        }
    }

    /// The command that it brings along.
    pub(super) fn command_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Confirmation { command, .. } => Some(command),
            _ => None,
        }
    }

    /// The command that sees to it, where one command does.
    fn command(&self) -> Option<String> {
        match self {
            Self::Confirmation { command, .. } => Some(command.clone()),
            Self::Channel { channel } => Some(format!("fairway upgrade channel {}", Word(channel))),
            Self::Preflight { version } => {
                Some(format!("fairway upgrade --mode=preflight --to={version} --wait"))
            }
            Self::Wait => Some(WATCH.to_owned()),
            Self::Repair { .. }
            | Self::Operator { .. }
            | Self::Component { .. }
            | Self::Acceptance { .. } => None,
        }
    }
}

/// What waits for the end of an update.
const WATCH: &str = "fairway upgrade status --watch";

/// Everything that risks ask for before an update, and these, in order.
pub(super) fn all(
    risks: &[HopRisk],
    gates: &BTreeMap<String, Gate>,
    others: impl IntoIterator<Item = Prerequisite>,
) -> Vec<Prerequisite> {
    let standing = risks.iter().filter(|risk| risk.blocking);
    let needs = standing.map(|risk| of_risk(risk, gates)).chain(others);
    let mut needs: Vec<Prerequisite> = needs.collect();
    needs.sort_by_key(order);
    needs
}

/// What a risk asks for. One of which nobody knows whether it applies has to be accepted, too: the
/// operator holds updates back for either.
fn of_risk(it: &HopRisk, gates: &BTreeMap<String, Gate>) -> Prerequisite {
    let risk = it.name.clone();
    if let Some(gate) = gates.get(&it.name) {
        let (message, command) = (gate.message.clone(), gate.confirm.clone());
        return Prerequisite::Confirmation { risk, message, command };
    }
    if it.name == UPGRADEABLE_FALSE {
        let (condition, message) = (upgradeable::TYPE.to_owned(), it.message.clone());
        return Prerequisite::Repair { condition, message, risk: Some(risk) };
    }
    let named = OPERATOR_RISKS.iter().find_map(|prefix| it.name.strip_prefix(prefix));
    match (&it.source, named.and_then(|name| name.split_once(':'))) {
        (Source::RiskReport(_), Some((namespace, name))) => {
            Prerequisite::Operator { risk, operator: format!("{namespace}/{name}") }
        }
        (Source::Upgradeable(component), _) => {
            Prerequisite::Component { risk, component: component.clone() }
        }
        _ => Prerequisite::Acceptance { risk },
    }
}

/// What takes longest comes first, and what is withdrawn by nothing else comes last.
fn order(need: &Prerequisite) -> u8 {
    match need {
        Prerequisite::Wait => 0,
        Prerequisite::Repair { .. } => 1,
        Prerequisite::Operator { .. } => 2,
        Prerequisite::Component { .. } => 3,
        Prerequisite::Confirmation { .. } => 4,
        Prerequisite::Channel { .. } => 5,
        Prerequisite::Preflight { .. } => 6,
        Prerequisite::Acceptance { .. } => 7,
    }
}

/// The commands that carry out an update. One that is unusual has to be confirmed.
pub(super) fn commands(needs: &[Prerequisite], version: &str, is_unusual: bool) -> Vec<String> {
    let mut commands: Vec<String> = needs.iter().filter_map(Prerequisite::command).collect();
    let accepted = needs.iter().filter_map(|need| match need {
        Prerequisite::Acceptance { risk } => Some(risk.as_str()),
        _ => None,
    });
    let accepted: Vec<&str> = accepted.collect();
    if !accepted.is_empty() {
        let names = accepted.join(",");
        commands.push(format!("fairway upgrade accept {} --for={version}", Word(&names)));
    }
    let yes = if is_unusual { " --yes" } else { "" };
    commands.push(format!("fairway upgrade --to={version}{yes} --wait"));
    commands
}
