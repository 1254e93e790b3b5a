//! How far the control plane is.

use fairway_api::ClusterVersionStatus;
use fairway_api::cluster_version::{UpdateHistory, UpdateState};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::estimate::{self, Course, Doubt, Estimate};
use super::health::{Impact, Insight};
use super::operators::{NODE_OPERATOR, Operator};
use super::pools::{NodeCounts, Pool};
use super::way::{self, Way};
use crate::age::{LONG, rounded, time};

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
    /// Completion of the update.
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
    pub way: Way,
    /// Percentage of components that have the release.
    pub percent: u8,
    /// Numbers of components by progress.
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

/// Numbers of components by progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OperatorCounts {
    /// Components that have the release.
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

/// What is known about the control plane.
pub(super) fn of(
    status: &ClusterVersionStatus,
    operators: &[Operator<'_>],
    masters: Option<&Pool>,
    now: Timestamp,
) -> ControlPlane {
    let counts = counts(operators);
    let way = Way::of(&status.history);
    let newest = status.history.first();
    let started_at = newest.and_then(|entry| time(entry.started_time.as_ref()));
    let completed_at =
        newest.filter(|one| one.state == UpdateState::Completed).and_then(estimate::end);
    let taken = started_at.map(|started| completed_at.unwrap_or(now).duration_since(started));
    let duration_seconds = taken.map(rounded);
    let nodes = masters.filter(|pool| !pool.nodes.is_empty()).map(Pool::counts);
    if counts.updated == counts.total {
        let version = way.target;
        return ControlPlane::Completed(Completed {
            version,
            completed_at,
            duration_seconds,
            nodes,
        });
    }
    let last_progress_at = started_at.and_then(|started| last_progress(operators, counts, started));
    let course = taken.zip(started_at).map(|(taken, started)| {
        let last = last_progress_at.unwrap_or(now);
        course(&status.history, counts, taken, last.duration_since(started))
    });
    let updating = operators.iter().filter(|operator| operator.is_updating());
    ControlPlane::Updating(Box::new(Updating {
        assessment: course.map_or(Assessment::Progressing, |course| assess(course.remaining())),
        way,
        percent: percent(counts.updated, counts.total),
        operators: counts,
        health: health(operators),
        updating_operators: updating.map(|operator| operator.name.to_owned()).collect(),
        started_at,
        duration_seconds,
        last_progress_at,
        estimate: course.and_then(|course| course.estimate()),
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

/// A part in percent, to the nearest; halves go to the even number.
#[expect(clippy::cast_precision_loss, reason = "counts are small")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 100")]
pub(super) fn percent(part: usize, total: usize) -> u8 {
    if total == 0 { 100 } else { (part as f64 / total as f64 * 100.0).round_ties_even() as u8 }
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn course(
    history: &[UpdateHistory],
    counts: OperatorCounts,
    taken: SignedDuration,
    to_last_progress: SignedDuration,
) -> Course {
    Course {
        taken,
        to_last_progress,
        completion: counts.updated as f64 / counts.total as f64,
        before: estimate::before(history),
        pivot: way::is_pivot(history),
    }
}

/// When a component last began or ended its part. Once only nodes are left, components that run on
/// all of them change with every node: then it is when the nodes began.
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
        _ if remaining < -LONG.as_secs() => Assessment::Stalled,
        _ if remaining < 0 => Assessment::Slow,
        _ => Assessment::Progressing,
    }
}

/// The release that a history ends with, if it was reached entirely.
pub(super) fn reached(status: &ClusterVersionStatus) -> Option<Completed> {
    let newest = status.history.first()?;
    let (started_at, completed_at) = (time(newest.started_time.as_ref()), estimate::end(newest));
    let taken = started_at.zip(completed_at).map(|(start, end)| end.duration_since(start));
    (newest.state == UpdateState::Completed).then(|| Completed {
        version: Way::of(&status.history).target,
        completed_at,
        duration_seconds: taken.map(rounded),
        nodes: None,
    })
}

impl ControlPlane {
    /// Whether all of it has reached the release.
    pub fn is_completed(&self) -> bool {
        matches!(self, Self::Completed(_))
    }

    /// Whether it should have been over long ago.
    pub(super) fn is_stalled(&self) -> bool {
        matches!(self, Self::Updating(updating) if updating.assessment == Assessment::Stalled)
    }

    /// The same, with an estimate that nobody trusts while something stands in the way.
    pub(super) fn doubted(mut self, insights: &[Insight]) -> Self {
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
