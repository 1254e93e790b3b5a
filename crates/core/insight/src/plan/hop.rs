//! One update on the way: what stands against it, what it needs, and the commands for it.

use fairway_api::{ConditionStatus, Leap, Move};
use fairway_graph::{Edge, Graph, Node};
use fairway_risk::Source;
use schemars::JsonSchema;
use serde::Serialize;

use super::need::{self, Need};
use super::ways;
use super::weigh::{Faced, Scale};

/// A way from where the cluster is to the goal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Way {
    /// Its updates, in order.
    pub hops: Vec<Hop>,
}

/// An update on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hop {
    /// Where it begins.
    pub from: String,
    /// Where it leads.
    pub to: String,
    /// The image of the release it leads to.
    pub image: Option<String>,
    /// What kind of step it is.
    pub step: Move,
    /// The risks that have to do with it, by name.
    pub risks: Vec<HopRisk>,
    /// What has to be done first.
    pub needs: Vec<Need>,
    /// The commands that carry it out, in order.
    pub commands: Vec<String>,
}

/// A risk of an update on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HopRisk {
    /// Its name.
    pub name: String,
    /// What may go wrong.
    pub message: String,
    /// Where people read about it.
    pub url: String,
    /// Who says so.
    pub origin: Source,
    /// Whether it concerns this cluster.
    pub exposure: Exposure,
    /// Why that is known, or not.
    pub why: String,
    /// Whether it is accepted, as `fairway upgrade` says it.
    pub acceptance: &'static str,
    /// Whether it stands against the update.
    pub stands: bool,
}

/// Whether a risk concerns this cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Exposure {
    /// It does.
    Applies,
    /// It does not.
    DoesNotApply,
    /// It cannot be found out.
    Unknown,
    /// Nobody has asked yet.
    NotKnownYet,
}

impl Way {
    /// The risks that stand against it: each as often as there are hops that have it.
    pub fn unaccepted(&self) -> impl Iterator<Item = &HopRisk> {
        self.hops.iter().flat_map(Hop::unaccepted)
    }

    /// What is wrong with the cluster, so that it takes no update.
    pub fn mends(&self) -> impl Iterator<Item = &Need> {
        let needs = self.hops.iter().flat_map(|hop| &hop.needs);
        needs.filter(|need| matches!(need, Need::Mend { risk: None, .. }))
    }

    pub(super) fn has_to_be_mended(&self) -> bool {
        self.mends().next().is_some()
    }
}

impl Hop {
    /// The risks that stand against it.
    pub fn unaccepted(&self) -> impl Iterator<Item = &HopRisk> {
        self.risks.iter().filter(|risk| risk.stands)
    }

    /// Every command in it.
    pub(super) fn commands_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let confirm = self.needs.iter_mut().filter_map(Need::command_mut);
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
        let others = waits.then_some(Need::Wait).into_iter().chain(mends);
        let others = others.chain(channel.map(|channel| Need::Channel { channel }));
        hops.push(hop(graph, *edge, others, scale));
    }
    Way { hops }
}

fn hop(graph: &Graph, edge: Edge, others: impl Iterator<Item = Need>, scale: &Scale<'_>) -> Hop {
    let (from, to) = (graph.node(edge.from), graph.node(edge.to));
    let risks: Vec<HopRisk> = scale.faced(edge).iter().map(HopRisk::of).collect();
    let version = to.version.to_string();
    let is_leap = ways::leap(graph, edge) == Leap::SkipLevel;
    let preflight = is_leap.then(|| Need::Preflight { version: version.clone() });
    let is_unusual = is_unusual(from, to);
    let needs = need::all(&risks, &scale.gates, others.chain(preflight));
    Hop {
        from: from.version.to_string(),
        image: to.release.as_ref().map(|release| release.payload.clone()),
        step: Move::between(&from.version, &to.version),
        commands: need::commands(&needs, &version, is_unusual),
        to: version,
        risks,
        needs,
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
            ConditionStatus::True => Exposure::Applies,
            ConditionStatus::False => Exposure::DoesNotApply,
            _ if risk.is_open() && !risk.was_asked => Exposure::NotKnownYet,
            _ => Exposure::Unknown,
        };
        Self {
            name: risk.name.clone(),
            message: risk.message.clone(),
            url: risk.url.clone(),
            origin: risk.origin.clone(),
            exposure,
            why: risk.why.clone(),
            acceptance: faced.standing.word(),
            stands: faced.stands(),
        }
    }
}
