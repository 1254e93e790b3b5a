//! What is not as it should be while an update is under way.

use std::cmp::Reverse;

use fairway_api::reason::failing;
use fairway_api::{ClusterVersionStatus, ConditionStatus, Conditions as _, OperatorCondition};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::control_plane::ControlPlane;
use super::operators::{self, Operator};
use super::pools::Pool;
use super::way::{self, Change, Way};
use crate::age::{seconds_since, time};
use crate::alerts::{Alert, description, firing_name, runbook};
use crate::cluster::Cluster;

/// A component that changes may be away so long without anybody noticing.
const BRIEF: SignedDuration = SignedDuration::from_mins(5);

/// A component that is not available for so long does not come back by itself.
const LONG_UNAVAILABLE: SignedDuration = SignedDuration::from_mins(20);

/// A component that is degraded for so long does not recover by itself.
const LONG_DEGRADED: SignedDuration = SignedDuration::from_mins(40);

/// Alerts that hold up updates, however long they have been firing.
const HOLD_UP_UPDATES: [&str; 2] = ["PodDisruptionBudgetLimit", "PodDisruptionBudgetAtLimit"];

/// Where people read what to do about it.
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
    /// Whether the state is recent and usual during an update, so that it probably passes.
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
    /// The update takes longer.
    #[serde(rename = "Update Speed")]
    UpdateSpeed,
    /// The update does not continue.
    #[serde(rename = "Update Stalled")]
    UpdateStalled,
}

impl Insight {
    /// Whether it stands in the way, or does not go away by itself.
    pub(super) fn is_trouble(&self) -> bool {
        self.level >= Level::Error || self.impact == Impact::UpdateStalled && !self.transient
    }
}

/// What is looked at.
pub(super) struct Scene<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) status: &'a ClusterVersionStatus,
    pub(super) operators: &'a [Operator<'a>],
    pub(super) pools: &'a [&'a Pool],
    /// When the update began.
    pub(super) began: Option<Timestamp>,
}

/// Everything that is not as it should be: the most serious first, and of those the newest.
pub(super) fn insights(
    scene: &Scene<'_>,
    control_plane: &ControlPlane,
    now: Timestamp,
) -> Vec<Insight> {
    let mut found = Vec::new();
    found.extend(scene.failing(now));
    found.extend(scene.incomplete_before(control_plane));
    found.extend(scene.operators.iter().flat_map(|operator| of_operator(operator, now)));
    found.extend(scene.pools.iter().flat_map(|pool| of_pool(pool)));
    let alerts = scene.cluster.alerts.list().iter();
    found.extend(alerts.filter_map(|alert| of_alert(alert, scene.began)));
    // What nobody can understand or look up helps nobody.
    found.retain(|one| {
        ![&one.summary, &one.description, &one.reference].iter().any(|text| text.is_empty())
    });
    for insight in &mut found {
        insight.age_seconds = seconds_since(insight.last_transition_time, now);
    }
    found.sort_by_key(|insight| (Reverse(insight.level), Reverse(insight.last_transition_time)));
    found
}

impl Scene<'_> {
    fn resource(&self) -> String {
        let name = self.cluster.version.metadata.name.as_deref().unwrap_or_default();
        format!("clusterversions.config.openshift.io: {name}")
    }

    /// The operator of the cluster's version says that it fails, or does not say.
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
        // Clocks may differ a little; what is to begin in an hour is no news but a wrong clock.
        let is_new = |since: Timestamp| now.duration_since(since).abs() <= BRIEF;
        Some(Insight {
            level: Level::Warning,
            impact: Impact::UpdateStalled,
            summary,
            description,
            reference: reference::DEGRADED.to_owned(),
            resources: vec![self.resource()],
            last_transition_time: since,
            age_seconds: None,
            transient: since.or(self.began).is_some_and(is_new),
        })
    }

    /// The update before was never completed.
    fn incomplete_before(&self, control_plane: &ControlPlane) -> Option<Insight> {
        let Way { target, from, change } = Way::of(&self.status.history);
        if change != Change::UpdateFromIncomplete || control_plane.is_completed() {
            return None;
        }
        let from = from.unwrap_or_default();
        let complete = way::last_complete(&self.status.history);
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

/// A component that is not available, or degraded, for longer than a change takes.
fn of_operator(operator: &Operator<'_>, now: Timestamp) -> impl Iterator<Item = Insight> {
    let unavailable = operator
        .available
        .filter(|condition| operators::is(Some(condition), &ConditionStatus::False))
        .map(|condition| ("unavailable", condition, LONG_UNAVAILABLE, reference::DOWN));
    let degraded = operator
        .degraded
        .filter(|condition| operators::is(Some(condition), &ConditionStatus::True))
        .map(|condition| ("degraded", condition, LONG_DEGRADED, reference::DEGRADED));
    let name = operator.name.to_owned();
    unavailable.into_iter().chain(degraded).filter_map(
        move |(state, condition, long, reference)| {
            let since = time(condition.last_transition_time.as_ref());
            // Since nobody knows when is since long.
            let for_more_than = |limit| since.is_none_or(|since| now.duration_since(since) > limit);
            for_more_than(BRIEF).then(|| Insight {
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

/// Nodes that cannot work or have failed, and a pause that keeps nodes as they are.
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
        if let Some(trouble) = node.serious.clone() {
            let (summary, description) = (trouble.summary, trouble.description);
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

/// An alert that began with the update, or that holds up updates.
fn of_alert(alert: &Alert, began: Option<Timestamp>) -> Option<Insight> {
    let name = firing_name(alert)?;
    let level = match alert.label("severity") {
        "warning" => Level::Warning,
        "critical" => Level::Critical,
        _ => return None,
    };
    let during = began < alert.since();
    let when = match (HOLD_UP_UPDATES.contains(&name), during) {
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
