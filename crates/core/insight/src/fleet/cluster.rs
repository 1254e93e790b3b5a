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
use super::{Answer, Member, Said, Unread};
use crate::alerts::Alerts;
use crate::recommend::{self, Question, Recommendation, Target};

/// Where one cluster may go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterReport {
    /// How people call it.
    pub name: String,
    /// Whether it may go to all versions that were asked about; else to any.
    pub answer: Answer,
    /// The time that all of this is about.
    #[schemars(with = "Option<String>")]
    pub at: Option<Timestamp>,
    /// The version that it was last at entirely.
    pub version: Option<String>,
    /// The channel that its updates come from.
    pub channel: Option<String>,
    /// Whether it is known which updates there are.
    pub updates_known: bool,
    /// What stands in the way whatever the version.
    pub blockers: Vec<Blocker>,
    /// The versions that were asked about; else the best update of each minor version.
    pub targets: Vec<TargetReport>,
    /// Why something is not known about preflights.
    pub preflights_unread: Option<String>,
    /// Why nothing is known about it.
    pub unread: Option<Unread>,
}

impl ClusterReport {
    pub(super) fn of(member: &Member, targets: &[Version]) -> Self {
        match &member.said {
            Ok(said) => Self::read(&member.name, said, targets),
            Err(unread) => Self {
                name: member.name.clone(),
                answer: Answer::CannotTell,
                at: None,
                version: None,
                channel: None,
                updates_known: false,
                blockers: Vec::new(),
                targets: Vec::new(),
                preflights_unread: None,
                unread: Some(unread.clone()),
            },
        }
    }

    fn read(name: &str, said: &Said, wanted: &[Version]) -> Self {
        let nothing = ClusterVersionStatus::default();
        let status = said.version.status.as_ref().unwrap_or(&nothing);
        // Alerts are a question of their own: `recommend` asks it of one cluster.
        let (alerts, question) = (Alerts::NoMonitoring, Question::default());
        let all = Recommendation::of(&said.version, &alerts, &question, said.now);
        let (updates, updates_known) = match all.answer {
            recommend::Answer::All { updates, updates_known } => (updates, updates_known),
            recommend::Answer::One { .. } => (Vec::new(), false),
        };
        let blockers = blockers::of(status, all.issues);
        let acceptance = Acceptance::of(&said.version);
        let ground = Ground {
            said,
            status,
            acceptance: &acceptance,
            blockers: &blockers,
            updates_known: updates_known && !status.conditions.is_false(retrieved_updates::TYPE),
        };
        let targets = if wanted.is_empty() {
            best(&updates, &status.desired.version, &ground)
        } else {
            asked(&updates, wanted, &ground)
        };
        let any_will_do = wanted.is_empty();
        Self {
            name: name.to_owned(),
            answer: answer(&targets, &blockers, updates_known, any_will_do),
            at: Some(said.now),
            version: version(status),
            channel: all.channel,
            updates_known,
            blockers,
            targets,
            preflights_unread: said.preflights_unread.clone(),
            unread: None,
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
fn answer(
    targets: &[TargetReport],
    blockers: &[Blocker],
    updates_known: bool,
    any_will_do: bool,
) -> Answer {
    let answers = || targets.iter().map(|target| target.answer);
    let standing = || blockers.iter().map(Blocker::answer).max().unwrap_or(Answer::Yes);
    match targets {
        [] if updates_known => standing(),
        [] => standing().max(Answer::CannotTell),
        _ if any_will_do => answers().min().unwrap_or(Answer::CannotTell),
        _ => answers().max().unwrap_or(Answer::CannotTell),
    }
}
