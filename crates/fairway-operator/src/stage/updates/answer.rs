//! What an answer of the update service means for this cluster.
//!
//! Whatever makes no sense costs the entry that it is part of. A risk is never lost alone: where
//! one cannot be told, its target is not offered.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use fairway_api::Version;
use fairway_graph::{Graph, NodeId, wire};
use fairway_risk::{Candidate, Risk};
use sha2::{Digest as _, Sha256};

use super::problem::Problem;
use super::question::Question;
use super::release::release;
use super::text::excerpt;

/// Problems of one answer that are told one by one; of the others, only their number.
const MOST_TOLD: usize = 20;

/// An answer of the update service.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    /// The digest of its bytes.
    pub(super) digest: String,
    /// All of it.
    pub(super) graph: Arc<Graph>,
    /// The updates of this cluster, the latest first; none where its version is not in the graph.
    pub(super) candidates: Option<Arc<[Candidate]>>,
    /// What made no sense: some of it, and how much.
    pub(super) problems: Vec<String>,
    pub(super) problem_count: usize,
}

/// The digest of an answer.
pub(super) fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Reads an answer.
pub(super) fn read(question: &Question, bytes: &[u8]) -> Result<Answer, wire::WireError> {
    let name = format!("the answer of {}", question.service());
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
    let mut doubts = ambiguous(graph, &targets);
    doubts.extend(lost(graph, &targets, unread, &question.current));
    for Doubt { problem, concerned } in doubts {
        targets.retain(|id, _| !concerned.contains(id));
        offer.problems.push(problem);
    }
    let mut known = HashMap::new();
    for (id, risks) in targets.into_iter().rev() {
        let risks = risks.iter().map(|risk| entry(risk, &mut known)).collect();
        match release(graph.node(id), &mut offer.problems) {
            Ok(release) => offer.candidates.push(Candidate { release, risks }),
            Err(problem) => offer.problems.push(problem),
        }
    }
    Some(offer)
}

/// Where updates lead, with their risks.
type Targets = BTreeMap<NodeId, Vec<Arc<fairway_graph::Risk>>>;

/// Where updates lead from here. A version that is there twice has the updates of both, and the
/// risks of both.
fn targets(graph: &Graph, here: &[NodeId]) -> Targets {
    let mut targets = Targets::new();
    let edges = here.iter().flat_map(|id| graph.edges_from(*id));
    for edge in edges.filter(|edge| !here.contains(&edge.to)) {
        let risks = targets.entry(edge.to).or_default();
        for risk in graph.risks(*edge) {
            if !risks.contains(risk) {
                risks.push(Arc::clone(risk));
            }
        }
    }
    targets
}

/// A risk as the ledger takes it. Most edges share theirs, in the graph and in the ledger.
fn entry(
    risk: &Arc<fairway_graph::Risk>,
    known: &mut HashMap<*const fairway_graph::Risk, Arc<Risk>>,
) -> Arc<Risk> {
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
