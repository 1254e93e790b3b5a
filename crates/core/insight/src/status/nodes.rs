//! Progress of one node: version, phase and availability.

use fairway_api::cluster_version::{UpdateHistory, UpdateState};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::control_plane::is_multi_arch;
use crate::cluster::ObservationTime;
use crate::objects::{MachineConfig, MachineConfigPool, Metadata, Node, NodeCondition};

/// Annotations of the machine-config operator.
mod key {
    pub(super) const CURRENT_CONFIG: &str = "machineconfiguration.openshift.io/currentConfig";
    pub(super) const DESIRED_CONFIG: &str = "machineconfiguration.openshift.io/desiredConfig";
    pub(super) const CURRENT_IMAGE: &str = "machineconfiguration.openshift.io/currentImage";
    pub(super) const DESIRED_IMAGE: &str = "machineconfiguration.openshift.io/desiredImage";
    pub(super) const DESIRED_DRAIN: &str = "machineconfiguration.openshift.io/desiredDrain";
    pub(super) const APPLIED_DRAIN: &str = "machineconfiguration.openshift.io/lastAppliedDrain";
    pub(super) const STATE: &str = "machineconfiguration.openshift.io/state";
    pub(super) const REASON: &str = "machineconfiguration.openshift.io/reason";
    /// Version of the release that a `MachineConfig` belongs to.
    pub(super) const VERSION: &str = "machineconfiguration.openshift.io/release-image-version";
    /// Annotation of a pool with the desired image of its nodes.
    pub(super) const POOL_IMAGE: &str =
        "machineconfiguration.openshift.io/newestImageEquivalentConfig";
    /// Label of pools whose nodes use an image.
    pub(super) const LAYERED: &str = "machineconfiguration.openshift.io/layering-enabled";
}

/// Minimum length of a node name that is replaced in messages: shorter names may be part of other
/// words.
const MIN_NAME_LENGTH: usize = 8;

/// A node.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NodeStatus {
    /// Name of the node.
    pub name: String,
    /// Pool of the node.
    pub pool: String,
    /// Assessment of the progress.
    pub assessment: NodeAssessment,
    /// Phase of the update.
    pub phase: Phase,
    /// Version of the node, or `?`.
    pub version: String,
    /// Estimated remaining time: `+10m`, `-` for none, `?` if unknown.
    pub estimate: &'static str,
    /// Problem of the node.
    pub message: Option<String>,
}

/// Assessment of the progress of a node, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum NodeAssessment {
    /// The update of the node has failed.
    Degraded,
    /// The node is not available, and not because of the update.
    Unavailable,
    /// The node is updating.
    Progressing,
    /// The pool is paused.
    Excluded,
    /// The update of the node has not started.
    Outdated,
    /// The node has the release.
    Completed,
}

/// Phase of the update of a node, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum Phase {
    /// The node is being drained.
    Draining,
    /// The node installs the release.
    Updating,
    /// The node reboots.
    Rebooting,
    /// The pool is paused.
    Paused,
    /// The update of the node has not started.
    Pending,
    /// The node has the release.
    Updated,
}

/// Status of a node, with fields that only pools and insights use.
#[derive(Clone, Debug)]
pub(super) struct AssessedNode {
    pub(super) status: NodeStatus,
    /// Whether the node cannot run pods, for any reason.
    pub(super) unavailable: bool,
    /// Problem that does not resolve by itself.
    pub(super) problem: Option<NodeProblem>,
    /// Error of the machine-config daemon.
    pub(super) failure: Option<String>,
    /// Start of the unavailability.
    pub(super) since: Option<Timestamp>,
}

/// Problem of a node.
#[derive(Clone, Debug)]
pub(super) struct NodeProblem {
    pub(super) summary: String,
    pub(super) description: String,
}

/// Release that nodes should have.
pub(super) struct Release<'a> {
    version: Option<&'a str>,
    /// Whether the architecture changes, which keeps the version.
    multi_arch: bool,
    configs: &'a [MachineConfig],
}

impl<'a> Release<'a> {
    pub(super) fn of(history: &'a [UpdateHistory], configs: &'a [MachineConfig]) -> Self {
        let newest = history.first();
        let in_progress = newest.is_some_and(|entry| entry.state != UpdateState::Completed);
        Self {
            version: newest.map(|entry| entry.version.as_deref().unwrap_or_default()),
            multi_arch: is_multi_arch(history) && in_progress,
            configs,
        }
    }

    /// Version of the release that a `MachineConfig` belongs to.
    fn version_of(&self, config: Option<&str>) -> Option<&'a str> {
        let mut configs = self.configs.iter();
        configs
            .find(|one| Some(one.metadata.name.as_str()) == config)?
            .metadata
            .annotation(key::VERSION)
    }
}

/// Progress of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Updated,
    Updating,
    Outdated,
}

pub(super) fn assess(
    node: &Node,
    pool: &MachineConfigPool,
    release: &Release<'_>,
    observation: ObservationTime,
) -> AssessedNode {
    let metadata = &node.metadata;
    let version = release.version_of(metadata.annotation(key::CURRENT_CONFIG));
    let progress = progress(metadata, pool, release, version);
    let phase = phase(metadata, pool, progress);
    let reasons = reasons(node);
    let unavailable = !reasons.is_empty() && has_image_of(metadata, pool);
    let failure = failure(metadata);
    let idle_and_unavailable = unavailable && progress != Progress::Updating;

    let assessment = match phase {
        _ if failure.is_some() => NodeAssessment::Degraded,
        _ if idle_and_unavailable => NodeAssessment::Unavailable,
        Phase::Draining | Phase::Updating | Phase::Rebooting => NodeAssessment::Progressing,
        Phase::Paused => NodeAssessment::Excluded,
        Phase::Pending => NodeAssessment::Outdated,
        Phase::Updated => NodeAssessment::Completed,
    };
    let message = match &failure {
        Some(failure) => Some(failure.clone()).filter(|failure| !failure.is_empty()),
        None if idle_and_unavailable => Some(joined(&reasons, |one| one.reason.to_owned())),
        None => None,
    };
    let is_serious = reasons.iter().any(|one| one.is_serious(observation));
    let problem = (is_serious && idle_and_unavailable).then(|| NodeProblem {
        summary: joined(&reasons, |one| one.summary(&metadata.name)),
        description: failure
            .clone()
            .unwrap_or_else(|| joined(&reasons, UnavailableReason::description)),
    });
    AssessedNode {
        status: NodeStatus {
            name: metadata.name.clone(),
            pool: pool.metadata.name.clone(),
            assessment,
            phase,
            version: version.unwrap_or("?").to_owned(),
            estimate: estimate(assessment, phase, progress),
            message: message.map(|message| without_name(&message, &metadata.name)),
        },
        unavailable,
        problem,
        failure,
        since: reasons.iter().filter_map(|one| one.since).min(),
    }
}

fn progress(
    node: &Metadata,
    pool: &MachineConfigPool,
    release: &Release<'_>,
    version: Option<&str>,
) -> Progress {
    let (current, desired) =
        (node.annotation(key::CURRENT_CONFIG), node.annotation(key::DESIRED_CONFIG));
    let wanted = Some(pool.spec.configuration.name.as_str()).filter(|name| !name.is_empty());
    let has = |version: Option<&str>| version.is_some() && version == release.version;
    if has(version) && (!release.multi_arch || (current == desired && desired == wanted)) {
        Progress::Updated
    } else if version.is_some()
        && has(release.version_of(desired))
        && current != desired
        && desired == wanted
    {
        Progress::Updating
    } else {
        Progress::Outdated
    }
}

fn phase(node: &Metadata, pool: &MachineConfigPool, progress: Progress) -> Phase {
    match (progress, node.annotation(key::STATE)) {
        (Progress::Updating, _) if is_draining(node) => Phase::Draining,
        (Progress::Updating, Some("Rebooting")) => Phase::Rebooting,
        (Progress::Updating, Some("Done")) | (Progress::Updated, _) => Phase::Updated,
        (Progress::Updating, _) => Phase::Updating,
        (Progress::Outdated, _) if pool.spec.paused => Phase::Paused,
        (Progress::Outdated, _) => Phase::Pending,
    }
}

/// Whether an updating node is being drained. The daemon may not have reported it yet: its state is
/// still `Done`.
fn is_draining(node: &Metadata) -> bool {
    let (Some(desired), Some(applied)) =
        (node.annotation(key::DESIRED_DRAIN), node.annotation(key::APPLIED_DRAIN))
    else {
        return false;
    };
    let wanted = desired != applied && desired.split('-').next() == Some("drain");
    wanted || node.annotation(key::STATE) == Some("Done")
}

fn estimate(assessment: NodeAssessment, phase: Phase, progress: Progress) -> &'static str {
    match (assessment, phase) {
        (NodeAssessment::Degraded | NodeAssessment::Unavailable, _) => {
            if progress == Progress::Updated { "-" } else { "?" }
        }
        (_, Phase::Draining) => "+10m",
        (_, Phase::Updating | Phase::Rebooting) => "+5m",
        (_, Phase::Paused | Phase::Updated) => "-",
        (_, Phase::Pending) => "?",
    }
}

/// Error of the machine-config daemon.
fn failure(node: &Metadata) -> Option<String> {
    node.annotation(key::DESIRED_CONFIG)?;
    matches!(node.annotation(key::STATE)?, "Degraded" | "Unreconcilable")
        .then(|| node.annotation(key::REASON).unwrap_or_default().to_owned())
}

/// Whether the desired images of node and pool match. Nodes of pools without images have none.
fn has_image_of(node: &Metadata, pool: &MachineConfigPool) -> bool {
    let layered = pool.metadata.labels.contains_key(key::LAYERED);
    let of_pool = pool.metadata.annotation(key::POOL_IMAGE).filter(|_| layered);
    node.annotation(key::DESIRED_IMAGE) == of_pool
}

/// Reason why a node cannot run pods.
struct UnavailableReason<'a> {
    reason: &'static str,
    /// Condition that reports it, with its expected status.
    condition: Option<(&'a NodeCondition, &'static str)>,
    since: Option<Timestamp>,
}

const NOT_READY: &str = "Not ready";
const DISK_PRESSURE: &str = "Disk pressure";
const NO_NETWORK: &str = "Network unavailable";

/// All reasons why a node cannot run pods.
fn reasons(node: &Node) -> Vec<UnavailableReason<'_>> {
    let by_condition = node.status.conditions.iter().filter_map(|condition| {
        let (reason, should) = match condition.type_.as_str() {
            "Ready" => (NOT_READY, "True"),
            "DiskPressure" => (DISK_PRESSURE, "False"),
            "NetworkUnavailable" => (NO_NETWORK, "False"),
            _ => return None,
        };
        let since = condition.last_transition_time;
        let reason = UnavailableReason { reason, condition: Some((condition, should)), since };
        (condition.status != should).then_some(reason)
    });
    let plain = |reason| UnavailableReason { reason, condition: None, since: None };
    let cordoned = node.spec.unschedulable.then(|| plain("Node is marked unschedulable"));
    let mut reasons: Vec<_> = by_condition.chain(cordoned).collect();
    if reasons.is_empty() && is_being_processed(&node.metadata) {
        reasons.push(plain("Machine Config Daemon is processing the node"));
    }
    reasons
}

/// Whether the machine-config daemon has work and has not failed.
fn is_being_processed(node: &Metadata) -> bool {
    let has = |key| node.annotations.contains_key(key);
    let same = |current, desired| {
        let current = node.annotation(current);
        current.is_some() && current == node.annotation(desired)
    };
    let without_image = !has(key::CURRENT_IMAGE) && !has(key::DESIRED_IMAGE);
    let done = same(key::CURRENT_CONFIG, key::DESIRED_CONFIG)
        && (without_image || same(key::CURRENT_IMAGE, key::DESIRED_IMAGE))
        && node.annotation(key::STATE) == Some("Done");
    let failed = matches!(node.annotation(key::STATE), Some("Degraded" | "Unreconcilable"));
    !done && !failed
}

impl UnavailableReason<'_> {
    /// Whether the state does not resolve by itself. The time of a recording does not depend on
    /// nodes, so durations in recordings are unknown and every reason counts.
    fn is_serious(&self, observation: ObservationTime) -> bool {
        let grace_period = match self.reason {
            NOT_READY => SignedDuration::from_mins(5),
            DISK_PRESSURE | NO_NETWORK => SignedDuration::from_mins(1),
            _ => return false,
        };
        match (observation, self.since) {
            (ObservationTime::Live(now), Some(since)) => now.duration_since(since) >= grace_period,
            _ => true,
        }
    }

    fn summary(&self, node: &str) -> String {
        match self.reason {
            NOT_READY => format!("Node {node} is not ready"),
            DISK_PRESSURE => format!("Node {node} has disk pressure"),
            NO_NETWORK => format!("Node {node} has unavailable network"),
            reason => reason.to_owned(),
        }
    }

    fn description(&self) -> String {
        let Some((condition, should)) = self.condition else { return self.reason.to_owned() };
        let NodeCondition { type_, status, message, .. } = condition;
        format!("condition {type_} is {status}, expected {should}: {message}")
    }
}

fn joined<'a>(
    reasons: &[UnavailableReason<'a>],
    text: impl Fn(&UnavailableReason<'a>) -> String,
) -> String {
    reasons.iter().map(text).collect::<Vec<_>>().join(" | ")
}

/// Message of a node without its name.
fn without_name(message: &str, name: &str) -> String {
    if name.len() < MIN_NAME_LENGTH { message.to_owned() } else { message.replace(name, "<node>") }
}

impl NodeStatus {
    /// Sort key, most urgent first.
    pub(super) fn urgency(&self) -> (NodeAssessment, Phase, &str) {
        (self.assessment, self.phase, &self.name)
    }
}
