//! One cluster of a fleet.

use fairway_api::cluster_version::UpdateState;
use fairway_api::reason::retrieved_updates;
use fairway_api::{ClusterVersionStatus, Conditions as _, Version};
use fairway_risk::Acceptance;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::blockers::{self, Blocker};
use super::target::{Ground, TargetReport};
use super::{ClusterError, Member, Readiness, Said};
use crate::alerts::Alerts;
use crate::recommend::{self, Question, Recommendation, Target};

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
    /// Requested versions, or the best update of each minor version.
    pub targets: Vec<TargetReport>,
    /// Why preflight results are incomplete.
    pub preflight_error: Option<String>,
    /// Why the cluster could not be read.
    pub error: Option<ClusterError>,
}

impl ClusterReport {
    pub(super) fn of(member: &Member, targets: &[Version]) -> Self {
        match &member.said {
            Ok(said) => Self::read(&member.name, said, targets),
            Err(unread) => Self {
                name: member.name.clone(),
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

    fn read(name: &str, said: &Said, wanted: &[Version]) -> Self {
        let nothing = ClusterVersionStatus::default();
        let status = said.version.status.as_ref().unwrap_or(&nothing);
        // Alerts are a question of their own: `recommend` asks it of one cluster.
        let (alerts, question) = (Alerts::NoMonitoring, Question::default());
        let all = Recommendation::of(&said.version, &alerts, &question, said.now);
        let (updates, updates_retrieved) = match all.answer {
            recommend::Answer::All { updates, updates_retrieved } => (updates, updates_retrieved),
            recommend::Answer::One { .. } => (Vec::new(), false),
        };
        let blockers = blockers::of(status, all.issues);
        let acceptance = Acceptance::of(&said.version);
        let ground = Ground {
            said,
            status,
            acceptance: &acceptance,
            blockers: &blockers,
            updates_retrieved: updates_retrieved
                && !status.conditions.is_false(retrieved_updates::TYPE),
        };
        let targets = if wanted.is_empty() {
            best(&updates, &status.desired.version, &ground)
        } else {
            asked(&updates, wanted, &ground)
        };
        let any_will_do = wanted.is_empty();
        Self {
            name: name.to_owned(),
            readiness: readiness(&targets, &blockers, updates_retrieved, any_will_do),
            observation_time: Some(said.now),
            version: version(status),
            channel: all.channel,
            updates_retrieved,
            blockers,
            targets,
            preflight_error: said.preflights_unread.clone(),
            error: None,
        }
    }
}

/// The version that was last reached entirely, else the one that is worked towards.
fn version(status: &ClusterVersionStatus) -> Option<String> {
    let complete = status.history.iter().find(|entry| entry.state == UpdateState::Completed);
    let complete = complete.and_then(|entry| entry.version.clone());
    complete.or_else(|| Some(status.desired.version.clone())).filter(|version| !version.is_empty())
}

fn asked(updates: &[Target], wanted: &[Version], ground: &Ground<'_>) -> Vec<TargetReport> {
    let report = |version: &Version| {
        let text = version.to_string();
        ground.report(&text, updates.iter().find(|update| update.version == text))
    };
    wanted.iter().map(report).collect()
}

/// Of each minor version the latest that is recommended, else the latest. The latest minor version
/// comes first, as updates do.
fn best(updates: &[Target], at: &str, ground: &Ground<'_>) -> Vec<TargetReport> {
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
    best.map(|(_, update)| ground.report(&update.version, Some(update))).collect()
}

/// What it comes to. Where nobody asked about a version, one that the cluster may go to is enough,
/// and to be at the latest is fine.
fn readiness(
    targets: &[TargetReport],
    blockers: &[Blocker],
    updates_retrieved: bool,
    any_will_do: bool,
) -> Readiness {
    let answers = || targets.iter().map(|target| target.readiness);
    let standing = || blockers.iter().map(Blocker::readiness).max().unwrap_or(Readiness::Ready);
    match targets {
        [] if updates_retrieved => standing(),
        [] => standing().max(Readiness::Unknown),
        _ if any_will_do => answers().min().unwrap_or(Readiness::Unknown),
        _ => answers().max().unwrap_or(Readiness::Unknown),
    }
}
