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

/// Something that has to be done before an update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "kind")]
pub enum Need {
    /// The update that is under way has to end.
    Wait,
    /// What is wrong with the cluster has to be mended.
    Mend {
        /// The condition of ClusterVersion that says so.
        condition: String,
        /// What it says.
        message: String,
        /// The risk that says so, where it stands against some updates alone.
        risk: Option<String>,
    },
    /// An operator that OLM has installed has to be moved, or removed.
    Operator {
        /// The risk that says so, by which it can be accepted instead.
        risk: String,
        /// The operator, as `namespace/name`.
        operator: String,
    },
    /// A component of the platform has to be looked after.
    Component {
        /// The risk that says so, by which it can be accepted instead.
        risk: String,
        /// The component.
        component: String,
    },
    /// An administrator has to confirm something.
    Confirm {
        /// The risk that says so.
        risk: String,
        /// What is to be confirmed.
        message: String,
        /// The command that confirms it.
        command: String,
    },
    /// Another channel has to be chosen.
    Channel {
        /// The channel.
        channel: String,
    },
    /// The release has to be asked first: it skips a minor version.
    Preflight {
        /// Its version.
        version: String,
    },
    /// A risk has to be accepted.
    Accept {
        /// The risk.
        risk: String,
    },
}

impl Need {
    /// The risk that asks for it.
    pub fn risk(&self) -> Option<&str> {
        match self {
            Self::Operator { risk, .. }
            | Self::Component { risk, .. }
            | Self::Confirm { risk, .. }
            | Self::Accept { risk } => Some(risk),
            Self::Mend { risk, .. } => risk.as_deref(),
            Self::Wait | Self::Channel { .. } | Self::Preflight { .. } => None,
        }
    }

    /// The command that it brings along.
    pub(super) fn command_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Confirm { command, .. } => Some(command),
            _ => None,
        }
    }

    /// The command that sees to it, where one command does.
    fn command(&self) -> Option<String> {
        match self {
            Self::Confirm { command, .. } => Some(command.clone()),
            Self::Channel { channel } => Some(format!("fairway upgrade channel {}", Word(channel))),
            Self::Preflight { version } => {
                Some(format!("fairway upgrade --mode=preflight --to={version} --wait"))
            }
            Self::Wait => Some(WATCH.to_owned()),
            Self::Mend { .. }
            | Self::Operator { .. }
            | Self::Component { .. }
            | Self::Accept { .. } => None,
        }
    }
}

/// What waits for the end of an update.
const WATCH: &str = "fairway upgrade status --watch";

/// Everything that risks ask for before an update, and these, in order.
pub(super) fn all(
    risks: &[HopRisk],
    gates: &BTreeMap<String, Gate>,
    others: impl IntoIterator<Item = Need>,
) -> Vec<Need> {
    let standing = risks.iter().filter(|risk| risk.stands);
    let needs = standing.map(|risk| of_risk(risk, gates)).chain(others);
    let mut needs: Vec<Need> = needs.collect();
    needs.sort_by_key(order);
    needs
}

/// What a risk asks for. One of which nobody knows whether it applies has to be accepted, too: the
/// operator holds updates back for either.
fn of_risk(it: &HopRisk, gates: &BTreeMap<String, Gate>) -> Need {
    let risk = it.name.clone();
    if let Some(gate) = gates.get(&it.name) {
        let (message, command) = (gate.message.clone(), gate.confirm.clone());
        return Need::Confirm { risk, message, command };
    }
    if it.name == UPGRADEABLE_FALSE {
        let (condition, message) = (upgradeable::TYPE.to_owned(), it.message.clone());
        return Need::Mend { condition, message, risk: Some(risk) };
    }
    let named = OPERATOR_RISKS.iter().find_map(|prefix| it.name.strip_prefix(prefix));
    match (&it.origin, named.and_then(|name| name.split_once(':'))) {
        (Source::RiskReport(_), Some((namespace, name))) => {
            Need::Operator { risk, operator: format!("{namespace}/{name}") }
        }
        (Source::Upgradeable(component), _) => {
            Need::Component { risk, component: component.clone() }
        }
        _ => Need::Accept { risk },
    }
}

/// What takes longest comes first, and what is withdrawn by nothing else comes last.
fn order(need: &Need) -> u8 {
    match need {
        Need::Wait => 0,
        Need::Mend { .. } => 1,
        Need::Operator { .. } => 2,
        Need::Component { .. } => 3,
        Need::Confirm { .. } => 4,
        Need::Channel { .. } => 5,
        Need::Preflight { .. } => 6,
        Need::Accept { .. } => 7,
    }
}

/// The commands that carry out an update. One that is unusual has to be confirmed.
pub(super) fn commands(needs: &[Need], version: &str, is_unusual: bool) -> Vec<String> {
    let mut commands: Vec<String> = needs.iter().filter_map(Need::command).collect();
    let accepted = needs.iter().filter_map(|need| match need {
        Need::Accept { risk } => Some(risk.as_str()),
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
