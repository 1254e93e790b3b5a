//! Upgrade paths and their hops, with risks, prerequisites and commands.

use fairway_api::{ConditionStatus, UpdateDistance, VersionChange};
use fairway_graph::{Edge, Graph, Node};
use fairway_risk::{AcceptanceState, RiskSource};
use schemars::JsonSchema;
use serde::Serialize;

use super::edge_risks::{EdgeRisk, EdgeRisks};
use super::path_search;
use super::prerequisite::{self, Prerequisite};
use crate::exposure::Exposure;

/// Upgrade path from the current version to the target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UpgradePath {
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
    pub step: VersionChange,
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
    pub source: RiskSource,
    /// Whether the risk applies to the cluster.
    pub exposure: Exposure,
    /// Source of `exposure`, or why it is unknown.
    pub exposure_message: String,
    /// State of the acceptance.
    pub acceptance: &'static str,
    /// Whether the risk blocks the update.
    pub blocking: bool,
    /// State of the acceptance, for the text output.
    #[serde(skip)]
    pub acceptance_state: AcceptanceState,
}

impl UpgradePath {
    /// The path along `edges`; `channels` has the channel to set before each hop.
    pub(super) fn new(
        graph: &Graph,
        edges: &[Edge],
        channels: Vec<Option<String>>,
        edge_risks: &EdgeRisks<'_>,
    ) -> Self {
        let mut hops: Vec<Hop> = Vec::new();
        for (edge, channel) in edges.iter().zip(channels) {
            let waits = hops.is_empty() && edge_risks.is_updating();
            let repairs = if hops.is_empty() { edge_risks.repairs() } else { Vec::new() };
            let others = waits.then_some(Prerequisite::Wait).into_iter().chain(repairs);
            let others = others.chain(channel.map(|channel| Prerequisite::Channel { channel }));
            hops.push(hop(graph, *edge, others, edge_risks));
        }
        Self { hops }
    }

    /// Unaccepted risks of all hops. A risk of several hops occurs once for each.
    pub fn unaccepted(&self) -> impl Iterator<Item = &HopRisk> {
        self.hops.iter().flat_map(Hop::unaccepted)
    }

    /// Problems of the cluster that block all updates.
    pub fn repairs(&self) -> impl Iterator<Item = &Prerequisite> {
        let needs = self.hops.iter().flat_map(|hop| &hop.prerequisites);
        needs.filter(|need| matches!(need, Prerequisite::Repair { risk: None, .. }))
    }

    pub(super) fn needs_repair(&self) -> bool {
        self.repairs().next().is_some()
    }
}

impl Hop {
    /// Risks that block the update.
    pub fn unaccepted(&self) -> impl Iterator<Item = &HopRisk> {
        self.risks.iter().filter(|risk| risk.blocking)
    }

    /// All commands of the hop.
    pub(super) fn commands_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let confirm = self.prerequisites.iter_mut().filter_map(Prerequisite::command_mut);
        confirm.chain(&mut self.commands)
    }
}

fn hop(
    graph: &Graph,
    edge: Edge,
    others: impl Iterator<Item = Prerequisite>,
    edge_risks: &EdgeRisks<'_>,
) -> Hop {
    let (from, to) = (graph.node(edge.from), graph.node(edge.to));
    let risks: Vec<HopRisk> = edge_risks.risks_of(edge).iter().map(HopRisk::new).collect();
    let version = to.version.to_string();
    let is_skip_level = path_search::leap(graph, edge) == UpdateDistance::SkipLevel;
    let preflight = is_skip_level.then(|| Prerequisite::Preflight { version: version.clone() });
    let needs_confirmation = needs_confirmation(from, to);
    let prerequisites = prerequisite::all(&risks, &edge_risks.gates, others.chain(preflight));
    Hop {
        from: from.version.to_string(),
        image: to.release.as_ref().map(|release| release.payload.clone()),
        step: VersionChange::between(&from.version, &to.version),
        commands: prerequisite::commands(&prerequisites, &version, needs_confirmation),
        to: version,
        risks,
        prerequisites,
    }
}

/// Whether `fairway upgrade` asks for confirmation. The commands of a plan run in scripts without a
/// terminal, so they need `--yes`.
fn needs_confirmation(from: &Node, to: &Node) -> bool {
    let step = VersionChange::between(&from.version, &to.version);
    let is_release = |node: &Node| node.version.pre_release().is_empty();
    let is_candidate = |channel: &str| channel.starts_with("candidate");
    matches!(step, VersionChange::SkipLevel { .. } | VersionChange::Major)
        || is_release(from) && !is_release(to)
        || to.channels().next().is_some() && to.channels().all(is_candidate)
}

impl HopRisk {
    fn new(edge_risk: &EdgeRisk<'_>) -> Self {
        let risk = edge_risk.risk;
        let exposure = match &risk.status {
            ConditionStatus::True => Exposure::Exposed,
            ConditionStatus::False => Exposure::NotExposed,
            _ if risk.is_unevaluated() && !risk.was_asked => Exposure::NotEvaluated,
            _ => Exposure::Unknown,
        };
        Self {
            name: risk.name.clone(),
            message: risk.message.clone(),
            url: risk.url.clone(),
            source: risk.origin.clone(),
            exposure,
            exposure_message: risk.why.clone(),
            acceptance: edge_risk.acceptance_state.as_str(),
            blocking: edge_risk.blocks(),
            acceptance_state: edge_risk.acceptance_state.clone(),
        }
    }
}
