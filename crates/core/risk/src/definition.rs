//! A risk in a form that can be stored: what was published, or a stand-in for it.

use fairway_api::ConditionStatus;
use fairway_api::cluster_version::{ConditionalUpdateRisk, MatchingRule, MatchingRuleType, PromQl};
use fairway_api::condition::is_legal_reason;
use fairway_api::limits;
use fairway_api::reason::applies;
use sha2::{Digest as _, Sha256};

use crate::legal::{self, Defect};
use crate::risk::{Claim, Risk, always};
use crate::text;

/// Where people read about what Fairway itself puts into a ledger.
pub const DOCS: &str = "https://fairway.dev/docs/risks";

/// Bytes of a query, as many as are read to find out what it does.
const MAX_QUERY: usize = 16 << 10;

/// Bytes quoted of a text that is not shown in full.
const QUOTED: usize = 200;

/// What a risk says, in a form that can be stored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) message: String,
    pub(crate) url: String,
    pub(crate) rules: Vec<Rule>,
    pub(crate) claim: Option<Claim>,
}

/// One way to find out whether a risk concerns a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    /// The risk applies to all clusters.
    Always,
    /// A query tells.
    PromQl(String),
    /// Nobody here knows, for this reason.
    Unusable(String),
}

impl Rule {
    fn of(rule: &MatchingRule) -> Self {
        let query = rule.promql.as_ref().map(|promql| promql.promql.as_str());
        match (&rule.type_, query) {
            (MatchingRuleType::Always, None) => Self::Always,
            (MatchingRuleType::Always, Some(_)) => {
                Self::Unusable("a rule of type Always has a query".to_owned())
            }
            (MatchingRuleType::PromQl, Some(query)) if query.len() > MAX_QUERY => Self::Unusable(
                format!("its query has {} bytes; the limit is {MAX_QUERY} bytes", query.len()),
            ),
            (MatchingRuleType::PromQl, Some(query)) if !query.trim().is_empty() => {
                Self::PromQl(query.to_owned())
            }
            (MatchingRuleType::PromQl, _) => {
                Self::Unusable("a rule of type PromQL has no query".to_owned())
            }
            (MatchingRuleType::Other(word), _) => {
                let word = text::excerpt(word, 64);
                Self::Unusable(format!("unknown rule type {word:?}"))
            }
        }
    }

    /// As it can be stored.
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

impl Definition {
    /// The risk, or where it cannot be stored, something that stands in for it: nothing is known
    /// about the stand-in, so no update that has it is recommended, unless it was mere advice.
    pub(crate) fn of(risk: &Risk) -> Self {
        let defects = legal::defects(risk);
        if !defects.is_empty() {
            return stand_in(risk, &defects);
        }
        Self {
            name: risk.name.clone(),
            message: risk.message.trim().to_owned(),
            url: risk.url.clone(),
            rules: risk.matching_rules.iter().map(Rule::of).collect(),
            claim: risk.claim.clone().map(legal_claim),
        }
    }

    /// Whether some rule is of a type that is known.
    pub(crate) fn has_usable_rule(&self) -> bool {
        self.rules.iter().any(|rule| !matches!(rule, Rule::Unusable(_)))
    }

    /// Whether it is up to a query whether the risk applies.
    pub(crate) fn has_query(&self) -> bool {
        self.rules.iter().any(|rule| matches!(rule, Rule::PromQl(_)))
    }
}

fn legal_claim(claim: Claim) -> Claim {
    let status = if claim.status.is_known() { claim.status } else { ConditionStatus::Unknown };
    let reason = match status {
        _ if is_legal_reason(&claim.reason) => claim.reason,
        ConditionStatus::True => applies::MATCH.code.to_owned(),
        ConditionStatus::False => applies::NOT_MATCH.code.to_owned(),
        _ => applies::EVALUATION_FAILED.code.to_owned(),
    };
    Claim { status, reason, message: text::excerpt(&claim.message, MAX_CLAIM), ..claim }
}

/// Bytes of what a source says about this cluster; several of them share a condition's message.
const MAX_CLAIM: usize = limits::MESSAGE / 2;

fn stand_in(risk: &Risk, defects: &[Defect]) -> Definition {
    let wrong: Vec<String> = defects.iter().map(ToString::to_string).collect();
    let wrong = wrong.join("; ");
    let warning = match risk.message.trim() {
        "" => String::new(),
        message => format!(" Original message: {:?}", text::excerpt(message, QUOTED)),
    };
    let message = format!("The status cannot store a published risk: {wrong}.{warning}");
    let name = match legal::name_defect(&risk.name) {
        None => risk.name.clone(),
        Some(_) => format!("InvalidRisk-{}", fingerprint(risk)),
    };
    let url = if legal::url_defect(&risk.url).is_none() { &risk.url } else { DOCS };
    let claim = Claim::new(
        ConditionStatus::Unknown,
        applies::INVALID_RISK,
        "The status cannot store the published risk. This entry replaces it.",
    );
    let advisory = risk.claim.as_ref().is_some_and(|claim| claim.advisory);
    let claim = Claim { advisory, ..claim };
    Definition { name, message, url: url.to_owned(), rules: vec![Rule::Always], claim: Some(claim) }
}

/// Tells risks apart whose names cannot be used.
fn fingerprint(risk: &Risk) -> String {
    let mut texts = Texts::default();
    texts.add(&risk.name).add(&risk.message).add(&risk.url);
    texts.digest(6)
}

/// All definitions of one name as the API has room for them: one entry. Where they do not agree
/// on whom the risk concerns, the entry has the rule that keeps everybody away: no list of rules
/// can stand for two that must both be asked.
pub(crate) fn published(namesakes: &[&Definition]) -> ConditionalUpdateRisk {
    let Some((first, others)) = namesakes.split_first() else {
        return ConditionalUpdateRisk::default();
    };
    let mut messages: Vec<String> = namesakes.iter().map(|one| one.message.clone()).collect();
    messages.dedup();
    let mut rules: Vec<MatchingRule> = first.rules.iter().filter_map(Rule::published).collect();
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

/// A fingerprint of what a risk says, as it is published. It tells whether a risk is still the
/// one that somebody accepted.
pub fn definition_hash(risk: &ConditionalUpdateRisk) -> String {
    let mut texts = Texts::default();
    texts.add(&risk.name).add(&risk.message).add(&risk.url);
    for rule in &risk.matching_rules {
        let query = rule.promql.as_ref().map_or("", |promql| &promql.promql);
        texts.add(rule.type_.as_str()).add(query);
    }
    texts.digest(16)
}

/// Several texts, of which it matters where one ends.
#[derive(Default)]
struct Texts(Sha256);

impl Texts {
    fn add(&mut self, text: &str) -> &mut Self {
        self.0.update((text.len() as u64).to_be_bytes());
        self.0.update(text);
        self
    }

    fn digest(self, bytes: usize) -> String {
        hex::encode(&self.0.finalize()[..bytes])
    }
}
