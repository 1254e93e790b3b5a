//! What may go wrong with an update, who says so, and which updates it concerns.

use std::collections::BTreeSet;
use std::fmt;

use fairway_api::cluster_version::{MatchingRule, MatchingRuleType, Release};
use fairway_api::{ConditionStatus, Move, Version};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::range::Range;

/// Something that may go wrong with an update on some clusters, as its source describes it.
///
/// Nothing is taken for granted: names may be illegal, texts empty or endless. The ledger sees to
/// it that what it publishes can be stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Risk {
    /// Its CamelCase name. The same name is the same risk, wherever it comes from.
    pub name: String,
    /// What may go wrong, for people to read.
    pub message: String,
    /// Where people read about it.
    pub url: String,
    /// Whom it concerns: the first rule that can be evaluated decides.
    pub matching_rules: Vec<MatchingRule>,
    /// What the source itself knows about this cluster; the rules are not evaluated then.
    pub claim: Option<Claim>,
}

impl Risk {
    /// A risk of every cluster.
    pub fn always(
        name: impl Into<String>,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            message: message.into(),
            url: url.into(),
            matching_rules: vec![always()],
            claim: None,
        }
    }

    /// The same with what the source knows about this cluster.
    pub fn claiming(mut self, claim: Claim) -> Self {
        self.claim = Some(claim);
        self
    }
}

/// The rule that matches every cluster.
pub(crate) fn always() -> MatchingRule {
    MatchingRule { type_: MatchingRuleType::Always, ..MatchingRule::default() }
}

/// What a source knows about its risk on this cluster: the content of the condition `Applies`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claim {
    /// Whether the risk applies.
    pub status: ConditionStatus,
    /// One CamelCase word for programs.
    pub reason: String,
    /// The explanation for people.
    pub message: String,
    /// Since when, where the source knows that.
    pub since: Option<Timestamp>,
    /// Whether it is shown and nothing more: it stands against no update.
    pub advisory: bool,
}

impl Claim {
    /// A claim without a beginning.
    pub fn new(
        status: impl Into<ConditionStatus>,
        reason: impl AsRef<str>,
        message: impl Into<String>,
    ) -> Self {
        let reason = reason.as_ref().to_owned();
        Self {
            status: status.into(),
            reason,
            message: message.into(),
            since: None,
            advisory: false,
        }
    }

    /// The same, for people to know: it stands against no update.
    pub fn as_advice(self) -> Self {
        Self { advisory: true, ..self }
    }
}

/// A risk that something in the cluster reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Concern {
    /// What may go wrong.
    pub risk: Risk,
    /// Who says so.
    pub source: Source,
    /// The updates for which it may.
    pub targets: Targets,
}

/// An update that the update service offers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidate {
    /// The release it leads to.
    pub release: Release,
    /// The risks of its edge; none where the edge is unconditional. Edges share most of them.
    pub risks: Vec<std::sync::Arc<Risk>>,
}

/// Publisher of a risk.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "type", content = "name")]
pub enum Source {
    /// The update service.
    Graph,
    /// A preflight of the target release.
    Preflight,
    /// The condition `Upgradeable` of the named ClusterOperator.
    Upgradeable(String),
    /// The ClusterOperators together.
    ClusterOperators,
    /// The risk report of the named ClusterOperator.
    RiskReport(String),
    /// An admin gate.
    AdminGate,
    /// Overrides in ClusterVersion.
    Overrides,
    /// An update in progress.
    Updating,
    /// Objects that the target release removes.
    Deletions,
    /// An alert of the cluster.
    Alert,
}

impl Source {
    /// Whether its risks are about later minor and major versions as such. Those of the others
    /// are about one release, or about any update.
    pub(crate) fn is_about_later_versions(&self) -> bool {
        !matches!(self, Self::Graph | Self::Preflight | Self::Alert)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Graph => f.write_str("the update service"),
            Self::Preflight => f.write_str("the preflight"),
            Self::Upgradeable(name) => write!(f, "the cluster operator {name}"),
            Self::ClusterOperators => f.write_str("the cluster operators"),
            Self::RiskReport(name) => write!(f, "the risk report of {name}"),
            Self::AdminGate => f.write_str("the admin gates"),
            Self::Overrides => f.write_str("spec.overrides"),
            Self::Updating => f.write_str("the update in progress"),
            Self::Deletions => f.write_str("the deletions in progress"),
            Self::Alert => f.write_str("the alerts"),
        }
    }
}

/// The updates that a risk concerns. Where it cannot be told, it concerns them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Targets {
    /// Every update.
    All,
    /// Updates to a later minor or major version.
    MinorOrMajor,
    /// Updates to versions in a range.
    Range(Range),
    /// Updates to these releases, by image.
    Images(BTreeSet<String>),
}

impl Targets {
    /// Whether an update from `current` to the release is among them; `None` is a version that
    /// cannot be read.
    pub fn contain(&self, current: Option<&Version>, release: &Release) -> bool {
        let target = Version::parse(&release.version).ok();
        match self {
            Self::All => true,
            Self::MinorOrMajor => match (current, &target) {
                (Some(current), Some(target)) => {
                    let step = Move::between(current, target);
                    !step.within_minor() && step != Move::Downgrade
                }
                _ => true,
            },
            Self::Range(range) => target.as_ref().is_none_or(|target| range.touches(target)),
            Self::Images(images) => images.contains(&release.image),
        }
    }

    /// Whether they contain updates to the minor version after `current`.
    pub(crate) fn contain_next_minor(&self, current: Option<&Version>) -> bool {
        match (self, current) {
            (Self::All | Self::MinorOrMajor, _) | (Self::Range(_), None) => true,
            (Self::Range(range), Some(current)) => {
                current.next_minors().any(|next| range.touches(&next))
            }
            (Self::Images(_), _) => false,
        }
    }
}
