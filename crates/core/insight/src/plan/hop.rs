//! One update on the way: what stands against it, what it needs, and the commands for it.

use fairway_api::{ConditionStatus, Leap, Move};
use fairway_graph::{Edge, Graph, Node};
use fairway_risk::{Source, Standing};
use schemars::JsonSchema;
use serde::Serialize;

use super::need::{self, Prerequisite};
use super::ways;
use super::weigh::{Faced, Scale};

/// Upgrade path from the current version to the target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Way {
    /// Updates of the path, in order.
    pub hops: Vec<Hop>,
}

/// One update of an upgrade path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hop {
    /// Source version.
    pub from: String,
    /// Target version.
    pub to: String,
    /// Image of the target release.
    pub image: Option<String>,
    /// Kind of version change.
    pub step: Move,
    /// Risks of the update, by name.
    pub risks: Vec<HopRisk>,
    /// Actions that the update needs first.
    pub prerequisites: Vec<Prerequisite>,
    /// Commands that perform the update, in order.
    pub commands: Vec<String>,
}

/// Risk of one update of an upgrade path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HopRisk {
    /// Name by which the risk is accepted.
    pub name: String,
    /// Description of the risk.
    pub message: String,
    /// Page about the risk.
    pub url: String,
    /// Publisher of the risk.
    pub source: Source,
    /// Whether the risk applies to the cluster.
    pub exposure: Exposure,
    /// Source of the exposure, or why it is unknown.
    pub exposure_message: String,
    /// State of the acceptance.
    pub acceptance: &'static str,
    /// Whether the risk blocks the update.
    pub blocking: bool,
    /// State of the acceptance, for the text output.
    #[serde(skip)]
    pub standing: Standing,
}

/// Whether a risk applies to the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Exposure {
    /// The risk applies.
    Exposed,
    /// The risk does not apply.
    NotExposed,
    /// The risk could not be evaluated.
    Unknown,
    /// The risk has not been evaluated yet.
    NotEvaluated,
}

impl Way {
    /// The risks that stand against it: each as often as there are hops that have it.
    pub fn unaccepted(&self) -> impl Iterator<Item = &HopRisk> {
        self.hops.iter().flat_map(Hop::unaccepted)
    }

    /// What is wrong with the cluster, so that it takes no update.
    pub fn mends(&self) -> impl Iterator<Item = &Prerequisite> {
        let needs = self.hops.iter().flat_map(|hop| &hop.prerequisites);
        needs.filter(|need| matches!(need, Prerequisite::Repair { risk: None, .. }))
    }

    pub(super) fn has_to_be_mended(&self) -> bool {
        self.mends().next().is_some()
    }
}

impl Hop {
    /// The risks that stand against it.
    pub fn unaccepted(&self) -> impl Iterator<Item = &HopRisk> {
        self.risks.iter().filter(|risk| risk.blocking)
    }

    /// Every command in it.
    pub(super) fn commands_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let confirm = self.prerequisites.iter_mut().filter_map(Prerequisite::command_mut);
        confirm.chain(&mut self.commands)
    }
}

/// The hops of a way; `channels` has for each the channel to choose before it.
pub(super) fn way(
    graph: &Graph,
    edges: &[Edge],
    channels: Vec<Option<String>>,
    scale: &Scale<'_>,
) -> Way {
    let mut hops: Vec<Hop> = Vec::new();
    for (edge, channel) in edges.iter().zip(channels) {
        let waits = hops.is_empty() && scale.is_updating();
        let mends = if hops.is_empty() { scale.mends() } else { Vec::new() };
        let others = waits.then_some(Prerequisite::Wait).into_iter().chain(mends);
        let others = others.chain(channel.map(|channel| Prerequisite::Channel { channel }));
        hops.push(hop(graph, *edge, others, scale));
    }
    Way { hops }
}

fn hop(
    graph: &Graph,
    edge: Edge,
    others: impl Iterator<Item = Prerequisite>,
    scale: &Scale<'_>,
) -> Hop {
    let (from, to) = (graph.node(edge.from), graph.node(edge.to));
    let risks: Vec<HopRisk> = scale.faced(edge).iter().map(HopRisk::of).collect();
    let version = to.version.to_string();
    let is_leap = ways::leap(graph, edge) == Leap::SkipLevel;
    let preflight = is_leap.then(|| Prerequisite::Preflight { version: version.clone() });
    let is_unusual = is_unusual(from, to);
    let prerequisites = need::all(&risks, &scale.gates, others.chain(preflight));
    Hop {
        from: from.version.to_string(),
        image: to.release.as_ref().map(|release| release.payload.clone()),
        step: Move::between(&from.version, &to.version),
        commands: need::commands(&prerequisites, &version, is_unusual),
        to: version,
        risks,
        prerequisites,
    }
}

/// Whether `fairway upgrade` asks before such a step: nobody is at the terminal of a script.
fn is_unusual(from: &Node, to: &Node) -> bool {
    let step = Move::between(&from.version, &to.version);
    let is_finished = |node: &Node| node.version.pre_release().is_empty();
    let is_candidate = |channel: &str| channel.starts_with("candidate");
    matches!(step, Move::SkipLevel { .. } | Move::Major)
        || is_finished(from) && !is_finished(to)
        || to.channels().next().is_some() && to.channels().all(is_candidate)
}

impl HopRisk {
    fn of(faced: &Faced<'_>) -> Self {
        let risk = faced.risk;
        let exposure = match &risk.status {
            ConditionStatus::True => Exposure::Exposed,
            ConditionStatus::False => Exposure::NotExposed,
            _ if risk.is_open() && !risk.was_asked => Exposure::NotEvaluated,
            _ => Exposure::Unknown,
        };
        Self {
            name: risk.name.clone(),
            message: risk.message.clone(),
            url: risk.url.clone(),
            source: risk.origin.clone(),
            exposure,
            exposure_message: risk.why.clone(),
            acceptance: faced.standing.word(),
            blocking: faced.stands(),
            standing: faced.standing.clone(),
        }
    }
}
