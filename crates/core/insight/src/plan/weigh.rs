//! What stands against an update on the way, as far as that is known today.
//!
//! Every risk is looked at once, by the ledger that the operator uses: what a query says now, else
//! what the operator has found out about the same risk, else that it is not known yet.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use fairway_api::cluster_version::{ConditionalUpdateRisk, MatchingRule, Release};
use fairway_api::reason::{applies, failing, invalid, recommended, rollout};
use fairway_api::{ConditionStatus, Conditions as _, OperatorCondition, Version};
use fairway_graph::{Edge, Graph, NodeId};
use fairway_risk::sources::Gate;
use fairway_risk::{
    Acceptance, Candidate, Concern, Ledger, QueryPolicy, Risk, Round, Source, Standing, Targets,
    definition_hash,
};

use super::Outlook;
use super::concerns::{self, Holds, Raised};
use super::need::Prerequisite;
use crate::exposure::Exposure;

/// A risk, and what is known about it.
#[derive(Clone, Debug)]
pub(super) struct Weighed {
    pub(super) name: String,
    pub(super) message: String,
    pub(super) url: String,
    pub(super) origin: Source,
    pub(super) status: ConditionStatus,
    /// Why that is known, or not.
    pub(super) why: String,
    /// A query that was not asked will tell.
    awaited: bool,
    /// The operator has asked, though it may not have found out.
    pub(super) was_asked: bool,
    /// It is shown, and stands against nothing.
    advisory: bool,
    /// What the definition is known by.
    hash: String,
    /// The queries that tell whether it applies.
    queries: Vec<String>,
}

/// A risk of one update.
pub(super) struct Faced<'a> {
    pub(super) risk: &'a Weighed,
    pub(super) standing: Standing,
}

impl Faced<'_> {
    /// Whether it stands against the update.
    pub(super) fn stands(&self) -> bool {
        self.risk.counts() && !self.standing.is_accepted()
    }

    /// Whether it is known to.
    pub(super) fn surely(&self) -> bool {
        self.stands() && self.risk.status == ConditionStatus::True
    }
}

/// Everything that stands against updates.
pub(super) struct Scale<'a> {
    graph: &'a Graph,
    here: NodeId,
    outlook: &'a Outlook<'a>,
    acceptance: Acceptance,
    of_edges: HashMap<*const fairway_graph::Risk, Weighed>,
    raised: Vec<(Weighed, Targets, Holds)>,
    /// What administrators are asked to confirm, by the name of the risk.
    pub(super) gates: BTreeMap<String, Gate>,
}

impl<'a> Scale<'a> {
    pub(super) fn new(graph: &'a Graph, here: NodeId, outlook: &'a Outlook<'a>) -> Self {
        let acceptance = outlook.acceptance();
        let previous = outlook.previous();
        let policy = QueryPolicy::default();
        let round = Round {
            outcomes: outlook.outcomes,
            policy: &policy,
            acceptance: &acceptance,
            previous: &previous,
            now: outlook.now,
        };
        let of_edges = of_edges(graph, round);
        let (concerns, gates) = concerns::of(outlook, graph);
        let raised = |name: &str| concerns.iter().any(|it| it.concern.risk.name == name);
        let on_edge = |version: &str, name: &str| {
            let version = Version::parse(version).ok();
            let target = version.and_then(|it| graph.find(&it.without_build()).next());
            let edge = target.and_then(|target| graph.edge(here, target));
            edge.is_some_and(|edge| graph.risks(edge).any(|risk| risk.name == name))
        };
        let is_known = |version: &str, name: &str| raised(name) || on_edge(version, name);
        let published = concerns::published(outlook, is_known);
        let weigh = |Raised { concern, holds }: Raised| {
            let targets = concern.targets.clone();
            Some((weigh_concern(concern, round)?, targets, holds))
        };
        let raised = concerns.into_iter().chain(published).filter_map(weigh).collect();
        Self { graph, here, outlook, acceptance, of_edges, raised, gates }
    }

    /// Whether an update is under way.
    pub(super) fn is_updating(&self) -> bool {
        self.outlook.is_updating()
    }

    /// What is wrong with the cluster: an update is refused before that is mended.
    pub(super) fn mends(&self) -> Vec<Prerequisite> {
        let status = self.outlook.cluster_version.status.as_ref();
        let wrong = [invalid::TYPE, failing::TYPE].into_iter().filter_map(|type_| {
            let condition = status?.conditions.find(type_)?;
            (condition.status == ConditionStatus::True && !only_degraded(condition)).then(|| {
                let message = condition.message.clone().unwrap_or_default();
                Prerequisite::Repair { condition: type_.to_owned(), message, risk: None }
            })
        });
        wrong.collect()
    }

    /// What an update faces, in the order of names.
    pub(super) fn faced(&self, edge: Edge) -> Vec<Faced<'_>> {
        let (from, to) = (&self.graph.node(edge.from).version, self.graph.node(edge.to));
        let release = Release { version: to.version.to_string(), ..Release::default() };
        let on_edge = self.graph.risks(edge).filter_map(|it| self.of_edges.get(&Arc::as_ptr(it)));
        let raised = self.raised.iter().filter(|(_, targets, holds)| {
            holds.at(from, edge.from == self.here) && targets.contain(Some(from), &release)
        });
        let mut by_name: BTreeMap<&str, &Weighed> = BTreeMap::new();
        for risk in on_edge.chain(raised.map(|(risk, _, _)| risk)) {
            let known = by_name.get(risk.name.as_str());
            if known.is_none_or(|known| known.weight() < risk.weight()) {
                by_name.insert(&risk.name, risk);
            }
        }
        let now = self.outlook.now;
        let face = |risk: &'_ Weighed| {
            self.acceptance.standing(&risk.name, &release.version, &risk.hash, now)
        };
        by_name.into_values().map(|risk| Faced { standing: face(risk), risk }).collect()
    }

    /// The queries that were not asked and tell whether risks of these updates apply.
    pub(super) fn open_queries(&self, edges: &[Edge]) -> BTreeSet<String> {
        let risks = edges.iter().flat_map(|edge| self.faced(*edge)).map(|faced| faced.risk);
        risks.filter(|risk| risk.is_open()).flat_map(|risk| &risk.queries).cloned().collect()
    }

    /// How many of them stand against it, and how many of these surely.
    pub(super) fn burden(&self, edge: Edge) -> (usize, usize) {
        let faced = self.faced(edge);
        let surely = faced.iter().filter(|risk| risk.surely()).count();
        (faced.iter().filter(|risk| risk.stands()).count(), surely)
    }
}

/// Whether it never holds up an update: operators that are only degraded.
fn only_degraded(condition: &OperatorCondition) -> bool {
    let degraded = [rollout::CLUSTER_OPERATOR_DEGRADED, rollout::CLUSTER_OPERATORS_DEGRADED];
    degraded.iter().any(|degraded| condition.reason.as_deref() == Some(degraded.code))
}

impl Weighed {
    /// Whether nobody knows yet if it applies.
    pub(super) fn is_open(&self) -> bool {
        self.awaited && self.status == ConditionStatus::Unknown
    }

    /// Whether it stands against updates, for those who have not accepted it.
    fn counts(&self) -> bool {
        self.status != ConditionStatus::False && !self.advisory
    }

    /// Of two that have one name, what the worse one says counts.
    fn weight(&self) -> u8 {
        match self.status {
            _ if !self.counts() => 0,
            ConditionStatus::True => 2,
            _ => 1,
        }
    }
}

fn of_edges(graph: &Graph, round: Round) -> HashMap<*const fairway_graph::Risk, Weighed> {
    let mut known = HashMap::new();
    for risk in graph.edges().iter().flat_map(|edge| graph.risks(*edge)) {
        let at = Arc::as_ptr(risk);
        if known.contains_key(&at) {
            continue;
        }
        let entry = Risk {
            name: risk.name.clone(),
            message: risk.message.clone(),
            url: risk.url.clone(),
            matching_rules: risk.matching_rules.clone(),
            claim: None,
        };
        let candidate = Candidate { release: somewhere(), risks: vec![Arc::new(entry)] };
        let ledger = Ledger::new("", vec![candidate], Vec::new());
        if let Some(weighed) = weigh(&ledger, Source::Graph, &risk.matching_rules, round) {
            known.insert(at, weighed);
        }
    }
    known
}

fn weigh_concern(concern: Concern, round: Round) -> Option<Weighed> {
    let candidate = Candidate { release: somewhere(), risks: Vec::new() };
    let (origin, rules) = (concern.source.clone(), concern.risk.matching_rules.clone());
    let concern = Concern { targets: Targets::All, ..concern };
    weigh(&Ledger::new("", vec![candidate], vec![concern]), origin, &rules, round)
}

/// A release of which only the risks are of interest.
fn somewhere() -> Release {
    Release { version: Version::new(0, 0, 0).to_string(), ..Release::default() }
}

/// What the ledger says about its one risk.
fn weigh(ledger: &Ledger, origin: Source, rules: &[MatchingRule], round: Round) -> Option<Weighed> {
    let exposure = ledger.verdict(&somewhere(), round).exposures.into_iter().next()?;
    let risk = ledger.evaluate(round).conditional_update_risks.into_iter().next()?;
    let queries = rules.iter().filter_map(|rule| rule.promql.as_ref());
    let awaited = exposure.awaited && exposure.status == ConditionStatus::Unknown;
    let hash = definition_hash(&risk);
    let told = awaited.then(|| told(&risk, &hash, round)).flatten();
    let was_asked = told.is_some();
    let (status, why) = told.unwrap_or((exposure.status, exposure.message));
    Some(Weighed {
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

/// What the operator says about a risk of the same words that the ledger cannot tell about, and why.
fn told(
    risk: &ConditionalUpdateRisk,
    hash: &str,
    round: Round,
) -> Option<(ConditionStatus, String)> {
    let is_it =
        |known: &&ConditionalUpdateRisk| known.name == risk.name && definition_hash(known) == hash;
    let in_ledger = round.previous.conditional_update_risks.iter().find(is_it);
    let applies = in_ledger.and_then(|known| known.conditions.find(applies::TYPE));
    if let Some(applies) = applies.filter(|it| it.status == ConditionStatus::Unknown) {
        return Some((ConditionStatus::Unknown, applies.message.clone()));
    }
    // Operators without a ledger say it where they describe updates; the worst of it counts.
    let described = round.previous.conditional_updates.iter().filter_map(|update| {
        let risk = update.risks.iter().find(is_it)?;
        let version = &update.release.version;
        let standing = round.acceptance.standing(&risk.name, version, hash, round.now);
        Some((Exposure::from_update(update, risk, standing.is_accepted()), update))
    });
    let (exposure, update) = described.max_by_key(|(exposure, _)| exposure.weight())?;
    let says_so =
        || format!("Reported by the operator for the update to {}.", update.release.version);
    match exposure {
        Exposure::Exposed => Some((ConditionStatus::True, says_so())),
        Exposure::NotExposed => Some((ConditionStatus::False, says_so())),
        Exposure::Unknown => {
            let recommended = update.conditions.find(recommended::TYPE)?;
            let line = recommended.message.lines().find(|line| line.contains(&risk.name))?;
            Some((ConditionStatus::Unknown, line.trim().to_owned()))
        }
        Exposure::NotReported => None,
    }
}
