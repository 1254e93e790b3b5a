//! Actions that an update of a path needs first.

use std::collections::BTreeMap;

use fairway_api::reason::upgradeable;
use fairway_risk::RiskSource;
use fairway_risk::sources::AdminGate;
use schemars::JsonSchema;
use serde::Serialize;

use super::cluster_risks::UPGRADEABLE_FALSE;
use super::path::HopRisk;
use crate::text::ShellWord;

/// Prefixes of the names of risks about OLM operators.
const OLM_RISK_PREFIXES: [&str; 2] = ["OperatorWillNotRun-", "OperatorApisMissing-"];

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
    /// Risk that causes the prerequisite.
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

    /// Command in the document.
    pub(super) fn command_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Confirmation { command, .. } => Some(command),
            _ => None,
        }
    }

    /// Command that meets the prerequisite, if there is one.
    fn command(&self) -> Option<String> {
        match self {
            Self::Confirmation { command, .. } => Some(command.clone()),
            Self::Channel { channel } => {
                Some(format!("fairway upgrade channel {}", ShellWord(channel)))
            }
            Self::Preflight { version } => {
                Some(format!("fairway upgrade --mode=preflight --to={version} --wait"))
            }
            Self::Wait => Some(WAIT_COMMAND.to_owned()),
            Self::Repair { .. }
            | Self::Operator { .. }
            | Self::Component { .. }
            | Self::Acceptance { .. } => None,
        }
    }
}

/// Waits until the update in progress is complete.
const WAIT_COMMAND: &str = "fairway upgrade status --watch";

/// Prerequisites of risks and others, in the order of execution.
pub(super) fn all(
    risks: &[HopRisk],
    gates: &BTreeMap<String, AdminGate>,
    others: impl IntoIterator<Item = Prerequisite>,
) -> Vec<Prerequisite> {
    let blocking = risks.iter().filter(|risk| risk.blocking);
    let needs = blocking.map(|risk| of_risk(risk, gates)).chain(others);
    let mut needs: Vec<Prerequisite> = needs.collect();
    needs.sort_by_key(order);
    needs
}

/// Prerequisite for a risk. The operator also blocks on risks with unknown exposure, so these must
/// be accepted, too.
fn of_risk(it: &HopRisk, gates: &BTreeMap<String, AdminGate>) -> Prerequisite {
    let risk = it.name.clone();
    if let Some(gate) = gates.get(&it.name) {
        let (message, command) = (gate.message.clone(), gate.confirm.clone());
        return Prerequisite::Confirmation { risk, message, command };
    }
    if it.name == UPGRADEABLE_FALSE {
        let (condition, message) = (upgradeable::TYPE.to_owned(), it.message.clone());
        return Prerequisite::Repair { condition, message, risk: Some(risk) };
    }
    let named = OLM_RISK_PREFIXES.iter().find_map(|prefix| it.name.strip_prefix(prefix));
    match (&it.source, named.and_then(|name| name.split_once(':'))) {
        (RiskSource::RiskReport(_), Some((namespace, name))) => {
            Prerequisite::Operator { risk, operator: format!("{namespace}/{name}") }
        }
        (RiskSource::Upgradeable(component), _) => {
            Prerequisite::Component { risk, component: component.clone() }
        }
        _ => Prerequisite::Acceptance { risk },
    }
}

/// Rank of execution: long-running actions first, acceptance last because nothing should follow it
/// but the update.
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

/// Commands that perform an update.
pub(super) fn commands(
    needs: &[Prerequisite],
    version: &str,
    needs_confirmation: bool,
) -> Vec<String> {
    let mut commands: Vec<String> = needs.iter().filter_map(Prerequisite::command).collect();
    let accepted = needs.iter().filter_map(|need| match need {
        Prerequisite::Acceptance { risk } => Some(risk.as_str()),
        _ => None,
    });
    let accepted: Vec<&str> = accepted.collect();
    if !accepted.is_empty() {
        let names = accepted.join(",");
        commands.push(format!("fairway upgrade accept {} --for={version}", ShellWord(&names)));
    }
    let yes = if needs_confirmation { " --yes" } else { "" };
    commands.push(format!("fairway upgrade --to={version}{yes} --wait"));
    commands
}
