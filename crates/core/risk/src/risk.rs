//! Risks of updates, their sources, and the updates that they affect.

use std::collections::BTreeSet;
use std::fmt;

use fairway_api::cluster_version::{MatchingRule, MatchingRuleType, Release};
use fairway_api::{ConditionStatus, Version, VersionChange};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::version_range::VersionRange;

/// A risk of updates, as its source publishes it.
///
/// The content is not validated: names may be invalid, texts empty or too long. The ledger replaces
/// risks that the API cannot store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Risk {
    /// CamelCase name, which identifies the risk across sources.
    pub name: String,
    /// Description of the risk.
    pub message: String,
    /// Page about the risk.
    pub url: String,
    /// Rules that determine whether the risk applies. The first rule that can be evaluated decides.
    pub matching_rules: Vec<MatchingRule>,
    /// The source's own assessment of this cluster. If it is set, the rules are not evaluated.
    pub claim: Option<RiskAssessment>,
}

impl Risk {
    /// A risk that applies to all clusters.
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

    /// Sets the source's assessment of this cluster.
    pub fn with_assessment(mut self, claim: RiskAssessment) -> Self {
        self.claim = Some(claim);
        self
    }
}

/// The rule that matches every cluster.
pub(crate) fn always() -> MatchingRule {
    MatchingRule { type_: MatchingRuleType::Always, ..MatchingRule::default() }
}

/// A source's assessment of its risk on this cluster: the content of the condition `Applies`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RiskAssessment {
    /// Whether the risk applies.
    pub status: ConditionStatus,
    /// Reason of the condition.
    pub reason: String,
    /// Message of the condition.
    pub message: String,
    /// Start time, if the source knows it.
    pub since: Option<Timestamp>,
    /// Whether the risk is informational and blocks no update.
    pub advisory: bool,
}

impl RiskAssessment {
    /// An assessment without a start time.
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

    /// Makes the assessment informational: it blocks no update.
    pub fn as_advisory(self) -> Self {
        Self { advisory: true, ..self }
    }
}

/// A risk that a source in the cluster reports.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportedRisk {
    /// The risk.
    pub risk: Risk,
    /// Source of the risk.
    pub source: RiskSource,
    /// Updates that the risk affects.
    pub targets: AffectedUpdates,
}

/// An update of the update service.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CandidateUpdate {
    /// Target release.
    pub release: Release,
    /// Risks of the edge; empty for an unconditional update. Edges share most of their risks.
    pub risks: Vec<std::sync::Arc<Risk>>,
}

/// Publisher of a risk.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[schemars(rename = "Source")]
#[serde(rename_all = "camelCase", tag = "type", content = "name")]
pub enum RiskSource {
    /// The update service.
    Graph,
    /// A preflight of the target release.
    Preflight,
    /// The condition `Upgradeable` of the named ClusterOperator.
    Upgradeable(String),
    /// The list of ClusterOperators, if the operator cannot read it.
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

impl RiskSource {
    /// Whether its risks affect all later minor and major versions. Risks of other sources affect
    /// one release or any update.
    pub(crate) fn affects_later_versions(&self) -> bool {
        !matches!(self, Self::Graph | Self::Preflight | Self::Alert)
    }
}

impl fmt::Display for RiskSource {
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

/// The updates that a risk affects. If a version is invalid, the update counts as affected.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AffectedUpdates {
    /// All updates.
    All,
    /// Updates to a later minor or major version.
    MinorOrMajor,
    /// Updates to a later minor or major version that none of the ranges covers.
    MinorOrMajorOutside(Vec<VersionRange>),
    /// Updates to versions in a range.
    Range(VersionRange),
    /// Updates to releases with these images.
    Images(BTreeSet<String>),
}

impl AffectedUpdates {
    /// Whether an update from `current` to a release is affected. `None` is an invalid version.
    pub fn contain(&self, current: Option<&Version>, release: &Release) -> bool {
        let target = Version::parse(&release.version).ok();
        match self {
            Self::All => true,
            Self::MinorOrMajor => match (current, &target) {
                (Some(current), Some(target)) => {
                    let step = VersionChange::between(current, target);
                    !step.within_minor() && step != VersionChange::Downgrade
                }
                _ => true,
            },
            Self::MinorOrMajorOutside(ranges) => {
                let is_outside = |target| !ranges.iter().any(|range| range.covers(target));
                Self::MinorOrMajor.contain(current, release)
                    && target.as_ref().is_none_or(is_outside)
            }
            Self::Range(range) => target.as_ref().is_none_or(|target| range.touches(target)),
            Self::Images(images) => images.contains(&release.image),
        }
    }

    /// Whether updates to the minor version after `current` are affected.
    pub(crate) fn contain_next_minor(&self, current: Option<&Version>) -> bool {
        match (self, current) {
            (Self::All | Self::MinorOrMajor, _)
            | (Self::Range(_) | Self::MinorOrMajorOutside(_), None) => true,
            (Self::MinorOrMajorOutside(ranges), Some(current)) => {
                let is_covered = |next: Version| ranges.iter().any(|range| range.covers(&next));
                !current.next_minors().all(is_covered)
            }
            (Self::Range(range), Some(current)) => {
                current.next_minors().any(|next| range.touches(&next))
            }
            (Self::Images(_), _) => false,
        }
    }
}
