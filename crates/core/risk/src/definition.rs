//! Validated definitions of risks, and replacements for invalid ones.

use fairway_api::ConditionStatus;
use fairway_api::cluster_version::{ConditionalUpdateRisk, MatchingRule, MatchingRuleType, PromQl};
use fairway_api::condition::is_legal_reason;
use fairway_api::limits;
use fairway_api::reason::applies;
use sha2::{Digest as _, Sha256};

use crate::risk::{Risk, RiskAssessment, always};
use crate::text;
use crate::validation::{self, RiskDefect};

/// Documentation of the risks that Fairway itself creates.
pub const DOCS_URL: &str = "https://fairway.dev/docs/risks";

/// Bytes of a query; longer ones are not parsed.
const MAX_QUERY_BYTES: usize = 16 << 10;

/// Bytes quoted of an invalid text.
const MAX_QUOTED_BYTES: usize = 200;

/// A risk in a form that the ClusterVersion API can store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RiskDefinition {
    pub(crate) name: String,
    pub(crate) message: String,
    pub(crate) url: String,
    pub(crate) rules: Vec<RiskRule>,
    pub(crate) claim: Option<RiskAssessment>,
}

/// A matching rule of a risk.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RiskRule {
    /// The risk applies to all clusters.
    Always,
    /// A query determines whether the risk applies.
    PromQl(String),
    /// The rule cannot be evaluated, for this reason.
    Unusable(String),
}

impl RiskRule {
    fn new(rule: &MatchingRule) -> Self {
        let query = rule.promql.as_ref().map(|promql| promql.promql.as_str());
        match (&rule.type_, query) {
            (MatchingRuleType::Always, None) => Self::Always,
            (MatchingRuleType::Always, Some(_)) => {
                Self::Unusable("a rule of type Always has a query".to_owned())
            }
            (MatchingRuleType::PromQl, Some(query)) if query.len() > MAX_QUERY_BYTES => {
                Self::Unusable(format!(
                    "its query has {} bytes; the limit is {MAX_QUERY_BYTES} bytes",
                    query.len()
                ))
            }
            (MatchingRuleType::PromQl, Some(query)) if !query.trim().is_empty() => {
                Self::PromQl(query.to_owned())
            }
            (MatchingRuleType::PromQl, _) => {
                Self::Unusable("a rule of type PromQL has no query".to_owned())
            }
            (MatchingRuleType::Other(word), _) => {
                let word = text::truncate(word, 64);
                Self::Unusable(format!("unknown rule type {word:?}"))
            }
        }
    }

    /// The rule in the API; `None` if it cannot be stored.
    fn published(&self) -> Option<MatchingRule> {
        match self {
            Self::Always => Some(always()),
            Self::PromQl(query) => Some(MatchingRule {
                type_: MatchingRuleType::PromQl,
                promql: Some(PromQl { promql: query.clone(), ..PromQl::default() }),
                ..MatchingRule::default()
            }),
            Self::Unusable(_) => None,
        }
    }
}

impl RiskDefinition {
    /// The risk, or a replacement if it cannot be stored. A replacement is Unknown, so that its
    /// updates are not recommended, unless the risk is advisory.
    pub(crate) fn new(risk: &Risk) -> Self {
        let defects = validation::defects(risk);
        if !defects.is_empty() {
            return replacement(risk, &defects);
        }
        Self {
            name: risk.name.clone(),
            message: risk.message.trim().to_owned(),
            url: risk.url.clone(),
            rules: risk.matching_rules.iter().map(RiskRule::new).collect(),
            claim: risk.claim.clone().map(valid_assessment),
        }
    }

    /// Whether at least one rule can be evaluated.
    pub(crate) fn has_usable_rule(&self) -> bool {
        self.rules.iter().any(|rule| !matches!(rule, RiskRule::Unusable(_)))
    }

    /// Whether a query determines whether the risk applies.
    pub(crate) fn has_query(&self) -> bool {
        self.rules.iter().any(|rule| matches!(rule, RiskRule::PromQl(_)))
    }
}

fn valid_assessment(claim: RiskAssessment) -> RiskAssessment {
    let status = if claim.status.is_known() { claim.status } else { ConditionStatus::Unknown };
    let reason = match status {
        _ if is_legal_reason(&claim.reason) => claim.reason,
        ConditionStatus::True => applies::MATCH.code.to_owned(),
        ConditionStatus::False => applies::NOT_MATCH.code.to_owned(),
        _ => applies::EVALUATION_FAILED.code.to_owned(),
    };
    RiskAssessment {
        status,
        reason,
        message: text::truncate(&claim.message, MAX_ASSESSMENT_BYTES),
        ..claim
    }
}

/// Bytes of a source's assessment; several of them share a condition message.
const MAX_ASSESSMENT_BYTES: usize = limits::MESSAGE / 2;

fn replacement(risk: &Risk, defects: &[RiskDefect]) -> RiskDefinition {
    let problems: Vec<String> = defects.iter().map(ToString::to_string).collect();
    let problems = problems.join("; ");
    let warning = match risk.message.trim() {
        "" => String::new(),
        message => format!(" Original message: {:?}", text::truncate(message, MAX_QUOTED_BYTES)),
    };
    let message = format!("The status cannot store a published risk: {problems}.{warning}");
    let name = match validation::name_defect(&risk.name) {
        None => risk.name.clone(),
        Some(_) => format!("InvalidRisk-{}", short_hash(risk)),
    };
    let url = if validation::url_defect(&risk.url).is_none() { &risk.url } else { DOCS_URL };
    let claim = RiskAssessment::new(
        ConditionStatus::Unknown,
        applies::INVALID_RISK,
        "The status cannot store the published risk. This entry replaces it.",
    );
    let advisory = risk.claim.as_ref().is_some_and(|claim| claim.advisory);
    let claim = RiskAssessment { advisory, ..claim };
    RiskDefinition {
        name,
        message,
        url: url.to_owned(),
        rules: vec![RiskRule::Always],
        claim: Some(claim),
    }
}

/// Distinguishes risks with invalid names.
fn short_hash(risk: &Risk) -> String {
    let mut texts = TextHasher::default();
    texts.add(&risk.name).add(&risk.message).add(&risk.url);
    texts.digest(6)
}

/// Merges all definitions with one name into one API entry. If their rules differ, the entry has
/// the rule `Always`: one list of rules cannot express that all definitions must be evaluated.
pub(crate) fn published(same_name: &[&RiskDefinition]) -> ConditionalUpdateRisk {
    let Some((first, others)) = same_name.split_first() else {
        return ConditionalUpdateRisk::default();
    };
    let mut messages: Vec<String> = same_name.iter().map(|one| one.message.clone()).collect();
    messages.dedup();
    let mut rules: Vec<MatchingRule> = first.rules.iter().filter_map(RiskRule::published).collect();
    if rules.is_empty() || others.iter().any(|other| other.rules != first.rules) {
        rules = vec![always()];
    }
    ConditionalUpdateRisk {
        name: first.name.clone(),
        message: text::join(&messages, "\n", limits::MESSAGE),
        url: first.url.clone(),
        matching_rules: rules,
        ..ConditionalUpdateRisk::default()
    }
}

/// Hash of a published risk. It detects changes since an administrator accepted the risk.
pub fn definition_hash(risk: &ConditionalUpdateRisk) -> String {
    let mut texts = TextHasher::default();
    texts.add(&risk.name).add(&risk.message).add(&risk.url);
    for rule in &risk.matching_rules {
        let query = rule.promql.as_ref().map_or("", |promql| &promql.promql);
        texts.add(rule.type_.as_str()).add(query);
    }
    texts.digest(16)
}

/// Hashes several texts with their lengths, so that their boundaries matter.
#[derive(Default)]
struct TextHasher(Sha256);

impl TextHasher {
    fn add(&mut self, text: &str) -> &mut Self {
        self.0.update((text.len() as u64).to_be_bytes());
        self.0.update(text);
        self
    }

    fn digest(self, bytes: usize) -> String {
        hex::encode(&self.0.finalize()[..bytes])
    }
}
