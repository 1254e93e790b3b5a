//! The condition `Upgradeable`: what of the ledger stands against later minor and major versions.
//!
//! It is a view, not a gate: it says so whether or not such a version is offered, and whether or
//! not the risk was accepted.

use std::collections::BTreeMap;

use fairway_api::cluster_version::ConditionalUpdateRisk;
use fairway_api::condition::is_legal_reason;
use fairway_api::reason::{applies, upgradeable};
use fairway_api::{ConditionStatus, Conditions as _, OperatorCondition, limits};

use crate::ledger::Entry;
use crate::look::Look;
use crate::risk::Source;
use crate::text;

/// The condition; none where nothing stands against later versions.
pub(crate) fn condition(
    look: &Look,
    risks: &BTreeMap<&str, ConditionalUpdateRisk>,
) -> Option<OperatorCondition> {
    let current = look.ledger.current.as_ref();
    let mut against: BTreeMap<&str, Against> = BTreeMap::new();
    for Entry { definition, origins } in &look.ledger.entries {
        let origin = origins.raised.iter().find(|(source, targets)| {
            source.is_about_later_versions() && targets.contain_next_minor(current)
        });
        let Some((source, _)) = origin else { continue };
        let Some(risk) = risks.get(definition.name.as_str()) else { continue };
        if !risk.conditions.is_false(applies::TYPE) {
            let applies = risk.conditions.is_true(applies::TYPE);
            against.entry(&definition.name).or_insert(Against { source, risk, applies });
        }
    }
    let against: Vec<Against> = against.into_values().collect();
    let mut conditions = Vec::from_iter(look.round.previous.upgradeable.clone());
    conditions.set(told(&against)?, look.round.now);
    conditions.pop()
}

/// A risk that stands against later versions.
struct Against<'a> {
    source: &'a Source,
    risk: &'a ConditionalUpdateRisk,
    applies: bool,
}

fn told(against: &[Against]) -> Option<OperatorCondition> {
    let status = if against.iter().any(|one| one.applies) {
        ConditionStatus::False
    } else {
        ConditionStatus::Unknown
    };
    let (reason, message) = match against {
        [] => return None,
        [only] if only.reason() == only.risk.name => (only.reason(), only.told()),
        [only] => (only.reason(), only.line()),
        several => {
            let lead = "Several risks block updates to a later minor or major version:";
            let lines: Vec<String> =
                several.iter().map(|one| format!("* {}", one.line())).collect();
            let lines = text::join(&lines, "\n", limits::MESSAGE - lead.len() - 1);
            (upgradeable::MULTIPLE_REASONS.code, format!("{lead}\n{lines}"))
        }
    };
    Some(OperatorCondition::new(upgradeable::TYPE, status).reason(reason).message(message))
}

impl Against<'_> {
    /// The risk's name where that can be written as a reason; else a word for its source. Names
    /// with the name of a component in them have dashes and dots.
    fn reason(&self) -> &str {
        match self.source {
            _ if is_legal_reason(&self.risk.name) => &self.risk.name,
            Source::Upgradeable(_) | Source::RiskReport(_) => {
                upgradeable::CLUSTER_OPERATOR_NOT_UPGRADEABLE.code
            }
            Source::AdminGate => upgradeable::ADMIN_ACK_REQUIRED.code,
            _ => upgradeable::RISK_NAME_NOT_COMPATIBLE_WITH_REASON_PROPERTY.code,
        }
    }

    /// What it says, by the name under which it is accepted.
    fn line(&self) -> String {
        format!("{}: {}", self.risk.name, self.told())
    }

    fn told(&self) -> String {
        let message = &self.risk.message;
        match self.risk.conditions.find(applies::TYPE) {
            Some(unknown) if !self.applies => format!("{message} {}", unknown.message),
            _ => message.clone(),
        }
    }
}
