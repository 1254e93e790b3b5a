//! Report on one cluster.

use fairway_api::cluster_version::UpdateState;
use fairway_api::reason::{invalid, retrieved_updates, upgradeable};
use fairway_api::{
    ClusterVersionStatus, ConditionStatus, Conditions as _, OperatorCondition, Version,
};
use fairway_risk::Acceptance;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::target::{TargetContext, TargetReport};
use super::{ClusterError, ClusterSnapshot, FleetMember, Readiness};
use crate::alerts::Alerts;
use crate::recommend::{self, Issue, RecommendQuery, Recommendation, Target};

/// Updates of one cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterReport {
    /// Name of the cluster.
    pub name: String,
    /// Whether the cluster can update to all requested versions, or to any if none is requested.
    pub readiness: Readiness,
    /// Time at which the cluster was observed.
    #[schemars(with = "Option<String>")]
    pub observation_time: Option<Timestamp>,
    /// Latest completed version.
    pub version: Option<String>,
    /// Channel of the cluster.
    pub channel: Option<String>,
    /// Whether the operator has retrieved updates.
    pub updates_retrieved: bool,
    /// States of the cluster that block updates to any version.
    pub blockers: Vec<Blocker>,
    /// Requested versions, or one update of each minor version: the latest recommended one, or else
    /// the latest.
    pub targets: Vec<TargetReport>,
    /// Why preflight results are incomplete.
    pub preflight_error: Option<String>,
    /// Why the cluster could not be read.
    pub error: Option<ClusterError>,
}

impl ClusterReport {
    pub(super) fn of(cluster: &FleetMember, targets: &[Version]) -> Self {
        match &cluster.snapshot {
            Ok(snapshot) => Self::read(&cluster.name, snapshot, targets),
            Err(unread) => Self {
                name: cluster.name.clone(),
                readiness: Readiness::Unknown,
                observation_time: None,
                version: None,
                channel: None,
                updates_retrieved: false,
                blockers: Vec::new(),
                targets: Vec::new(),
                preflight_error: None,
                error: Some(unread.clone()),
            },
        }
    }

    fn read(name: &str, snapshot: &ClusterSnapshot, wanted: &[Version]) -> Self {
        let nothing = ClusterVersionStatus::default();
        let status = snapshot.version.status.as_ref().unwrap_or(&nothing);
        // Fleet reports do not read alerts; `recommend` does for one cluster.
        let (alerts, query) = (Alerts::NoMonitoring, RecommendQuery::default());
        let all = Recommendation::of(&snapshot.version, &alerts, &query, snapshot.now);
        let (updates, updates_retrieved) = match all.result {
            recommend::RecommendResult::All { updates, updates_retrieved } => {
                (updates, updates_retrieved)
            }
            recommend::RecommendResult::One { .. } => (Vec::new(), false),
        };
        let blockers = blockers(status, all.issues);
        let acceptance = Acceptance::from_cluster_version(&snapshot.version);
        let context = TargetContext {
            snapshot,
            status,
            acceptance: &acceptance,
            blockers: &blockers,
            updates_retrieved: updates_retrieved
                && !status.conditions.is_false(retrieved_updates::TYPE),
        };
        let targets = if wanted.is_empty() {
            best(&updates, &status.desired.version, &context)
        } else {
            asked(&updates, wanted, &context)
        };
        let any_target = wanted.is_empty();
        Self {
            name: name.to_owned(),
            readiness: readiness(&targets, &blockers, updates_retrieved, any_target),
            observation_time: Some(snapshot.now),
            version: version(status),
            channel: all.channel,
            updates_retrieved,
            blockers,
            targets,
            preflight_error: snapshot.preflights_unread.clone(),
            error: None,
        }
    }
}

/// Latest completed version, or the version of the first rollout.
fn version(status: &ClusterVersionStatus) -> Option<String> {
    let complete = status.history.iter().find(|entry| entry.state == UpdateState::Completed);
    let complete = complete.and_then(|entry| entry.version.clone());
    complete.or_else(|| Some(status.desired.version.clone())).filter(|version| !version.is_empty())
}

fn asked(updates: &[Target], wanted: &[Version], context: &TargetContext<'_>) -> Vec<TargetReport> {
    let report = |version: &Version| {
        let text = version.to_string();
        context.report(&text, updates.iter().find(|update| update.version == text))
    };
    wanted.iter().map(report).collect()
}

/// Latest recommended update of each minor version, else the latest update. The latest minor
/// version is first.
fn best(updates: &[Target], at: &str, context: &TargetContext<'_>) -> Vec<TargetReport> {
    let at = Version::parse(at).ok();
    let later: Vec<(Version, &Target)> = updates
        .iter()
        .filter_map(|update| Some((Version::parse(&update.version).ok()?, update)))
        .filter(|(version, _)| at.as_ref().is_none_or(|at| version > at))
        .collect();
    let minor = |(version, _): &(Version, &Target)| (version.major(), version.minor());
    let groups = later.chunk_by(|one, other| minor(one) == minor(other));
    let best = groups.filter_map(|group| {
        group.iter().find(|(_, update)| update.is_recommended()).or_else(|| group.first())
    });
    best.map(|(_, update)| context.report(&update.version, Some(update))).collect()
}

/// Readiness of a cluster. Without requested versions, one possible update is enough, and so is the
/// latest release.
fn readiness(
    targets: &[TargetReport],
    blockers: &[Blocker],
    updates_retrieved: bool,
    any_target: bool,
) -> Readiness {
    let answers = || targets.iter().map(|target| target.readiness);
    let blocker_readiness =
        || blockers.iter().map(Blocker::readiness).max().unwrap_or(Readiness::Ready);
    match targets {
        [] if updates_retrieved => blocker_readiness(),
        [] => blocker_readiness().max(Readiness::Unknown),
        _ if any_target => answers().min().unwrap_or(Readiness::Unknown),
        _ => answers().max().unwrap_or(Readiness::Unknown),
    }
}

/// State of a cluster that blocks updates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Blocker {
    /// Name of the blocker, usually a condition type.
    pub name: String,
    /// Reason, one CamelCase word.
    pub reason: Option<String>,
    /// Human-readable details.
    pub message: Option<String>,
    /// Whether the blocker is known to exist. `false` if the state is unknown.
    pub certain: bool,
    /// Updates that it blocks.
    pub scope: Scope,
}

/// Updates that a blocker blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// All updates.
    AllUpdates,
    /// Updates to another minor version. Their verdicts include the blocker unless it is accepted.
    OtherMinorVersions,
}

/// Blockers of a cluster: conditions, and issues of any update.
fn blockers(status: &ClusterVersionStatus, issues: Vec<Issue>) -> Vec<Blocker> {
    let holds = |type_: &str, wanted: ConditionStatus, scope: Scope| {
        let condition = status.conditions.find(type_).filter(|one| one.status == wanted);
        condition.map(|condition| Blocker::of_condition(condition, scope))
    };
    let invalid = holds(invalid::TYPE, ConditionStatus::True, Scope::AllUpdates);
    let upgradeable = holds(upgradeable::TYPE, ConditionStatus::False, Scope::OtherMinorVersions);
    let issues = issues.into_iter().map(Blocker::of_issue);
    invalid.into_iter().chain(issues).chain(upgradeable).collect()
}

impl Blocker {
    /// Readiness for any update.
    pub(super) fn readiness(&self) -> Readiness {
        match (self.scope, self.certain) {
            (Scope::OtherMinorVersions, _) => Readiness::Ready,
            (Scope::AllUpdates, true) => Readiness::Blocked,
            (Scope::AllUpdates, false) => Readiness::Unknown,
        }
    }

    fn of_condition(condition: &OperatorCondition, scope: Scope) -> Self {
        Self {
            name: condition.type_.clone(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            certain: true,
            scope,
        }
    }

    fn of_issue(issue: Issue) -> Self {
        let Issue { name, reason, message, certain, .. } = issue;
        Self { name, reason, message, certain, scope: Scope::AllUpdates }
    }
}
