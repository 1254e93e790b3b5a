//! Whether an update is recommended for this cluster, and why not.
//!
//! Everything here is computed from the set of risks that concern the update. Their order is the
//! order of their names.

use std::collections::BTreeSet;

use fairway_api::cluster_version::Release;
use fairway_api::condition::is_legal_reason;
use fairway_api::reason::{evaluating, recommended};
use fairway_api::{Condition, ConditionStatus, limits};
use jiff::Timestamp;

use crate::acceptance::Standing;
use crate::definition::Definition;
use crate::rules::Finding;
use crate::text;

/// Bytes of what is said about one risk. A condition has room for it and for a remark.
const MAX_TEXT: usize = limits::MESSAGE - 1024;

/// What is known about an update.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The release it leads to.
    pub release: Release,
    /// The risks that concern it, in the order of their names.
    pub exposures: Vec<Exposure>,
}

/// A risk of one update.
#[derive(Clone, Debug, PartialEq)]
pub struct Exposure {
    /// The risk's name.
    pub name: String,
    /// Whether it applies to this cluster.
    pub status: ConditionStatus,
    /// The word of the condition `Applies`.
    pub reason: String,
    /// The explanation of the condition `Applies`.
    pub message: String,
    /// Since when, where a source knows that.
    pub since: Option<Timestamp>,
    /// What is to be said about it where the update is described.
    pub description: String,
    /// Whether the administrator takes it.
    pub standing: Standing,
    /// What can be evaluated.
    pub rules: Rules,
    /// Whether a query that was not answered yet will tell if it applies.
    pub awaited: bool,
    /// Whether it is shown and nothing more: whoever says that it applies stands against no update.
    pub advisory: bool,
}

/// What of a risk's rules can be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rules {
    /// Some rule is of a type that is known.
    Known,
    /// There are rules, but none of a type that is known.
    Unrecognized,
    /// There are no rules.
    None,
}

impl Exposure {
    /// Whether it stands against the update: it applies or may apply, is more than advice, and was
    /// not accepted.
    pub fn stands_against(&self) -> bool {
        self.concerns_this_cluster() && !self.advisory && !self.standing.is_accepted()
    }

    /// Whether it says that the update is not offered: that can be accepted, but nobody recommends
    /// it for that.
    fn is_not_offered(&self) -> bool {
        self.name == recommended::NOT_OFFERED_BY_UPDATE_SERVICE.code && self.concerns_this_cluster()
    }

    /// Whether it applies or may apply, and stands against nothing.
    pub fn is_advice(&self) -> bool {
        self.concerns_this_cluster() && self.advisory
    }

    /// Whether it applies or may apply.
    pub fn concerns_this_cluster(&self) -> bool {
        self.status != ConditionStatus::False
    }

    /// What several definitions of one name say together: the worst of it.
    pub(crate) fn of(namesakes: &[(&Definition, &Finding)], standing: Standing) -> Self {
        let status = worst(namesakes.iter().map(|(_, finding)| &finding.status));
        let mut saying_so: Vec<_> =
            namesakes.iter().filter(|(_, finding)| finding.status == status).collect();
        // What counts is said first.
        saying_so.sort_by_key(|(_, finding)| !finding.counts());
        let of_all = |text: &dyn Fn(&Definition, &Finding) -> String, separator: &str| {
            let mut texts: Vec<String> =
                saying_so.iter().map(|(definition, finding)| text(definition, finding)).collect();
            let mut seen = BTreeSet::new();
            texts.retain(|text| seen.insert(text.clone()));
            text::join(&texts, separator, MAX_TEXT)
        };
        let rules = namesakes.iter().map(|(definition, _)| Rules::of(definition)).max();
        let name = namesakes.first().map_or("", |(definition, _)| &definition.name);
        let reason = saying_so.first().map_or("", |(_, finding)| &finding.reason);
        Self {
            name: name.to_owned(),
            reason: reason.to_owned(),
            message: of_all(&|_, finding| finding.message.clone(), "\n"),
            description: of_all(&describe, "\n\n"),
            since: saying_so.iter().filter_map(|(_, finding)| finding.since).min(),
            standing,
            rules: rules.unwrap_or(Rules::None),
            awaited: status == ConditionStatus::Unknown
                && saying_so.iter().any(|(_, finding)| finding.awaited),
            advisory: !namesakes.iter().any(|(_, finding)| finding.counts()),
            status,
        }
    }
}

impl Rules {
    fn of(definition: &Definition) -> Self {
        match definition {
            _ if definition.has_usable_rule() => Self::Known,
            _ if definition.rules.is_empty() => Self::None,
            _ => Self::Unrecognized,
        }
    }
}

/// True beats Unknown beats False: a risk applies if anybody says so.
pub(crate) fn worst<'a>(statuses: impl Iterator<Item = &'a ConditionStatus>) -> ConditionStatus {
    let weight = |status: &ConditionStatus| match status {
        ConditionStatus::False => 0,
        ConditionStatus::Unknown | ConditionStatus::Other(_) => 1,
        ConditionStatus::True => 2,
    };
    statuses.max_by_key(|status| weight(status)).cloned().unwrap_or_default()
}

fn describe(definition: &Definition, finding: &Finding) -> String {
    let Definition { name, message, url, .. } = definition;
    if finding.status != ConditionStatus::Unknown {
        return format!("{message} {url}");
    }
    let unable = if definition.has_query() { "evaluate PromQL to determine" } else { "determine" };
    let why = &finding.message;
    format!("Unable to {unable} if the cluster is impacted by {name}. {why} {message} {url}")
}

impl Verdict {
    /// The risks that stand against the update.
    pub fn unaccepted(&self) -> impl Iterator<Item = &Exposure> {
        self.exposures.iter().filter(|exposure| exposure.stands_against())
    }

    /// The risks that apply or may apply, and that the administrator takes.
    pub fn accepted(&self) -> impl Iterator<Item = &Exposure> {
        self.exposures.iter().filter(|exposure| {
            exposure.concerns_this_cluster()
                && !exposure.advisory
                && exposure.standing.is_accepted()
        })
    }

    /// Whether the update service offers the update.
    pub fn is_offered(&self) -> bool {
        !self.exposures.iter().any(Exposure::is_not_offered)
    }

    /// Whether the update is recommended for this cluster.
    pub fn is_recommended(&self) -> bool {
        self.against().next().is_none()
    }

    /// Why it is not recommended.
    fn against(&self) -> impl Iterator<Item = &Exposure> {
        let is_against = |risk: &&Exposure| risk.stands_against() || risk.is_not_offered();
        self.exposures.iter().filter(is_against)
    }

    /// The condition `Recommended`.
    pub fn recommended(&self) -> Condition {
        let against: Vec<&Exposure> = self.against().collect();
        let applies = against.iter().any(|exposure| exposure.status == ConditionStatus::True);
        let status = match (against.is_empty(), applies) {
            (true, _) => ConditionStatus::True,
            (false, true) => ConditionStatus::False,
            (false, false) => ConditionStatus::Unknown,
        };
        let reason = match (&status, against.as_slice()) {
            (ConditionStatus::True, _) => return self.recommendation(),
            (ConditionStatus::Unknown, _) => recommended::EVALUATION_FAILED.code,
            (_, [only]) if is_legal_reason(&only.name) => &only.name,
            (_, [_]) => recommended::EXPOSED_TO_RISKS.code,
            _ => recommended::MULTIPLE_REASONS.code,
        };
        let paragraphs: Vec<String> = against.iter().map(|exposure| exposure.paragraph()).collect();
        let message = text::join(&paragraphs, "\n\n", limits::MESSAGE);
        Condition::new(recommended::TYPE, status, reason, message)
    }

    fn recommendation(&self) -> Condition {
        let accepted: Vec<String> = self.accepted().map(Exposure::name_and_change).collect();
        let advice = self.exposures.iter().filter(|risk| risk.is_advice());
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

    /// The condition `Evaluating`: whether every risk has a rule that is known.
    pub fn evaluating(&self) -> Condition {
        let with = |rules: Rules| {
            let names = self.exposures.iter().filter(|exposure| exposure.rules == rules);
            names.map(|exposure| exposure.name.clone()).collect::<Vec<_>>()
        };
        let because = |reason, what: &str, names: &[String]| {
            let names = text::join(names, ", ", limits::MESSAGE - what.len() - " .".len());
            Condition::new(evaluating::TYPE, false, reason, format!("{what} {names}."))
        };
        match (with(Rules::None).as_slice(), with(Rules::Unrecognized).as_slice()) {
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

impl Exposure {
    /// What the condition `Recommended` says about it.
    fn paragraph(&self) -> String {
        match &self.standing {
            Standing::NotAccepted => self.description.clone(),
            standing => format!("{}\n{standing}", self.description),
        }
    }

    fn name_and_change(&self) -> String {
        match self.standing {
            Standing::Accepted { changed: true } => {
                format!("{} (content changed since)", self.name)
            }
            _ => self.name.clone(),
        }
    }
}
