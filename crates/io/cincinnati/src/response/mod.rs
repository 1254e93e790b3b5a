//! What an answer of the update service means for this cluster.
//!
//! Whatever makes no sense costs the entry that it is part of. A risk is never lost alone: where
//! one cannot be told, its target is not offered.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use fairway_api::cluster_version::Release;
use fairway_api::{Version, limits};
use fairway_graph::{Edge, Graph, NodeId, wire};
use fairway_risk::{Candidate, Risk};
use sha2::{Digest as _, Sha256};

use crate::problem::Problem;
use crate::question::Question;
use crate::release::release;
use crate::text::excerpt;

/// Problems of one answer that are told one by one; of the others, only their number.
const MOST_TOLD: usize = 20;

/// Updates of one cluster: a status has no room for more.
const MOST_TARGETS: usize = 5000;

/// An answer of the update service.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The digest of its bytes.
    pub digest: String,
    /// All of it.
    pub graph: Arc<Graph>,
    /// The updates of this cluster, the latest first; none where its version is not in the graph.
    pub candidates: Option<Arc<[Candidate]>>,
    /// What made no sense: some of it, and how much.
    pub problems: Vec<String>,
    /// How many problems there are, with those that are not told.
    pub problem_count: usize,
}

/// The digest of an answer.
pub fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Reads an answer.
pub fn read(question: &Question, bytes: &[u8]) -> Result<Answer, wire::WireError> {
    let name = format!("the response of {}", question.service());
    let (graph, unread) = wire::read(&name, bytes)?;
    let offer = offer(&graph, &unread, question);
    let (candidates, found) = offer
        .map_or((None, Vec::new()), |offer| (Some(Arc::from(offer.candidates)), offer.problems));
    // What concerns this cluster comes first.
    let all = found.iter().map(ToString::to_string).chain(unread.iter().map(ToString::to_string));
    Ok(Answer {
        problems: all.take(MOST_TOLD).map(|problem| excerpt(&problem).into_owned()).collect(),
        problem_count: found.len() + unread.len(),
        digest: digest(bytes),
        graph: Arc::new(graph),
        candidates,
    })
}

/// The updates of a cluster.
#[derive(Debug, Default)]
struct Offer {
    candidates: Vec<Candidate>,
    problems: Vec<Problem>,
}

/// The updates that begin at the current version, if the graph has it.
fn offer(graph: &Graph, unread: &[fairway_graph::Problem], question: &Question) -> Option<Offer> {
    let here: Vec<NodeId> = graph.find(&question.current.without_build()).collect();
    if here.is_empty() {
        return None;
    }
    let mut targets = if question.becomes_multi {
        here.into_iter().map(|id| (id, Vec::new())).collect()
    } else {
        targets(graph, &here)
    };
    let mut offer = Offer::default();
    let mut doubtful = BTreeSet::new();
    for Doubt { problem, concerned } in doubts(graph, &targets, unread, &question.current) {
        offer.problems.push(problem);
        doubtful.extend(concerned);
    }
    targets.retain(|id, _| !doubtful.contains(id));
    if let Some(problem) = too_many(graph, &mut targets) {
        offer.problems.push(problem);
    }
    let mut known = HashMap::new();
    for (id, edges) in targets.into_iter().rev() {
        let release = release(graph.node(id), &mut offer.problems);
        match release.and_then(|release| candidate(graph, release, &edges, &mut known)) {
            Ok(candidate) => offer.candidates.push(candidate),
            Err(problem) => offer.problems.push(problem),
        }
    }
    Some(offer)
}

/// Where updates lead, and which lead there.
type Targets = BTreeMap<NodeId, Vec<Edge>>;

/// Where updates lead from here. A version that is there twice has the updates of both.
fn targets(graph: &Graph, here: &[NodeId]) -> Targets {
    let mut targets = Targets::new();
    for from in here {
        let current = &graph.node(*from).version;
        let edges = graph.edges_from(*from).iter();
        for edge in edges.filter(|edge| graph.node(edge.to).version != *current) {
            targets.entry(edge.to).or_default().push(*edge);
        }
    }
    targets
}

/// Leaves out the lowest versions where there are too many.
fn too_many(graph: &Graph, targets: &mut Targets) -> Option<Problem> {
    let more = targets.len().checked_sub(MOST_TARGETS).filter(|more| *more > 0)?;
    let kept = targets.keys().nth(more).copied()?;
    *targets = targets.split_off(&kept);
    Some(Problem::TooMany { more, kept: graph.node(kept).version.to_string() })
}

/// Risks of the graph, and what they are in the ledger. Most edges share theirs.
type Known = HashMap<*const fairway_graph::Risk, Arc<Risk>>;

/// A release with the risks of all updates that lead there.
fn candidate(
    graph: &Graph,
    release: Release,
    edges: &[Edge],
    known: &mut Known,
) -> Result<Candidate, Problem> {
    let count: usize = edges.iter().map(|edge| graph.risks(*edge).len()).sum();
    if count > limits::RISKS {
        return Err(Problem::TooManyRisks { version: release.version, count });
    }
    let mut risks: Vec<Arc<Risk>> = Vec::with_capacity(count);
    for risk in edges.iter().flat_map(|edge| graph.risks(*edge)) {
        let risk = entry(risk, known);
        if !risks.iter().any(|other| Arc::ptr_eq(other, &risk)) {
            risks.push(risk);
        }
    }
    Ok(Candidate { release, risks })
}

/// A risk as the ledger takes it.
fn entry(risk: &Arc<fairway_graph::Risk>, known: &mut Known) -> Arc<Risk> {
    let entry = known.entry(Arc::as_ptr(risk)).or_insert_with(|| {
        Arc::new(Risk {
            name: risk.name.clone(),
            message: risk.message.clone(),
            url: risk.url.clone(),
            matching_rules: risk.matching_rules.clone(),
            claim: None,
        })
    });
    Arc::clone(entry)
}

/// Why some targets are not offered.
struct Doubt {
    problem: Problem,
    concerned: Vec<NodeId>,
}

/// Everything for which targets are not offered.
fn doubts(
    graph: &Graph,
    targets: &Targets,
    unread: &[fairway_graph::Problem],
    current: &Version,
) -> Vec<Doubt> {
    let mut doubts = ambiguous(graph, targets);
    doubts.extend(lost(graph, targets, unread, current));
    doubts
}

/// Releases that cannot be told apart: the risks of one would not count for the other.
fn ambiguous(graph: &Graph, targets: &Targets) -> Vec<Doubt> {
    let mut claims: BTreeMap<String, Vec<NodeId>> = BTreeMap::new();
    for id in targets.keys() {
        let node = graph.node(*id);
        let version = format!("version {}", node.version.without_build());
        // The same content has the same digest in every repository.
        let digest = |image: &str| image.rsplit('@').next().map(str::to_owned);
        let image = node.release.as_ref().and_then(|release| digest(&release.payload));
        for claim in
            [Some(version), image.map(|image| format!("image {image}"))].into_iter().flatten()
        {
            claims.entry(claim).or_default().push(*id);
        }
    }
    let shared = claims.into_iter().filter(|(_, concerned)| concerned.len() > 1);
    let doubts = shared.map(|(what, concerned)| {
        let releases = concerned.iter().map(|id| graph.node(*id).version.to_string()).collect();
        Doubt { problem: Problem::Ambiguous { what, releases }, concerned }
    });
    doubts.collect()
}

/// Releases to which an update from here has risks that belong to no node: it may be that they
/// only call the node differently.
fn lost(
    graph: &Graph,
    targets: &Targets,
    unread: &[fairway_graph::Problem],
    current: &Version,
) -> Vec<Doubt> {
    let begins_here =
        |from: &str| Version::parse_tolerant(from).map_or(true, |from| from == *current);
    let lost = unread.iter().filter_map(|problem| match problem {
        fairway_graph::Problem::DanglingEdge { from, to } if begins_here(from) => {
            Version::parse_tolerant(to).ok()
        }
        _ => None,
    });
    let lost: BTreeSet<Version> = lost.collect();
    let concerned = targets.keys().filter(|id| lost.contains(&graph.node(**id).version));
    let doubts = concerned.map(|id| {
        let version = graph.node(*id).version.to_string();
        Doubt { problem: Problem::LostRisks { version }, concerned: vec![*id] }
    });
    doubts.collect()
}

#[cfg(test)]
mod tests;
