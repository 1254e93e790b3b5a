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

/// How far the control plane is.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ControlPlane {
    /// All of its components have reached the release.
    Completed(Completed),
    /// They have not, yet.
    Updating(Box<Updating>),
}

/// A control plane that has reached the release.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Completed {
    /// The version that it has.
    #[serde(rename = "completed")]
    pub version: String,
    /// When it was reached.
    #[schemars(with = "Option<String>")]
    pub completed_at: Option<Timestamp>,
    /// How long that took.
    pub duration_seconds: Option<i64>,
    /// Its nodes; none where they are in no pool.
    pub nodes: Option<NodeCounts>,
}

/// A control plane that has not reached the release yet.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Updating {
    /// How it goes.
    pub assessment: Assessment,
    /// Where it leads.
    #[serde(flatten)]
    pub way: Way,
    /// The part of components that have reached it.
    pub percent: u8,
    /// How many have reached it, are on their way, or have yet to begin.
    pub operators: OperatorCounts,
    /// How well they all are.
    pub health: Health,
    /// Those on their way, in the order of the API.
    pub updating_operators: Vec<String>,
    /// When it began.
    #[schemars(with = "Option<String>")]
    pub started_at: Option<Timestamp>,
    /// How long it has taken.
    pub duration_seconds: Option<i64>,
    /// When a component last began or ended its part; none where none has.
    #[schemars(with = "Option<String>")]
    pub last_progress_at: Option<Timestamp>,
    /// When it will be over.
    pub estimate: Option<Estimate>,
    /// Its nodes; none where they are in no pool.
    pub nodes: Option<NodeCounts>,
}

/// How an update of the control plane goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Assessment {
    /// As usual.
    Progressing,
    /// It takes longer than usual.
    #[serde(rename = "Progressing - Slow")]
    Slow,
    /// It should have been over long ago.
    Stalled,
}

/// How far the components are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OperatorCounts {
    /// They have reached the release.
    pub updated: usize,
    /// They are on their way.
    pub updating: usize,
    /// They have yet to begin.
    pub waiting: usize,
    /// All of them.
    pub total: usize,
}

/// How well the components are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Health {
    /// They work.
    pub healthy: usize,
    /// They do not work.
    pub unavailable: usize,
    /// They work worse than they should.
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
            |insight: &Insight| insight.impact == Impact::UpdateStalled && !insight.may_pass;
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
