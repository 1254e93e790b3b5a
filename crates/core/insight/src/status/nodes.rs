//! One node: whether it has the release, what is being done to it, and whether it can take work.

use fairway_api::cluster_version::{UpdateHistory, UpdateState};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::way::is_pivot;
use crate::cluster::Moment;
use crate::objects::{MachineConfig, MachineConfigPool, Metadata, Node, NodeCondition};

/// Annotations by which the machine configuration says what it does.
mod key {
    pub(super) const CURRENT_CONFIG: &str = "machineconfiguration.openshift.io/currentConfig";
    pub(super) const DESIRED_CONFIG: &str = "machineconfiguration.openshift.io/desiredConfig";
    pub(super) const CURRENT_IMAGE: &str = "machineconfiguration.openshift.io/currentImage";
    pub(super) const DESIRED_IMAGE: &str = "machineconfiguration.openshift.io/desiredImage";
    pub(super) const DESIRED_DRAIN: &str = "machineconfiguration.openshift.io/desiredDrain";
    pub(super) const APPLIED_DRAIN: &str = "machineconfiguration.openshift.io/lastAppliedDrain";
    pub(super) const STATE: &str = "machineconfiguration.openshift.io/state";
    pub(super) const REASON: &str = "machineconfiguration.openshift.io/reason";
    /// Of a configuration: the version of the release that it belongs to.
    pub(super) const VERSION: &str = "machineconfiguration.openshift.io/release-image-version";
    /// Of a pool: the image that its nodes are to have.
    pub(super) const POOL_IMAGE: &str =
        "machineconfiguration.openshift.io/newestImageEquivalentConfig";
    /// The label of pools whose nodes get an image.
    pub(super) const LAYERED: &str = "machineconfiguration.openshift.io/layering-enabled";
}

/// A shorter name may be part of other words.
const SHORT_NAME: usize = 8;

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
    /// The node is drained.
    Draining,
    /// The node installs the release.
    Updating,
    /// The node restarts.
    Rebooting,
    /// The pool is paused.
    Paused,
    /// The update of the node has not started.
    Pending,
    /// The node has the release.
    Updated,
}

/// A node, and what only its pool and the health of the update need.
#[derive(Clone, Debug)]
pub(super) struct Assessed {
    pub(super) status: NodeStatus,
    /// Whether it cannot take work, for whatever reason.
    pub(super) unavailable: bool,
    /// What keeps it from working, and nothing will mend by itself.
    pub(super) serious: Option<Trouble>,
    /// What it failed with, where it did.
    pub(super) failure: Option<String>,
    /// Since when it cannot take work.
    pub(super) since: Option<Timestamp>,
}

/// What keeps a node from working.
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    pub(super) summary: String,
    pub(super) description: String,
}

/// The release that nodes are to have.
pub(super) struct Release<'a> {
    version: Option<&'a str>,
    /// Whether a change of architectures is under way, which keeps the version.
    pivot: bool,
    configs: &'a [MachineConfig],
}

impl<'a> Release<'a> {
    pub(super) fn of(history: &'a [UpdateHistory], configs: &'a [MachineConfig]) -> Self {
        let newest = history.first();
        let under_way = newest.is_some_and(|entry| entry.state != UpdateState::Completed);
        Self {
            version: newest.map(|entry| entry.version.as_deref().unwrap_or_default()),
            pivot: is_pivot(history) && under_way,
            configs,
        }
    }

    /// The version of the release that a configuration belongs to.
    fn version_of(&self, config: Option<&str>) -> Option<&'a str> {
        let mut configs = self.configs.iter();
        configs
            .find(|one| Some(one.metadata.name.as_str()) == config)?
            .metadata
            .annotation(key::VERSION)
    }
}

/// How far a node is on its way to the release.
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
    moment: Moment,
) -> Assessed {
    let metadata = &node.metadata;
    let version = release.version_of(metadata.annotation(key::CURRENT_CONFIG));
    let progress = progress(metadata, pool, release, version);
    let phase = phase(metadata, pool, progress);
    let hindrances = hindrances(node);
    let unavailable = !hindrances.is_empty() && has_image_of(metadata, pool);
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
        None if idle_and_unavailable => Some(joined(&hindrances, |one| one.reason.to_owned())),
        None => None,
    };
    let serious = hindrances.iter().any(|one| one.is_serious(moment));
    let trouble = (serious && idle_and_unavailable).then(|| Trouble {
        summary: joined(&hindrances, |one| one.summary(&metadata.name)),
        description: failure.clone().unwrap_or_else(|| joined(&hindrances, Hindrance::description)),
    });
    Assessed {
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
        serious: trouble,
        failure,
        since: hindrances.iter().filter_map(|one| one.since).min(),
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
    if has(version) && (!release.pivot || (current == desired && desired == wanted)) {
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

/// Whether a node that is updating is being emptied, or is about to be: its daemon may not have
/// noticed yet that there is something to do.
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

/// What the daemon of a node failed with.
fn failure(node: &Metadata) -> Option<String> {
    node.annotation(key::DESIRED_CONFIG)?;
    matches!(node.annotation(key::STATE)?, "Degraded" | "Unreconcilable")
        .then(|| node.annotation(key::REASON).unwrap_or_default().to_owned())
}

/// Whether the image that a node is to have is the one of its pool; nodes of pools without one have
/// none.
fn has_image_of(node: &Metadata, pool: &MachineConfigPool) -> bool {
    let layered = pool.metadata.labels.contains_key(key::LAYERED);
    let of_pool = pool.metadata.annotation(key::POOL_IMAGE).filter(|_| layered);
    node.annotation(key::DESIRED_IMAGE) == of_pool
}

/// Something that keeps a node from taking work.
struct Hindrance<'a> {
    reason: &'static str,
    /// The condition that says so, with the status that it should have.
    condition: Option<(&'a NodeCondition, &'static str)>,
    since: Option<Timestamp>,
}

const NOT_READY: &str = "Not ready";
const DISK_PRESSURE: &str = "Disk pressure";
const NO_NETWORK: &str = "Network unavailable";

/// Everything that keeps a node from taking work.
fn hindrances(node: &Node) -> Vec<Hindrance<'_>> {
    let by_condition = node.status.conditions.iter().filter_map(|condition| {
        let (reason, should) = match condition.type_.as_str() {
            "Ready" => (NOT_READY, "True"),
            "DiskPressure" => (DISK_PRESSURE, "False"),
            "NetworkUnavailable" => (NO_NETWORK, "False"),
            _ => return None,
        };
        let since = condition.last_transition_time;
        let hindrance = Hindrance { reason, condition: Some((condition, should)), since };
        (condition.status != should).then_some(hindrance)
    });
    let plain = |reason| Hindrance { reason, condition: None, since: None };
    let cordoned = node.spec.unschedulable.then(|| plain("Node is marked unschedulable"));
    let mut hindrances: Vec<_> = by_condition.chain(cordoned).collect();
    if hindrances.is_empty() && is_being_processed(&node.metadata) {
        hindrances.push(plain("Machine Config Daemon is processing the node"));
    }
    hindrances
}

/// Whether the daemon of a node has something to do and has not given up.
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

impl Hindrance<'_> {
    /// Whether it does not go away by itself. When a recording was made is told by other objects
    /// than nodes, so it cannot tell for how long something holds: there, everything counts.
    fn is_serious(&self, moment: Moment) -> bool {
        let patience = match self.reason {
            NOT_READY => SignedDuration::from_mins(5),
            DISK_PRESSURE | NO_NETWORK => SignedDuration::from_mins(1),
            _ => return false,
        };
        match (moment, self.since) {
            (Moment::Live(now), Some(since)) => now.duration_since(since) >= patience,
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

fn joined<'a>(hindrances: &[Hindrance<'a>], told: impl Fn(&Hindrance<'a>) -> String) -> String {
    hindrances.iter().map(told).collect::<Vec<_>>().join(" | ")
}

/// A message of a node, without saying again which node it is.
fn without_name(message: &str, name: &str) -> String {
    if name.len() < SHORT_NAME { message.to_owned() } else { message.replace(name, "<node>") }
}

impl NodeStatus {
    /// The most urgent first.
    pub(super) fn urgency(&self) -> (NodeAssessment, Phase, &str) {
        (self.assessment, self.phase, &self.name)
    }
}
