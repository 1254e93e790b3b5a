//! Problems that affect an update in progress.

use std::cmp::Reverse;

use fairway_api::reason::failing;
use fairway_api::{ClusterVersionStatus, ConditionStatus, Conditions as _, OperatorCondition};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::control_plane::{self, Change, ControlPlane, VersionChange};
use super::operators::{self, Operator};
use super::pools::Pool;
use crate::alerts::{Alert, description, firing_name, runbook};
use crate::cluster::ClusterObjects;
use crate::text::{seconds_since, time};

/// Time for which an updating component may be unavailable without an insight.
const TRANSIENT_GRACE_PERIOD: SignedDuration = SignedDuration::from_mins(5);

/// Time after which an unavailable component does not recover by itself.
const UNAVAILABLE_ERROR_AFTER: SignedDuration = SignedDuration::from_mins(20);

/// Time after which a degraded component does not recover by itself.
const DEGRADED_ERROR_AFTER: SignedDuration = SignedDuration::from_mins(40);

/// Alerts that slow down updates even if they fired before the update.
const PDB_ALERTS: [&str; 2] = ["PodDisruptionBudgetLimit", "PodDisruptionBudgetAtLimit"];

/// Pages with instructions.
mod reference {
    pub(super) const DOWN: &str = "https://github.com/openshift/runbooks/blob/master/alerts/cluster-monitoring-operator/ClusterOperatorDown.md";
    pub(super) const DEGRADED: &str = "https://github.com/openshift/runbooks/blob/master/alerts/cluster-monitoring-operator/ClusterOperatorDegraded.md";
    pub(super) const HISTORY: &str = "https://docs.openshift.com/container-platform/latest/updating/troubleshooting_updates/gathering-data-cluster-update.html#gathering-clusterversion-history-cli_troubleshooting_updates";
    pub(super) const NODES: &str = "https://docs.openshift.com/container-platform/latest/post_installation_configuration/machine-configuration-tasks.html#understanding-the-machine-config-operator";
    pub(super) const PAUSED: &str = "https://docs.openshift.com/container-platform/latest/support/troubleshooting/troubleshooting-operator-issues.html#troubleshooting-disabling-autoreboot-mco_troubleshooting-operator-issues";
}

/// Problem that affects an update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Insight {
    /// Severity of the problem.
    pub level: Level,
    /// Impact on the update.
    pub impact: Impact,
    /// Short description of the problem.
    pub summary: String,
    /// Complete description of the problem.
    pub description: String,
    /// Page with instructions that resolve the problem.
    pub reference: String,
    /// Affected objects, such as `clusteroperators.config.openshift.io: etcd`.
    pub resources: Vec<String>,
    /// Start of the current state.
    #[schemars(with = "Option<String>")]
    pub last_transition_time: Option<Timestamp>,
    /// Seconds since `lastTransitionTime`.
    pub age_seconds: Option<i64>,
    /// Whether the state is recent and usual during an update, and so probably transient.
    pub transient: bool,
}

/// Severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum Level {
    /// An administrator should check it.
    Warning,
    /// It does not resolve by itself.
    Error,
    /// It endangers the cluster.
    Critical,
}

/// Impact of a problem on an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Impact {
    /// No impact.
    None,
    /// The impact is unknown.
    Unknown,
    /// Requests to an API may fail.
    #[serde(rename = "API Availability")]
    ApiAvailability,
    /// Makes the update take longer; does not block it.
    #[serde(rename = "Update Speed")]
    UpdateSpeed,
    /// The update does not continue.
    #[serde(rename = "Update Stalled")]
    UpdateStalled,
}

impl Insight {
    /// Whether it blocks the update, or needs an administrator.
    pub(super) fn is_problem(&self) -> bool {
        self.level >= Level::Error || self.impact == Impact::UpdateStalled && !self.transient
    }
}

/// Data that insights are derived from.
pub(super) struct InsightContext<'a> {
    pub(super) cluster: &'a ClusterObjects,
    pub(super) status: &'a ClusterVersionStatus,
    pub(super) operators: &'a [Operator<'a>],
    pub(super) pools: &'a [&'a Pool],
    /// Start of the update.
    pub(super) started: Option<Timestamp>,
}

/// All insights, most severe first, and of one level the newest first.
pub(super) fn insights(
    context: &InsightContext<'_>,
    control_plane: &ControlPlane,
    now: Timestamp,
) -> Vec<Insight> {
    let mut found = Vec::new();
    found.extend(context.failing(now));
    found.extend(context.incomplete_before(control_plane));
    found.extend(context.operators.iter().flat_map(|operator| of_operator(operator, now)));
    found.extend(context.pools.iter().flat_map(|pool| of_pool(pool)));
    let alerts = context.cluster.alerts.list().iter();
    found.extend(alerts.filter_map(|alert| of_alert(alert, context.started)));
    // Insights without a description or a reference do not help; `oc` drops them, too.
    found.retain(|one| {
        ![&one.summary, &one.description, &one.reference].iter().any(|text| text.is_empty())
    });
    for insight in &mut found {
        insight.age_seconds = seconds_since(insight.last_transition_time, now);
    }
    found.sort_by_key(|insight| (Reverse(insight.level), Reverse(insight.last_transition_time)));
    found
}

impl InsightContext<'_> {
    fn resource(&self) -> String {
        let name = self.cluster.version.metadata.name.as_deref().unwrap_or_default();
        format!("clusterversions.config.openshift.io: {name}")
    }

    /// Insight for `Failing=True` of ClusterVersion, or for a missing condition.
    fn failing(&self, now: Timestamp) -> Option<Insight> {
        let name = self.cluster.version.metadata.name.as_deref().unwrap_or_default();
        let condition = self.status.conditions.find(failing::TYPE);
        let (summary, description) = match condition {
            None => (
                format!("Cluster Version {name} has no Failing condition"),
                "The condition Failing is missing, so the state of the operator is unknown."
                    .to_owned(),
            ),
            Some(condition) if condition.status == ConditionStatus::False => return None,
            Some(condition) => {
                let is = if condition.status == ConditionStatus::True { "is" } else { "may be" };
                let what =
                    format!("Cluster Version {name} {is} failing to proceed with the update");
                (with_reason(&what, condition), message(condition))
            }
        };
        let since = condition.and_then(|one| time(one.last_transition_time.as_ref()));
        // Clocks may differ a little. A start in the far future is a wrong clock, not a recent
        // failure.
        let is_new = |since: Timestamp| now.duration_since(since).abs() <= TRANSIENT_GRACE_PERIOD;
        Some(Insight {
            level: Level::Warning,
            impact: Impact::UpdateStalled,
            summary,
            description,
            reference: reference::DEGRADED.to_owned(),
            resources: vec![self.resource()],
            last_transition_time: since,
            age_seconds: None,
            transient: since.or(self.started).is_some_and(is_new),
        })
    }

    /// Insight for a previous update that never completed.
    fn incomplete_before(&self, control_plane: &ControlPlane) -> Option<Insight> {
        let VersionChange { target, from, change } = VersionChange::of(&self.status.history);
        if change != Change::UpdateFromIncomplete || control_plane.is_completed() {
            return None;
        }
        let from = from.unwrap_or_default();
        let complete = control_plane::last_complete(&self.status.history);
        let newest = self.status.history.first();
        Some(Insight {
            level: Level::Warning,
            impact: Impact::None,
            summary: format!(
                "Previous update to {from} never completed, last complete update was {complete}"
            ),
            description: format!(
                "The update to {target} started while the update to {from} was in progress."
            ),
            reference: reference::HISTORY.to_owned(),
            resources: vec![self.resource()],
            last_transition_time: newest.and_then(|entry| time(entry.started_time.as_ref())),
            age_seconds: None,
            transient: false,
        })
    }
}

/// Insights for a component that is unavailable or degraded for longer than an update takes.
fn of_operator(operator: &Operator<'_>, now: Timestamp) -> impl Iterator<Item = Insight> {
    let unavailable = operator
        .available
        .filter(|condition| operators::is(Some(condition), &ConditionStatus::False))
        .map(|condition| ("unavailable", condition, UNAVAILABLE_ERROR_AFTER, reference::DOWN));
    let degraded = operator
        .degraded
        .filter(|condition| operators::is(Some(condition), &ConditionStatus::True))
        .map(|condition| ("degraded", condition, DEGRADED_ERROR_AFTER, reference::DEGRADED));
    let name = operator.name.to_owned();
    unavailable.into_iter().chain(degraded).filter_map(
        move |(state, condition, long, reference)| {
            let since = time(condition.last_transition_time.as_ref());
            // Without a transition time, the state counts as old.
            let for_more_than = |limit| since.is_none_or(|since| now.duration_since(since) > limit);
            for_more_than(TRANSIENT_GRACE_PERIOD).then(|| Insight {
                level: if for_more_than(long) { Level::Error } else { Level::Warning },
                impact: Impact::ApiAvailability,
                summary: with_reason(&format!("Cluster Operator {name} is {state}"), condition),
                description: message(condition),
                reference: reference.to_owned(),
                resources: vec![format!("clusteroperators.config.openshift.io: {name}")],
                last_transition_time: since,
                age_seconds: None,
                transient: false,
            })
        },
    )
}

/// Insights for unavailable or degraded nodes, and for a paused pool with outdated nodes.
fn of_pool(pool: &Pool) -> Vec<Insight> {
    let mut found = Vec::new();
    for node in &pool.nodes {
        let name = &node.status.name;
        let insight = |level, impact, summary, description, since| Insight {
            level,
            impact,
            summary,
            description,
            reference: reference::NODES.to_owned(),
            resources: vec![format!("nodes: {name}")],
            last_transition_time: since,
            age_seconds: None,
            transient: false,
        };
        if let Some(problem) = node.problem.clone() {
            let (summary, description) = (problem.summary, problem.description);
            found.push(insight(
                Level::Warning,
                Impact::UpdateSpeed,
                summary,
                description,
                node.since,
            ));
        }
        if let Some(failure) = node.failure.clone() {
            let summary = format!("Node {name} is degraded");
            found.push(insight(Level::Error, Impact::UpdateStalled, summary, failure, None));
        }
    }
    if pool.paused && pool.counts().excluded > 0 {
        let name = &pool.name;
        found.push(Insight {
            level: Level::Warning,
            impact: Impact::UpdateStalled,
            summary: format!("Outdated nodes in a paused pool '{name}' will not be updated"),
            description: "The nodes of a paused pool get no changes, including updates, until the \
                          pool is resumed."
                .to_owned(),
            reference: reference::PAUSED.to_owned(),
            resources: vec![format!(
                "machineconfigpools.machineconfiguration.openshift.io: {name}"
            )],
            last_transition_time: None,
            age_seconds: None,
            transient: false,
        });
    }
    found
}

/// Insight for an alert that started with the update, or that slows down updates.
fn of_alert(alert: &Alert, started: Option<Timestamp>) -> Option<Insight> {
    let name = firing_name(alert)?;
    let level = match alert.label("severity") {
        "warning" => Level::Warning,
        "critical" => Level::Critical,
        _ => return None,
    };
    let during = started < alert.since();
    let when = match (PDB_ALERTS.contains(&name), during) {
        (true, true) => "Alert known to affect updates started firing during the update.",
        (true, false) => {
            "Alert known to affect updates has been firing since before the update started."
        }
        (false, true) => "Alert started firing during the update.",
        (false, false) => return None,
    };
    let place = match alert.label("namespace") {
        "" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    };
    Some(Insight {
        level,
        impact: Impact::Unknown,
        summary: format!("Alert is firing: {}", alert.summary()),
        description: format!("{when} {}", description(alert)),
        reference: runbook(alert).to_owned(),
        resources: vec![format!("alerts.config.openshift.io: {place}")],
        last_transition_time: alert.since(),
        age_seconds: None,
        transient: false,
    })
}

fn with_reason(what: &str, condition: &OperatorCondition) -> String {
    match condition.reason.as_deref() {
        None | Some("") => what.to_owned(),
        Some(reason) => format!("{what} ({reason})"),
    }
}

fn message(condition: &OperatorCondition) -> String {
    let message = condition.message.clone().filter(|message| !message.is_empty());
    message.unwrap_or_else(|| "<no message>".to_owned())
}
