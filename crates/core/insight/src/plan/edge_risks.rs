//! Risks of each update of a graph.
//!
//! The ledger of the operator evaluates each risk once: with the result of a query, else with the
//! exposure that the operator reports for the same definition, else as unknown.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use fairway_api::cluster_version::{ConditionalUpdateRisk, MatchingRule, Release};
use fairway_api::reason::{applies, failing, invalid, recommended, rollout};
use fairway_api::{ConditionStatus, Conditions as _, OperatorCondition, Version, risk_name};
use fairway_graph::{Edge, Graph, NodeId};
use fairway_risk::sources::AdminGate;
use fairway_risk::{
    Acceptance, AcceptanceState, AffectedUpdates, CandidateUpdate, EvaluationInput, Ledger,
    QueryPolicy, ReportedRisk, Risk, RiskSource, definition_hash,
};

use super::ClusterState;
use super::cluster_risks::{self, ClusterRisk, Validity};
use super::prerequisite::Prerequisite;
use crate::exposure::Exposure;

/// Risk and its exposure.
#[derive(Clone, Debug)]
pub(super) struct EvaluatedRisk {
    pub(super) name: String,
    pub(super) message: String,
    pub(super) url: String,
    pub(super) origin: RiskSource,
    pub(super) status: ConditionStatus,
    /// Source of the status, or why it is unknown.
    pub(super) why: String,
    /// Whether a query that has no result yet decides the exposure.
    awaited: bool,
    /// Whether the operator has evaluated it, successfully or not.
    pub(super) was_asked: bool,
    /// Whether the risk never blocks an update.
    advisory: bool,
    /// Digest of the definition.
    hash: String,
    /// Queries that decide the exposure.
    queries: Vec<String>,
}

/// Risk of one update, and the state of its acceptance.
pub(super) struct EdgeRisk<'a> {
    pub(super) risk: &'a EvaluatedRisk,
    pub(super) acceptance_state: AcceptanceState,
}

impl EdgeRisk<'_> {
    /// Whether the risk blocks the update.
    pub(super) fn blocks(&self) -> bool {
        self.risk.is_blocking() && !self.acceptance_state.is_accepted()
    }

    /// Whether the risk applies for certain and blocks the update.
    pub(super) fn certainly_blocks(&self) -> bool {
        self.blocks() && self.risk.status == ConditionStatus::True
    }
}

/// Risks of all updates of a graph.
pub(super) struct EdgeRisks<'a> {
    graph: &'a Graph,
    current: NodeId,
    cluster: &'a ClusterState<'a>,
    acceptance: Acceptance,
    graph_risks: HashMap<*const fairway_graph::Risk, EvaluatedRisk>,
    cluster_risks: Vec<(EvaluatedRisk, AffectedUpdates, Validity)>,
    /// Unacknowledged admin gates, by the name of their risk.
    pub(super) gates: BTreeMap<String, AdminGate>,
}

impl<'a> EdgeRisks<'a> {
    pub(super) fn new(graph: &'a Graph, current: NodeId, cluster: &'a ClusterState<'a>) -> Self {
        let acceptance = cluster.acceptance();
        let previous = cluster.previous();
        let policy = QueryPolicy::default();
        let round = EvaluationInput {
            outcomes: cluster.outcomes,
            policy: &policy,
            acceptance: &acceptance,
            previous: &previous,
            now: cluster.now,
        };
        let graph_risks = graph_risks(graph, round);
        let (concerns, gates) = cluster_risks::of(cluster, graph);
        let is_reported = |name: &str| concerns.iter().any(|it| it.concern.risk.name == name);
        let on_edge = |version: &str, name: &str| {
            let version = Version::parse(version).ok();
            let target = version.and_then(|it| graph.find(&it.without_build()).next());
            let edge = target.and_then(|target| graph.edge(current, target));
            edge.is_some_and(|edge| graph.risks(edge).any(|risk| risk.name == name))
        };
        let is_known = |version: &str, name: &str| is_reported(name) || on_edge(version, name);
        let published = cluster_risks::published(cluster, is_known);
        let evaluate = |ClusterRisk { concern, validity }: ClusterRisk| {
            let targets = concern.targets.clone();
            Some((evaluate_concern(concern, round)?, targets, validity))
        };
        let cluster_risks = concerns.into_iter().chain(published).filter_map(evaluate).collect();
        Self { graph, current, cluster, acceptance, graph_risks, cluster_risks, gates }
    }

    /// Whether a rollout is in progress.
    pub(super) fn is_updating(&self) -> bool {
        self.cluster.is_updating()
    }

    /// Problems of the cluster that block all updates.
    pub(super) fn repairs(&self) -> Vec<Prerequisite> {
        let status = self.cluster.cluster_version.status.as_ref();
        let wrong = [invalid::TYPE, failing::TYPE].into_iter().filter_map(|type_| {
            let condition = status?.conditions.find(type_)?;
            (condition.status == ConditionStatus::True && !only_degraded(condition)).then(|| {
                let message = condition.message.clone().unwrap_or_default();
                Prerequisite::Repair { condition: type_.to_owned(), message, risk: None }
            })
        });
        wrong.collect()
    }

    /// Risks of an update, by name. Of several risks with one name, the most severe counts.
    pub(super) fn risks_of(&self, edge: Edge) -> Vec<EdgeRisk<'_>> {
        let (from, to) = (&self.graph.node(edge.from).version, self.graph.node(edge.to));
        let release = Release { version: to.version.to_string(), ..Release::default() };
        let on_edge =
            self.graph.risks(edge).filter_map(|it| self.graph_risks.get(&Arc::as_ptr(it)));
        let of_cluster = self.cluster_risks.iter().filter(|(_, targets, validity)| {
            validity.at(from, edge.from == self.current) && targets.contain(Some(from), &release)
        });
        let mut by_name: BTreeMap<&str, &EvaluatedRisk> = BTreeMap::new();
        for risk in on_edge.chain(of_cluster.map(|(risk, _, _)| risk)) {
            let known = by_name.get(risk.name.as_str());
            if known.is_none_or(|known| known.weight() < risk.weight()) {
                by_name.insert(&risk.name, risk);
            }
        }
        let now = self.cluster.now;
        let acceptance_state = |risk: &'_ EvaluatedRisk| {
            self.acceptance.state(&risk.name, &release.version, &risk.hash, now)
        };
        by_name
            .into_values()
            .map(|risk| EdgeRisk { acceptance_state: acceptance_state(risk), risk })
            .collect()
    }

    /// Queries without a result that decide the exposure to risks of these updates.
    pub(super) fn open_queries(&self, edges: &[Edge]) -> BTreeSet<String> {
        let risks =
            edges.iter().flat_map(|edge| self.risks_of(*edge)).map(|risks_of| risks_of.risk);
        risks.filter(|risk| risk.is_unevaluated()).flat_map(|risk| &risk.queries).cloned().collect()
    }

    /// Number of risks that block an update, and of those that certainly do.
    pub(super) fn count(&self, edge: Edge) -> (usize, usize) {
        let risks_of = self.risks_of(edge);
        let certainly_blocks = risks_of.iter().filter(|risk| risk.certainly_blocks()).count();
        (risks_of.iter().filter(|risk| risk.blocks()).count(), certainly_blocks)
    }
}

/// Whether the condition only reports degraded operators, which never block an update.
fn only_degraded(condition: &OperatorCondition) -> bool {
    let degraded = [rollout::CLUSTER_OPERATOR_DEGRADED, rollout::CLUSTER_OPERATORS_DEGRADED];
    degraded.iter().any(|degraded| condition.reason.as_deref() == Some(degraded.code))
}

impl EvaluatedRisk {
    /// Whether the exposure is unknown because a query has no result yet.
    pub(super) fn is_unevaluated(&self) -> bool {
        self.awaited && self.status == ConditionStatus::Unknown
    }

    /// Whether the risk blocks updates unless it is accepted.
    fn is_blocking(&self) -> bool {
        self.status != ConditionStatus::False && !self.advisory
    }

    /// Rank for the comparison of risks with one name.
    fn weight(&self) -> u8 {
        match self.status {
            _ if !self.is_blocking() => 0,
            ConditionStatus::True => 2,
            _ => 1,
        }
    }
}

fn graph_risks(
    graph: &Graph,
    round: EvaluationInput,
) -> HashMap<*const fairway_graph::Risk, EvaluatedRisk> {
    let mut known = HashMap::new();
    for risk in graph.edges().iter().flat_map(|edge| graph.risks(*edge)) {
        let at = Arc::as_ptr(risk);
        if known.contains_key(&at) {
            continue;
        }
        let entry = Risk {
            name: risk_name::of_graph(&risk.name).into_owned(),
            message: risk.message.clone(),
            url: risk.url.clone(),
            matching_rules: risk.matching_rules.clone(),
            claim: None,
        };
        let candidate =
            CandidateUpdate { release: placeholder_release(), risks: vec![Arc::new(entry)] };
        let ledger = Ledger::new("", vec![candidate], Vec::new());
        if let Some(weighed) = evaluate(&ledger, RiskSource::Graph, &risk.matching_rules, round) {
            known.insert(at, weighed);
        }
    }
    known
}

fn evaluate_concern(concern: ReportedRisk, round: EvaluationInput) -> Option<EvaluatedRisk> {
    let candidate = CandidateUpdate { release: placeholder_release(), risks: Vec::new() };
    let (origin, rules) = (concern.source.clone(), concern.risk.matching_rules.clone());
    let concern = ReportedRisk { targets: AffectedUpdates::All, ..concern };
    evaluate(&Ledger::new("", vec![candidate], vec![concern]), origin, &rules, round)
}

/// Release for a ledger of which only the risks are used.
fn placeholder_release() -> Release {
    Release { version: Version::new(0, 0, 0).to_string(), ..Release::default() }
}

/// Evaluates the only risk of a ledger.
fn evaluate(
    ledger: &Ledger,
    origin: RiskSource,
    rules: &[MatchingRule],
    round: EvaluationInput,
) -> Option<EvaluatedRisk> {
    let exposure = ledger.verdict(&placeholder_release(), round).exposures.into_iter().next()?;
    let risk = ledger.evaluate(round).conditional_update_risks.into_iter().next()?;
    let queries = rules.iter().filter_map(|rule| rule.promql.as_ref());
    let awaited = exposure.awaited && exposure.status == ConditionStatus::Unknown;
    let hash = definition_hash(&risk);
    let reported = awaited.then(|| reported_status(&risk, &hash, round)).flatten();
    let was_asked = reported.is_some();
    let (status, why) = reported.unwrap_or((exposure.status, exposure.message));
    Some(EvaluatedRisk {
        hash,
        was_asked,
        name: risk.name,
        message: risk.message,
        url: risk.url,
        origin,
        status,
        why,
        awaited: exposure.awaited,
        advisory: exposure.advisory,
        queries: queries.map(|query| query.promql.clone()).collect(),
    })
}

/// Exposure that the operator reports for a risk with the same definition, and its explanation.
fn reported_status(
    risk: &ConditionalUpdateRisk,
    hash: &str,
    round: EvaluationInput,
) -> Option<(ConditionStatus, String)> {
    let is_same =
        |known: &&ConditionalUpdateRisk| known.name == risk.name && definition_hash(known) == hash;
    let in_ledger = round.previous.conditional_update_risks.iter().find(is_same);
    let applies = in_ledger.and_then(|known| known.conditions.find(applies::TYPE));
    if let Some(applies) = applies.filter(|it| it.status == ConditionStatus::Unknown) {
        return Some((ConditionStatus::Unknown, applies.message.clone()));
    }
    // Operators without a ledger report exposure only in the condition `Recommended` of updates;
    // the most severe counts.
    let described = round.previous.conditional_updates.iter().filter_map(|update| {
        let risk = update.risks.iter().find(is_same)?;
        let version = &update.release.version;
        let acceptance_state = round.acceptance.state(&risk.name, version, hash, round.now);
        Some((Exposure::from_update(update, risk, acceptance_state.is_accepted()), update))
    });
    let (exposure, update) = described.max_by_key(|(exposure, _)| exposure.weight())?;
    let reported =
        || format!("Reported by the operator for the update to {}.", update.release.version);
    match exposure {
        Exposure::Exposed => Some((ConditionStatus::True, reported())),
        Exposure::NotExposed => Some((ConditionStatus::False, reported())),
        Exposure::Unknown => {
            let recommended = update.conditions.find(recommended::TYPE)?;
            let line = recommended.message.lines().find(|line| line.contains(&risk.name))?;
            Some((ConditionStatus::Unknown, line.trim().to_owned()))
        }
        Exposure::NotReported | Exposure::NotEvaluated => None,
    }
}
