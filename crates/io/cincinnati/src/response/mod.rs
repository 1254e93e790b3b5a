//! The updates of a cluster in a response of the update service.
//!
//! Invalid content omits only its entry. A risk is never dropped alone: if one cannot be assigned,
//! its target is not offered.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use fairway_api::cluster_version::{Architecture, Release};
use fairway_api::image::is_reference;
use fairway_api::{Version, limits, risk_name};
use fairway_graph::graph::key;
use fairway_graph::{Edge, Graph, Node, NodeId, cincinnati};
use fairway_risk::{CandidateUpdate, Risk};
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::excerpt;
use crate::query::GraphQuery;

/// Listed problems of one response; of the others, only the number is reported.
const MAX_LISTED_PROBLEMS: usize = 20;

/// Updates of one cluster: the status has no room for more.
const MAX_TARGETS: usize = 5000;

/// Bytes of the channels of a release: many times as many as real ones.
const MAX_CHANNELS: usize = 8 << 10;

/// Metadata key of the errata URL.
pub const URL: &str = "url";

/// A decoded response of the update service.
#[derive(Clone, Debug)]
pub struct UpdateResponse {
    /// Digest of the body.
    pub digest: String,
    /// The complete graph.
    pub graph: Arc<Graph>,
    /// Updates of this cluster, the latest first; `None` if its version is not in the graph.
    pub candidates: Option<Arc<[CandidateUpdate]>>,
    /// Some of the problems.
    pub problems: Vec<String>,
    /// Number of all problems.
    pub problem_count: usize,
}

/// A problem of a response and its consequence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains it")]
pub enum ResponseProblem {
    #[error("ignoring {version}: invalid image {text:?}")]
    Image { version: String, text: String },
    #[error("ignoring {version}: unknown architecture {text:?}")]
    Architecture { version: String, text: String },
    #[error("ignoring {}: they have the same {what}", releases.join(" and "))]
    Ambiguous { what: String, releases: Vec<String> },
    #[error("ignoring {version}: its risks are listed under another version")]
    LostRisks { version: String },
    #[error("ignoring the URL of {version}: not an http or https URL: {text:?}")]
    Url { version: String, text: String },
    #[error("ignoring the channels of {version}: too large ({size} bytes)")]
    Channels { version: String, size: usize },
    #[error("ignoring {version}: its {count} risks do not fit into a status")]
    TooManyRisks { version: String, count: usize },
    #[error("ignoring {more} updates to versions before {kept}: too many updates")]
    TooMany { more: usize, kept: String },
}

/// The digest of a response body.
pub fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Decodes a response.
pub fn read(
    query: &GraphQuery,
    bytes: &[u8],
) -> Result<UpdateResponse, cincinnati::GraphReadError> {
    let name = format!("the response of {}", query.service());
    let (graph, unread) = cincinnati::read(&name, bytes)?;
    let updates = updates_of(&graph, &unread, query);
    let (candidates, found) = updates.map_or((None, Vec::new()), |updates| {
        (Some(Arc::from(updates.candidates)), updates.problems)
    });
    // Problems of this cluster come first.
    let all = found.iter().map(ToString::to_string).chain(unread.iter().map(ToString::to_string));
    Ok(UpdateResponse {
        problems: all
            .take(MAX_LISTED_PROBLEMS)
            .map(|response| excerpt(&response).into_owned())
            .collect(),
        problem_count: found.len() + unread.len(),
        digest: digest(bytes),
        graph: Arc::new(graph),
        candidates,
    })
}

/// Updates of a cluster and their problems.
#[derive(Debug, Default)]
struct Updates {
    candidates: Vec<CandidateUpdate>,
    problems: Vec<ResponseProblem>,
}

/// The updates from the current version, if the graph has it.
fn updates_of(
    graph: &Graph,
    unread: &[fairway_graph::GraphProblem],
    query: &GraphQuery,
) -> Option<Updates> {
    let here: Vec<NodeId> = graph.find(&query.current.without_build()).collect();
    if here.is_empty() {
        return None;
    }
    let mut targets = if query.becomes_multi {
        here.into_iter().map(|id| (id, Vec::new())).collect()
    } else {
        targets(graph, &here)
    };
    let mut updates = Updates::default();
    let mut excluded = BTreeSet::new();
    for Withheld { problem, targets_of } in withheld(graph, &targets, unread, &query.current) {
        updates.problems.push(problem);
        excluded.extend(targets_of);
    }
    targets.retain(|id, _| !excluded.contains(id));
    if let Some(problem) = too_many(graph, &mut targets) {
        updates.problems.push(problem);
    }
    let mut known = HashMap::new();
    for (id, edges) in targets.into_iter().rev() {
        let release = release(graph.node(id), &mut updates.problems);
        match release.and_then(|release| candidate(graph, release, &edges, &mut known)) {
            Ok(candidate) => updates.candidates.push(candidate),
            Err(problem) => updates.problems.push(problem),
        }
    }
    Some(updates)
}

/// Targets and the updates to them.
type Targets = BTreeMap<NodeId, Vec<Edge>>;

/// The targets of the current version. A version with several nodes has the updates of all of them.
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

/// Omits the lowest versions if there are too many.
fn too_many(graph: &Graph, targets: &mut Targets) -> Option<ResponseProblem> {
    let more = targets.len().checked_sub(MAX_TARGETS).filter(|more| *more > 0)?;
    let kept = targets.keys().nth(more).copied()?;
    *targets = targets.split_off(&kept);
    Some(ResponseProblem::TooMany { more, kept: graph.node(kept).version.to_string() })
}

/// Risks of the graph as ledger entries. Most edges share theirs.
type RiskEntries = HashMap<*const fairway_graph::Risk, Arc<Risk>>;

/// A release with the risks of all updates to it.
fn candidate(
    graph: &Graph,
    release: Release,
    edges: &[Edge],
    known: &mut RiskEntries,
) -> Result<CandidateUpdate, ResponseProblem> {
    let count: usize = edges.iter().map(|edge| graph.risks(*edge).len()).sum();
    if count > limits::RISKS {
        return Err(ResponseProblem::TooManyRisks { version: release.version, count });
    }
    let mut risks: Vec<Arc<Risk>> = Vec::with_capacity(count);
    for risk in edges.iter().flat_map(|edge| graph.risks(*edge)) {
        let risk = entry(risk, known);
        if !risks.iter().any(|other| Arc::ptr_eq(other, &risk)) {
            risks.push(risk);
        }
    }
    Ok(CandidateUpdate { release, risks })
}

/// The ledger entry of a risk.
fn entry(risk: &Arc<fairway_graph::Risk>, known: &mut RiskEntries) -> Arc<Risk> {
    let entry = known.entry(Arc::as_ptr(risk)).or_insert_with(|| {
        Arc::new(Risk {
            name: risk_name::of_graph(&risk.name).into_owned(),
            message: risk.message.clone(),
            url: risk.url.clone(),
            matching_rules: risk.matching_rules.clone(),
            claim: None,
        })
    });
    Arc::clone(entry)
}

/// A problem because of which some targets are not offered.
struct Withheld {
    problem: ResponseProblem,
    targets_of: Vec<NodeId>,
}

/// All problems because of which targets are not offered.
fn withheld(
    graph: &Graph,
    targets: &Targets,
    unread: &[fairway_graph::GraphProblem],
    current: &Version,
) -> Vec<Withheld> {
    let mut withheld = ambiguous(graph, targets);
    withheld.extend(lost(graph, targets, unread, current));
    withheld
}

/// Targets with the same version or image: the risks of one would not apply to the other.
fn ambiguous(graph: &Graph, targets: &Targets) -> Vec<Withheld> {
    let mut claims: BTreeMap<String, Vec<NodeId>> = BTreeMap::new();
    for id in targets.keys() {
        let node = graph.node(*id);
        let version = format!("version {}", node.version.without_build());
        // The digest identifies the content in every repository.
        let digest = |image: &str| image.rsplit('@').next().map(str::to_owned);
        let image = node.release.as_ref().and_then(|release| digest(&release.payload));
        for claim in
            [Some(version), image.map(|image| format!("image {image}"))].into_iter().flatten()
        {
            claims.entry(claim).or_default().push(*id);
        }
    }
    let shared = claims.into_iter().filter(|(_, targets_of)| targets_of.len() > 1);
    let withheld = shared.map(|(what, targets_of)| {
        let releases = targets_of.iter().map(|id| graph.node(*id).version.to_string()).collect();
        Withheld { problem: ResponseProblem::Ambiguous { what, releases }, targets_of }
    });
    withheld.collect()
}

/// Targets with risks that belong to no node: the response may only spell the version differently.
fn lost(
    graph: &Graph,
    targets: &Targets,
    unread: &[fairway_graph::GraphProblem],
    current: &Version,
) -> Vec<Withheld> {
    let begins_here =
        |from: &str| Version::parse_tolerant(from).map_or(true, |from| from == *current);
    let lost = unread.iter().filter_map(|problem| match problem {
        fairway_graph::GraphProblem::DanglingEdge { from, to } if begins_here(from) => {
            Version::parse_tolerant(to).ok()
        }
        _ => None,
    });
    let lost: BTreeSet<Version> = lost.collect();
    let targets_of = targets.keys().filter(|id| lost.contains(&graph.node(**id).version));
    let withheld = targets_of.map(|id| {
        let version = graph.node(*id).version.to_string();
        Withheld { problem: ResponseProblem::LostRisks { version }, targets_of: vec![*id] }
    });
    withheld.collect()
}

/// The release of a node. Invalid descriptive fields are omitted; other problems are errors.
pub fn release(
    node: &Node,
    problems: &mut Vec<ResponseProblem>,
) -> Result<Release, ResponseProblem> {
    let version = node.version.to_string();
    let image = node.release.as_ref().map_or("", |release| release.payload.as_str());
    if !is_reference(image) {
        return Err(ResponseProblem::Image { version, text: image.to_owned() });
    }
    let architecture = match node.metadata(key::OWN_ARCHITECTURE) {
        None => None,
        Some("multi") => Some(Architecture::Multi),
        Some(other) => {
            return Err(ResponseProblem::Architecture { version, text: other.to_owned() });
        }
    };
    Ok(Release {
        architecture,
        image: image.to_owned(),
        url: link(&version, node.metadata(URL), problems),
        channels: channels(&version, node.metadata(key::CHANNELS), problems),
        version,
        ..Release::default()
    })
}

/// The errata URL. Consoles render it as a link, so only http and https are allowed.
pub fn link(
    version: &str,
    text: Option<&str>,
    problems: &mut Vec<ResponseProblem>,
) -> Option<String> {
    let text = text.filter(|text| !text.is_empty())?;
    let usable = |url: Url| url.has_host() && matches!(url.scheme(), "http" | "https");
    if text.len() <= limits::URL && Url::parse(text).is_ok_and(usable) {
        return Some(text.to_owned());
    }
    problems.push(ResponseProblem::Url { version: version.to_owned(), text: text.to_owned() });
    None
}

/// The channels of a release, sorted and without duplicates.
pub fn channels(
    version: &str,
    list: Option<&str>,
    problems: &mut Vec<ResponseProblem>,
) -> Vec<String> {
    let list = list.unwrap_or_default();
    if list.len() > MAX_CHANNELS {
        problems.push(ResponseProblem::Channels { version: version.to_owned(), size: list.len() });
        return Vec::new();
    }
    let named = list.split(',').map(str::trim).filter(|channel| !channel.is_empty());
    let mut channels: Vec<String> = named.map(str::to_owned).collect();
    channels.sort_unstable();
    channels.dedup();
    channels
}

#[cfg(test)]
mod tests;
