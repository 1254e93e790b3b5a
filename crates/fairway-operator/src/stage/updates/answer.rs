//! What an answer of the update service means for this cluster.
//!
//! Whatever makes no sense costs the entry that it is part of. A risk is never lost alone: where
//! one cannot be told, its target is not offered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fairway_api::cluster_version::{Architecture, Release};
use fairway_api::{Version, limits};
use fairway_graph::graph::key;
use fairway_graph::{Graph, Node, NodeId, Risk, wire};
use sha2::{Digest as _, Sha256};
use url::Url;

use super::Candidate;
use super::problem::Problem;
use super::question::Question;
use super::text::excerpt;

/// Bytes of the name of an image: registries take no longer ones.
const MAX_IMAGE: usize = 1024;

/// Bytes of all channels of a release: many times as many as any has.
const MAX_CHANNELS: usize = 8 << 10;

/// What the metadata of a release calls the address where people read about it.
const URL: &str = "url";

/// An answer of the update service.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    /// The digest of its bytes.
    pub(super) digest: String,
    /// All of it.
    pub(super) graph: Arc<Graph>,
    /// The updates of this cluster, the latest first; none where its version is not in the graph.
    pub(super) candidates: Option<Arc<[Candidate]>>,
    /// What made no sense.
    pub(super) problems: Vec<String>,
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
    let problems = unread
        .iter()
        .map(ToString::to_string)
        .chain(found.iter().map(ToString::to_string))
        .map(|problem| excerpt(&problem).into_owned())
        .collect();
    Ok(Answer { digest: digest(bytes), graph: Arc::new(graph), candidates, problems })
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
    for (id, risks) in targets.into_iter().rev() {
        match release(graph.node(id), &mut offer.problems) {
            Ok(release) => offer.candidates.push(Candidate { release, risks }),
            Err(problem) => offer.problems.push(problem),
        }
    }
    Some(offer)
}

/// Where updates lead, with their risks.
type Targets = BTreeMap<NodeId, Vec<Arc<Risk>>>;

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

/// A node as the status of a cluster has it.
fn release(node: &Node, problems: &mut Vec<Problem>) -> Result<Release, Problem> {
    let version = node.version.to_string();
    let image = node.release.as_ref().map_or("", |release| release.payload.as_str());
    let legal = |letter: char| !letter.is_whitespace() && !letter.is_control();
    if image.is_empty() || image.len() > MAX_IMAGE || !image.chars().all(legal) {
        return Err(Problem::Image { version, text: image.to_owned() });
    }
    let architecture = match node.metadata(key::OWN_ARCHITECTURE) {
        None => None,
        Some("multi") => Some(Architecture::Multi),
        Some(other) => {
            return Err(Problem::Architecture { version, text: other.to_owned() });
        }
    };
    Ok(Release {
        architecture,
        image: image.to_owned(),
        url: link(node, problems),
        channels: channels(node, problems),
        version,
        ..Release::default()
    })
}

/// Where people read about a release. Consoles make links of it, so not everything goes.
fn link(node: &Node, problems: &mut Vec<Problem>) -> Option<String> {
    let text = node.metadata(URL).filter(|text| !text.is_empty())?;
    let usable = |url: Url| url.has_host() && matches!(url.scheme(), "http" | "https");
    if text.len() <= limits::URL && Url::parse(text).is_ok_and(usable) {
        return Some(text.to_owned());
    }
    let text = text.to_owned();
    problems.push(Problem::Url { version: node.version.to_string(), text });
    None
}

/// The channels that a release is in, each once, by name.
fn channels(node: &Node, problems: &mut Vec<Problem>) -> Vec<String> {
    let size = node.metadata(key::CHANNELS).map_or(0, str::len);
    if size > MAX_CHANNELS {
        problems.push(Problem::Channels { version: node.version.to_string(), size });
        return Vec::new();
    }
    let mut channels: Vec<String> = node.channels().map(str::to_owned).collect();
    channels.sort_unstable();
    channels.dedup();
    channels
}

#[cfg(test)]
mod tests;
