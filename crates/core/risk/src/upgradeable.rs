//! The condition `Upgradeable`: risks that block later minor and major versions.
//!
//! It is informational: it is set whether or not such a version is offered, and whether or not the
//! risks are accepted.

use std::collections::BTreeMap;

use fairway_api::cluster_version::ConditionalUpdateRisk;
use fairway_api::condition::is_legal_reason;
use fairway_api::reason::{applies, upgradeable};
use fairway_api::{ConditionStatus, Conditions as _, OperatorCondition, limits};

use crate::evaluate::EvaluationContext;
use crate::ledger::LedgerEntry;
use crate::risk::RiskSource;
use crate::text;

/// The condition; `None` if no risk blocks later versions.
pub(crate) fn condition(
    context: &EvaluationContext,
    risks: &BTreeMap<&str, ConditionalUpdateRisk>,
) -> Option<OperatorCondition> {
    let current = context.ledger.current.as_ref();
    let mut blocking: BTreeMap<&str, BlockingRisk> = BTreeMap::new();
    for LedgerEntry { definition, origins } in &context.ledger.entries {
        let origin = origins.reported.iter().find(|(source, targets)| {
            source.affects_later_versions() && targets.contain_next_minor(current)
        });
        let Some((source, _)) = origin else { continue };
        let Some(risk) = risks.get(definition.name.as_str()) else { continue };
        if !risk.conditions.is_false(applies::TYPE) {
            let applies = risk.conditions.is_true(applies::TYPE);
            blocking.entry(&definition.name).or_insert(BlockingRisk { source, risk, applies });
        }
    }
    let blocking: Vec<BlockingRisk> = blocking.into_values().collect();
    let mut conditions = Vec::from_iter(context.input.previous.upgradeable.clone());
    conditions.set(message(&blocking)?, context.input.now);
    conditions.pop()
}

/// A risk that blocks later versions.
struct BlockingRisk<'a> {
    source: &'a RiskSource,
    risk: &'a ConditionalUpdateRisk,
    applies: bool,
}

fn message(blocking: &[BlockingRisk]) -> Option<OperatorCondition> {
    let status = if blocking.iter().any(|risk| risk.applies) {
        ConditionStatus::False
    } else {
        ConditionStatus::Unknown
    };
    let (reason, message) = match blocking {
        [] => return None,
        [only] if only.reason() == only.risk.name => (only.reason(), only.message()),
        [only] => (only.reason(), only.line()),
        several => {
            let lead = "Several risks block updates to a later minor or major version:";
            let lines: Vec<String> =
                several.iter().map(|risk| format!("* {}", risk.line())).collect();
            let lines = text::join(&lines, "\n", limits::MESSAGE - lead.len() - 1);
            (upgradeable::MULTIPLE_REASONS.code, format!("{lead}\n{lines}"))
        }
    };
    Some(OperatorCondition::new(upgradeable::TYPE, status).reason(reason).message(message))
}

impl BlockingRisk<'_> {
    /// The name of the risk if it is a valid reason, otherwise a reason for its source. Names that
    /// contain the name of a component have dashes and dots.
    fn reason(&self) -> &str {
        match self.source {
            _ if is_legal_reason(&self.risk.name) => &self.risk.name,
            RiskSource::Upgradeable(_) | RiskSource::RiskReport(_) => {
                upgradeable::CLUSTER_OPERATOR_NOT_UPGRADEABLE.code
            }
            RiskSource::AdminGate => upgradeable::ADMIN_ACK_REQUIRED.code,
            _ => upgradeable::RISK_NAME_NOT_COMPATIBLE_WITH_REASON_PROPERTY.code,
        }
    }

    /// Name and message of the risk.
    fn line(&self) -> String {
        format!("{}: {}", self.risk.name, self.message())
    }

    fn message(&self) -> String {
        let message = &self.risk.message;
        match self.risk.conditions.find(applies::TYPE) {
            Some(unknown) if !self.applies => format!("{message} {}", unknown.message),
            _ => message.clone(),
        }
    }
}
