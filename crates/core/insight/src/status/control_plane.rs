//! Progress of the control plane.

use fairway_api::ClusterVersionStatus;
use fairway_api::cluster_version::{UpdateHistory, UpdateState};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::estimate::{self, Doubt, Estimate, RolloutProgress};
use super::health::{Impact, Insight};
use super::operators::{NODE_OPERATOR, Operator};
use super::pools::{NodeCounts, Pool};
use crate::text::{LONG_DURATION, rounded, time};

/// Update of the control plane.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ControlPlane {
    /// All components have the release.
    Completed(Completed),
    /// The rollout is in progress.
    Updating(Box<Updating>),
}

/// Completed update of the control plane.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Completed {
    /// Version of the control plane.
    #[serde(rename = "completed")]
    pub version: String,
    /// Time at which the update completed.
    #[schemars(with = "Option<String>")]
    pub completed_at: Option<Timestamp>,
    /// Duration of the update.
    pub duration_seconds: Option<i64>,
    /// Control plane nodes, `null` if they are in no pool.
    pub nodes: Option<NodeCounts>,
}

/// Update of the control plane in progress.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Updating {
    /// Assessment of the progress.
    pub assessment: Assessment,
    /// Source and target of the update.
    #[serde(flatten)]
    pub version_change: VersionChange,
    /// Percentage of components that have the release.
    pub percent: u8,
    /// Number of components in each state.
    pub operators: OperatorCounts,
    /// Numbers of components by health.
    pub health: Health,
    /// Names of the components that are updating, in the order of the API.
    pub updating_operators: Vec<String>,
    /// Start of the update.
    #[schemars(with = "Option<String>")]
    pub started_at: Option<Timestamp>,
    /// Duration of the update so far.
    pub duration_seconds: Option<i64>,
    /// Time at which a component last started or completed its update, `null` if none has.
    #[schemars(with = "Option<String>")]
    pub last_progress_at: Option<Timestamp>,
    /// Estimate of the remaining time.
    pub estimate: Option<Estimate>,
    /// Control plane nodes, `null` if they are in no pool.
    pub nodes: Option<NodeCounts>,
}

/// Assessment of the progress of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Assessment {
    /// The update proceeds as expected.
    Progressing,
    /// The update takes longer than expected.
    #[serde(rename = "Progressing - Slow")]
    Slow,
    /// The update should have completed long ago.
    Stalled,
}

/// Number of components in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OperatorCounts {
    /// Components at the target release.
    pub updated: usize,
    /// Components that are updating.
    pub updating: usize,
    /// Components that have not started.
    pub waiting: usize,
    /// All components.
    pub total: usize,
}

/// Numbers of components by health.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Health {
    /// Available components that are not degraded.
    pub healthy: usize,
    /// Components that are not available.
    pub unavailable: usize,
    /// Available components that are degraded.
    pub degraded: usize,
}

/// Source and target of an update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionChange {
    /// Target version.
    pub target: String,
    /// Source version, `null` for an installation.
    pub from: Option<String>,
    /// Kind of change.
    pub change: Change,
}

/// Kind of change made to the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// Installation of the first release.
    Install,
    /// Update to another version.
    Update,
    /// Update to another version before the previous update completed.
    UpdateFromIncomplete,
    /// Change to the multi-architecture release of the same version.
    MultiArch,
}

/// Version in an empty history.
const UNKNOWN: &str = "unknown";

impl VersionChange {
    /// Version change of the latest history entries.
    pub(super) fn of(history: &[UpdateHistory]) -> Self {
        let target = history.first().map_or(UNKNOWN.to_owned(), version);
        let Some(before) = history.get(1) else {
            let (from, change) = match history {
                [] => (Some(UNKNOWN.to_owned()), Change::Update),
                _ => (None, Change::Install),
            };
            return Self { target, from, change };
        };
        let change = match before.state {
            UpdateState::Partial => Change::UpdateFromIncomplete,
            _ if is_multi_arch(history) => Change::MultiArch,
            _ => Change::Update,
        };
        Self { target, from: Some(version(before)), change }
    }
}

/// Whether the latest entry only changes the architecture of the previous version.
pub(super) fn is_multi_arch(history: &[UpdateHistory]) -> bool {
    let [newest, before, ..] = history else { return false };
    newest.version == before.version && newest.image != before.image
}

/// Latest completed version before the newest two entries.
pub(super) fn last_complete(history: &[UpdateHistory]) -> String {
    let mut before = history.iter().skip(2);
    let complete = before.find(|entry| entry.state == UpdateState::Completed);
    complete.map_or(UNKNOWN.to_owned(), version)
}

fn version(entry: &UpdateHistory) -> String {
    entry.version.clone().unwrap_or_default()
}

/// Progress of the control plane.
pub(super) fn of(
    status: &ClusterVersionStatus,
    operators: &[Operator<'_>],
    masters: Option<&Pool>,
    now: Timestamp,
) -> ControlPlane {
    let counts = counts(operators);
    let version_change = VersionChange::of(&status.history);
    let newest = status.history.first();
    let started_at = newest.and_then(|entry| time(entry.started_time.as_ref()));
    let completed_at =
        newest.filter(|one| one.state == UpdateState::Completed).and_then(estimate::end);
    let elapsed = started_at.map(|started| completed_at.unwrap_or(now).duration_since(started));
    let duration_seconds = elapsed.map(rounded);
    let nodes = masters.filter(|pool| !pool.nodes.is_empty()).map(Pool::counts);
    if counts.updated == counts.total {
        let version = version_change.target;
        return ControlPlane::Completed(Completed {
            version,
            completed_at,
            duration_seconds,
            nodes,
        });
    }
    let last_progress_at = started_at.and_then(|started| last_progress(operators, counts, started));
    let progress = elapsed.zip(started_at).map(|(elapsed, started)| {
        let last = last_progress_at.unwrap_or(now);
        progress(&status.history, counts, elapsed, last.duration_since(started))
    });
    let updating = operators.iter().filter(|operator| operator.is_updating());
    ControlPlane::Updating(Box::new(Updating {
        assessment: progress
            .map_or(Assessment::Progressing, |progress| assess(progress.remaining())),
        version_change,
        percent: percent(counts.updated, counts.total),
        operators: counts,
        health: health(operators),
        updating_operators: updating.map(|operator| operator.name.to_owned()).collect(),
        started_at,
        duration_seconds,
        last_progress_at,
        estimate: progress.and_then(|progress| progress.estimate()),
        nodes,
    }))
}

fn counts<'a>(operators: &[Operator<'a>]) -> OperatorCounts {
    let number = |is: fn(&Operator<'a>) -> bool| operators.iter().filter(|one| is(one)).count();
    OperatorCounts {
        updated: number(|operator| operator.updated),
        updating: number(Operator::is_updating),
        waiting: number(Operator::is_waiting),
        total: operators.len(),
    }
}

fn health(operators: &[Operator<'_>]) -> Health {
    let mut health = Health::default();
    for operator in operators {
        let counter = match (operator.is_available(), operator.is_degraded()) {
            (false, _) => &mut health.unavailable,
            (true, true) => &mut health.degraded,
            (true, false) => &mut health.healthy,
        };
        *counter += 1;
    }
    health
}

/// Percentage, rounded to the nearest even number as in `oc adm upgrade status`.
#[expect(clippy::cast_precision_loss, reason = "counts are small")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 100")]
pub(super) fn percent(part: usize, total: usize) -> u8 {
    if total == 0 { 100 } else { (part as f64 / total as f64 * 100.0).round_ties_even() as u8 }
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn progress(
    history: &[UpdateHistory],
    counts: OperatorCounts,
    elapsed: SignedDuration,
    to_last_progress: SignedDuration,
) -> RolloutProgress {
    RolloutProgress {
        elapsed,
        to_last_progress,
        completion: counts.updated as f64 / counts.total as f64,
        before: estimate::before(history),
        multi_arch: is_multi_arch(history),
    }
}

/// Latest time at which a component started or completed its update. Once only machine-config is
/// left, components on all nodes change with every node; then it is the start of machine-config.
fn last_progress(
    operators: &[Operator<'_>],
    counts: OperatorCounts,
    started: Timestamp,
) -> Option<Timestamp> {
    let changed =
        |operator: &Operator<'_>| time(operator.progressing?.last_transition_time.as_ref());
    let nodes_began = operators
        .iter()
        .find(|operator| operator.name == NODE_OPERATOR && operator.is_updating())
        .filter(|_| counts.total - counts.updated == 1)
        .and_then(changed);
    let last = nodes_began.or_else(|| operators.iter().filter_map(changed).max());
    last.filter(|last| *last > started)
}

fn assess(remaining: i64) -> Assessment {
    match remaining {
        _ if remaining < -LONG_DURATION.as_secs() => Assessment::Stalled,
        _ if remaining < 0 => Assessment::Slow,
        _ => Assessment::Progressing,
    }
}

/// Latest history entry, if it is complete.
pub(super) fn completed(status: &ClusterVersionStatus) -> Option<Completed> {
    let newest = status.history.first()?;
    let (started_at, completed_at) = (time(newest.started_time.as_ref()), estimate::end(newest));
    let elapsed = started_at.zip(completed_at).map(|(start, end)| end.duration_since(start));
    (newest.state == UpdateState::Completed).then(|| Completed {
        version: VersionChange::of(&status.history).target,
        completed_at,
        duration_seconds: elapsed.map(rounded),
        nodes: None,
    })
}

impl ControlPlane {
    /// Whether all components have the release.
    pub fn is_completed(&self) -> bool {
        matches!(self, Self::Completed(_))
    }

    /// Whether the update should have completed long ago.
    pub(super) fn is_stalled(&self) -> bool {
        matches!(self, Self::Updating(updating) if updating.assessment == Assessment::Stalled)
    }

    /// Marks the estimate as unreliable while an insight blocks the update.
    pub(super) fn with_doubts(mut self, insights: &[Insight]) -> Self {
        let is_blocking =
            |insight: &Insight| insight.impact == Impact::UpdateStalled && !insight.transient;
        let blocked = insights.iter().any(is_blocking);
        if let Self::Updating(updating) = &mut self
            && let Some(estimate) = &mut updating.estimate
            && blocked
        {
            estimate.trusted = false;
            estimate.doubt = Some(Doubt::Blocked);
        }
        self
    }
}
