//! Verdicts: whether an update is recommended to this cluster, and why not.
//!
//! They depend only on the set of risks that affect the update, which are sorted by name.

use std::collections::BTreeSet;
use std::fmt;

use fairway_api::cluster_version::Release;
use fairway_api::condition::is_legal_reason;
use fairway_api::reason::{evaluating, recommended};
use fairway_api::{Condition, ConditionStatus, limits};
use jiff::Timestamp;

use crate::acceptance::AcceptanceState;
use crate::definition::RiskDefinition;
use crate::rules::RuleResult;
use crate::text;

/// Bytes of the text about one risk. A condition message has room for it and for a remark.
const MAX_TEXT_BYTES: usize = limits::MESSAGE - 1024;

/// The risks of an update and its recommendation.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateVerdict {
    /// Target release.
    pub release: Release,
    /// The risks that affect the update, sorted by name.
    pub exposures: Vec<RiskExposure>,
}

/// A risk of one update, evaluated for this cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct RiskExposure {
    /// Name of the risk.
    pub name: String,
    /// Whether the risk applies to this cluster.
    pub status: ConditionStatus,
    /// Reason of the condition `Applies`.
    pub reason: String,
    /// Message of the condition `Applies`.
    pub message: String,
    /// Start time, if a source knows it.
    pub since: Option<Timestamp>,
    /// Description of the risk for the condition `Recommended`.
    pub description: String,
    /// Whether the risk is accepted.
    pub acceptance_state: AcceptanceState,
    /// Whether its rules can be evaluated.
    pub rules: RuleSupport,
    /// Whether a query that is not evaluated yet will determine if the risk applies.
    pub awaited: bool,
    /// Whether the risk is informational: all sources according to which it applies are advisory.
    pub advisory: bool,
}

/// Whether the rules of a risk can be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleSupport {
    /// At least one rule has a known type.
    Known,
    /// No rule has a known type.
    Unrecognized,
    /// There are no rules.
    None,
}

impl RiskExposure {
    /// Whether the risk blocks the update: it applies or may apply, is not informational and not
    /// accepted.
    pub fn blocks_update(&self) -> bool {
        self.may_apply() && !self.advisory && !self.acceptance_state.is_accepted()
    }

    /// Whether the risk states that the update is not offered. An accepted risk of this kind allows
    /// the update, but does not make it recommended.
    fn is_not_offered(&self) -> bool {
        self.name == recommended::NOT_OFFERED_BY_UPDATE_SERVICE.code && self.may_apply()
    }

    /// Whether the risk applies or may apply, and is informational.
    pub fn is_advisory(&self) -> bool {
        self.may_apply() && self.advisory
    }

    /// Whether the risk applies or may apply.
    pub fn may_apply(&self) -> bool {
        self.status != ConditionStatus::False
    }

    /// Combines several definitions with one name: the worst status wins.
    pub(crate) fn new(
        group: &[(&RiskDefinition, &RuleResult)],
        acceptance_state: AcceptanceState,
    ) -> Self {
        let status = worst_status(group.iter().map(|(_, result)| &result.status));
        let mut decisive: Vec<_> =
            group.iter().filter(|(_, result)| result.status == status).collect();
        // Blocking definitions come first.
        decisive.sort_by_key(|(_, result)| !result.blocks_updates());
        let of_all = |text: &dyn Fn(&RiskDefinition, &RuleResult) -> String, separator: &str| {
            let mut texts: Vec<String> =
                decisive.iter().map(|(definition, result)| text(definition, result)).collect();
            let mut seen = BTreeSet::new();
            texts.retain(|text| seen.insert(text.clone()));
            text::join(&texts, separator, MAX_TEXT_BYTES)
        };
        let rules = group.iter().map(|(definition, _)| RuleSupport::new(definition)).max();
        let name = group.first().map_or("", |(definition, _)| &definition.name);
        let reason = decisive.first().map_or("", |(_, result)| &result.reason);
        Self {
            name: name.to_owned(),
            reason: reason.to_owned(),
            message: of_all(&|_, result| result.message.clone(), "\n"),
            description: of_all(&describe, "\n\n"),
            since: decisive.iter().filter_map(|(_, result)| result.since).min(),
            acceptance_state,
            rules: rules.unwrap_or(RuleSupport::None),
            awaited: status == ConditionStatus::Unknown
                && decisive.iter().any(|(_, result)| result.is_pending),
            advisory: !group.iter().any(|(_, result)| result.blocks_updates()),
            status,
        }
    }
}

impl RuleSupport {
    fn new(definition: &RiskDefinition) -> Self {
        match definition {
            _ if definition.has_usable_rule() => Self::Known,
            _ if definition.rules.is_empty() => Self::None,
            _ => Self::Unrecognized,
        }
    }
}

/// True wins over Unknown, Unknown over False.
pub(crate) fn worst_status<'a>(
    statuses: impl Iterator<Item = &'a ConditionStatus>,
) -> ConditionStatus {
    let weight = |status: &ConditionStatus| match status {
        ConditionStatus::False => 0,
        ConditionStatus::Unknown | ConditionStatus::Other(_) => 1,
        ConditionStatus::True => 2,
    };
    statuses.max_by_key(|status| weight(status)).cloned().unwrap_or_default()
}

fn describe(definition: &RiskDefinition, result: &RuleResult) -> String {
    let RiskDefinition { name, message, url, .. } = definition;
    if result.status != ConditionStatus::Unknown {
        return format!("{message} {url}");
    }
    let action = if definition.has_query() { "evaluate PromQL to determine" } else { "determine" };
    let why = &result.message;
    format!("Unable to {action} if the cluster is impacted by {name}. {why} {message} {url}")
}

impl UpdateVerdict {
    /// Risks that block the update.
    pub fn unaccepted(&self) -> impl Iterator<Item = &RiskExposure> {
        self.exposures.iter().filter(|exposure| exposure.blocks_update())
    }

    /// Accepted risks that apply or may apply.
    pub fn accepted(&self) -> impl Iterator<Item = &RiskExposure> {
        self.exposures.iter().filter(|exposure| {
            exposure.may_apply() && !exposure.advisory && exposure.acceptance_state.is_accepted()
        })
    }

    /// Whether the update service offers the update.
    pub fn is_offered(&self) -> bool {
        !self.exposures.iter().any(RiskExposure::is_not_offered)
    }

    /// Whether the update is recommended to this cluster.
    pub fn is_recommended(&self) -> bool {
        self.blocking().next().is_none()
    }

    /// Risks because of which the update is not recommended.
    fn blocking(&self) -> impl Iterator<Item = &RiskExposure> {
        let is_against = |risk: &&RiskExposure| risk.blocks_update() || risk.is_not_offered();
        self.exposures.iter().filter(is_against)
    }

    /// Condition `Recommended`.
    pub fn recommended(&self) -> Condition {
        let blocking: Vec<&RiskExposure> = self.blocking().collect();
        let applies = blocking.iter().any(|exposure| exposure.status == ConditionStatus::True);
        let status = match (blocking.is_empty(), applies) {
            (true, _) => ConditionStatus::True,
            (false, true) => ConditionStatus::False,
            (false, false) => ConditionStatus::Unknown,
        };
        let reason = match (&status, blocking.as_slice()) {
            (ConditionStatus::True, _) => return self.recommendation(),
            (ConditionStatus::Unknown, _) => recommended::EVALUATION_FAILED.code,
            (_, [only]) if is_legal_reason(&only.name) => &only.name,
            (_, [_]) => recommended::EXPOSED_TO_RISKS.code,
            _ => recommended::MULTIPLE_REASONS.code,
        };
        let paragraphs: Vec<String> =
            blocking.iter().map(|exposure| exposure.paragraph()).collect();
        let message = text::join(&paragraphs, "\n\n", limits::MESSAGE);
        Condition::new(recommended::TYPE, status, reason, message)
    }

    fn recommendation(&self) -> Condition {
        let accepted: Vec<String> = self.accepted().map(RiskExposure::name_with_change).collect();
        let advice = self.exposures.iter().filter(|risk| risk.is_advisory());
        let advice: Vec<String> = advice.map(|risk| risk.name.clone()).collect();
        let listing = |why: &str, names: &[String]| {
            let names = text::join(names, ", ", limits::MESSAGE - why.len() - ".".len());
            format!("{why}{names}.")
        };
        let (reason, message) = match (accepted.as_slice(), advice.as_slice()) {
            ([], []) => {
                let why = "The update is recommended: none of its risks applies to this cluster.";
                (recommended::NOT_EXPOSED_TO_RISKS, why.to_owned())
            }
            ([], advice) => {
                let why = "The update is recommended: no risk blocks it. Informational risks: ";
                (recommended::NOT_EXPOSED_TO_RISKS, listing(why, advice))
            }
            (accepted, _) => {
                let why = "The update is recommended: all risks that apply or may apply to this \
                    cluster are accepted: ";
                (recommended::ALL_EXPOSED_RISKS_ACCEPTED, listing(why, accepted))
            }
        };
        Condition::new(recommended::TYPE, true, reason, message)
    }

    /// Condition `Evaluating`: whether every risk has a rule with a known type.
    pub fn evaluating(&self) -> Condition {
        let with = |rules: RuleSupport| {
            let names = self.exposures.iter().filter(|exposure| exposure.rules == rules);
            names.map(|exposure| exposure.name.clone()).collect::<Vec<_>>()
        };
        let because = |reason, what: &str, names: &[String]| {
            let names = text::join(names, ", ", limits::MESSAGE - what.len() - " .".len());
            Condition::new(evaluating::TYPE, false, reason, format!("{what} {names}."))
        };
        match (with(RuleSupport::None).as_slice(), with(RuleSupport::Unrecognized).as_slice()) {
            ([], []) => Condition::new(
                evaluating::TYPE,
                true,
                evaluating::PERIODIC_EVALUATION,
                "Periodically evaluating risks associated with this update.",
            ),
            ([], names) => because(
                evaluating::UNRECOGNIZED_MATCHING_RULES,
                "Risks without rules of a supported type:",
                names,
            ),
            (names, _) => because(evaluating::NO_MATCHING_RULES, "Risks without rules:", names),
        }
    }
}

impl RiskExposure {
    /// Text in the condition `Recommended`.
    fn paragraph(&self) -> String {
        match &self.acceptance_state {
            AcceptanceState::NotAccepted => self.description.clone(),
            acceptance_state => format!("{}\n{acceptance_state}", self.description),
        }
    }

    fn name_with_change(&self) -> String {
        match self.acceptance_state {
            AcceptanceState::Accepted { changed: true } => {
                format!("{} (content changed since it was accepted)", self.name)
            }
            _ => self.name.clone(),
        }
    }
}

/// Refusal of an update with unaccepted risks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct UnacceptedRisks {
    /// Target version.
    pub version: String,
    /// Names of the unaccepted risks that apply.
    pub applying: Vec<String>,
    /// Names of the unaccepted risks for which it is unknown whether they apply.
    pub unknown: Vec<String>,
}

/// Whether an update may start. The condition reason of a refusal is `UnacceptedRisks`.
pub fn may_update(verdict: &UpdateVerdict) -> Result<(), UnacceptedRisks> {
    let names = |applies: bool| {
        let blocking = verdict.unaccepted();
        let of_status =
            blocking.filter(|exposure| (exposure.status == ConditionStatus::True) == applies);
        of_status.map(|exposure| exposure.name.clone()).collect::<Vec<_>>()
    };
    let (applying, unknown) = (names(true), names(false));
    if applying.is_empty() && unknown.is_empty() {
        return Ok(());
    }
    Err(UnacceptedRisks { version: verdict.release.version.clone(), applying, unknown })
}

impl UnacceptedRisks {
    /// Command that accepts all of these risks.
    pub fn command(&self) -> String {
        let names: Vec<&str> =
            self.applying.iter().chain(&self.unknown).map(String::as_str).collect();
        format!("fairway upgrade accept {}", names.join(","))
    }
}

impl fmt::Display for UnacceptedRisks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, applying, unknown } = self;
        write!(f, "The update to {version} has unaccepted risks.")?;
        if !applying.is_empty() {
            write!(f, " Applying to this cluster: {}.", applying.join(", "))?;
        }
        if !unknown.is_empty() {
            write!(f, " Unknown whether they apply: {}.", unknown.join(", "))?;
        }
        write!(f, " To accept them and continue: {}", self.command())
    }
}
