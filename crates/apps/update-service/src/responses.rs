//! All responses that clients can request, built when the graph changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use fairway_graph::cincinnati::GraphSerializer;
use fairway_graph::{Graph, Node};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::body::{Coding, ResponseBody};

/// Responses for one channel and one architecture.
#[derive(Debug)]
pub(crate) struct ChannelResponses {
    pub(crate) graph: Arc<ResponseBody>,
    pub(crate) latest: Arc<ResponseBody>,
}

/// All responses by their parameters.
#[derive(Debug)]
pub(crate) struct Responses {
    channels: HashMap<String, HashMap<String, ChannelResponses>>,
    /// By version, and by version and architecture.
    versions: HashMap<String, Arc<ResponseBody>>,
    /// An empty graph, for unprevious channels and architectures.
    empty: Arc<ResponseBody>,
}

/// Size of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphCounts {
    /// Number of releases.
    pub releases: usize,
    /// Number of versions that releases reference and that have no release.
    pub without_release: usize,
    /// Number of recommended updates.
    pub recommended: usize,
    /// Number of conditional updates.
    pub conditional: usize,
    /// Architectures.
    pub architectures: BTreeSet<String>,
    /// Channels with at least one release.
    pub channels: BTreeSet<String>,
}

#[derive(Serialize)]
struct Latest<'a> {
    channel: &'a str,
    arch: &'a str,
    version: String,
    payload: &'a str,
}

#[derive(Serialize)]
struct VersionChannels<'a> {
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arch: Option<&'a str>,
    channels: &'a BTreeSet<&'a str>,
}

impl Responses {
    /// Builds all responses. Unchanged ones are shared with `previous` and keep their compressed
    /// form.
    pub(crate) fn new(graph: &Graph, previous: Option<&Self>) -> Self {
        let latest = latest_releases(graph);
        let mut channels = HashMap::new();
        for architecture in graph.architectures() {
            let view = GraphSerializer::architecture(graph, architecture);
            let mut responses = HashMap::new();
            for channel in view.channels() {
                let before = previous.and_then(|previous| previous.channel(architecture, channel));
                let newest = latest.get(&(architecture, channel));
                let newest = newest.map(|node| latest_json(architecture, channel, node));
                let answer = ChannelResponses {
                    graph: reuse(view.channel_json(channel), before.map(|before| &before.graph)),
                    latest: reuse(newest.unwrap_or_default(), before.map(|before| &before.latest)),
                };
                responses.insert(channel.to_owned(), answer);
            }
            channels.insert(architecture.to_owned(), responses);
        }
        let nothing = Graph::default();
        let empty = ResponseBody::new(GraphSerializer::whole(&nothing).json());
        Self { channels, versions: versions(graph), empty: Arc::new(empty) }
    }

    fn channel(&self, architecture: &str, channel: &str) -> Option<&ChannelResponses> {
        self.channels.get(architecture)?.get(channel)
    }

    /// The graph of a channel for an architecture; an empty graph if either is unprevious.
    pub(crate) fn graph(&self, architecture: &str, channel: &str) -> &Arc<ResponseBody> {
        self.channel(architecture, channel).map_or(&self.empty, |responses| &responses.graph)
    }

    /// The latest release of a channel.
    pub(crate) fn latest(&self, architecture: &str, channel: &str) -> Option<&Arc<ResponseBody>> {
        self.channel(architecture, channel).map(|responses| &responses.latest)
    }

    /// The channels of a version, of all its architectures or of one.
    pub(crate) fn channels(
        &self,
        version: &str,
        architecture: Option<&str>,
    ) -> Option<&Arc<ResponseBody>> {
        self.versions.get(&version_key(version, architecture))
    }

    /// A digest of all graphs, equal for replicas with the same input.
    pub(crate) fn digest(&self) -> String {
        let mut tags = BTreeMap::new();
        for (architecture, channels) in &self.channels {
            for (channel, responses) in channels {
                tags.insert((architecture, channel), responses.graph.tag(Coding::Identity));
            }
        }
        let mut digest = Sha256::new();
        for ((architecture, channel), tag) in tags {
            digest.update(format!("{architecture} {channel} {tag:?}\n"));
        }
        hex::encode(digest.finalize())
    }
}

impl GraphCounts {
    pub(crate) fn new(graph: &Graph) -> Self {
        let conditional = graph.edges().iter().filter(|edge| edge.is_conditional()).count();
        let without_release = graph.without_release().count();
        let channels = graph.nodes().iter().flat_map(Node::channels);
        Self {
            releases: graph.nodes().len() - without_release,
            without_release,
            recommended: graph.edges().len() - conditional,
            conditional,
            architectures: graph.architectures().into_iter().map(str::to_owned).collect(),
            channels: channels.collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect(),
        }
    }
}

fn reuse(body: Vec<u8>, previous: Option<&Arc<ResponseBody>>) -> Arc<ResponseBody> {
    match previous {
        Some(previous) if *previous.body() == body => Arc::clone(previous),
        _ => Arc::new(ResponseBody::new(body)),
    }
}

/// The latest release by architecture and channel. Nodes are in the order of their versions.
fn latest_releases(graph: &Graph) -> HashMap<(&str, &str), &Node> {
    let mut latest = HashMap::new();
    for node in graph.nodes() {
        for architecture in node.architectures() {
            latest.extend(node.channels().map(|channel| ((architecture, channel), node)));
        }
    }
    latest
}

fn latest_json(arch: &str, channel: &str, node: &Node) -> Vec<u8> {
    let payload = node.release.as_ref().map_or("", |release| release.payload.as_str());
    json(&Latest { channel, arch, version: node.version.without_build().to_string(), payload })
}

fn versions(graph: &Graph) -> HashMap<String, Arc<ResponseBody>> {
    let mut channels: BTreeMap<(String, Option<&str>), BTreeSet<&str>> = BTreeMap::new();
    for node in graph.nodes().iter().filter(|node| node.release.is_some()) {
        let version = node.version.without_build().to_string();
        for architecture in node.architectures().map(Some).chain([None]) {
            channels.entry((version.clone(), architecture)).or_default().extend(node.channels());
        }
    }
    let document = |(version, arch): (String, Option<&str>), channels: &BTreeSet<&str>| {
        let body = json(&VersionChannels { version: &version, arch, channels });
        (version_key(&version, arch), Arc::new(ResponseBody::new(body)))
    };
    channels.into_iter().map(|(key, channels)| document(key, &channels)).collect()
}

fn version_key(version: &str, architecture: Option<&str>) -> String {
    format!("{version}+{}", architecture.unwrap_or_default())
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("strings and sets of strings always serialize")
}
