//! Every answer that clients can ask for, made when the graph changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use fairway_graph::wire::View;
use fairway_graph::{Graph, Node};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::document::{Coding, Document};

/// The answers about one channel to clusters of one architecture.
#[derive(Debug)]
pub(crate) struct ChannelAnswers {
    pub(crate) graph: Arc<Document>,
    pub(crate) latest: Arc<Document>,
}

/// All answers.
#[derive(Debug)]
pub(crate) struct Answers {
    channels: HashMap<String, HashMap<String, ChannelAnswers>>,
    /// By version, and by version and architecture.
    versions: HashMap<String, Arc<Document>>,
    /// What everybody else gets.
    empty: Arc<Document>,
}

/// How much there is in a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// The releases.
    pub releases: usize,
    /// The versions that releases name, and of which there is no release.
    pub without_release: usize,
    /// The updates that every cluster gets.
    pub recommended: usize,
    /// The updates that depend on risks.
    pub conditional: usize,
    /// The architectures.
    pub architectures: BTreeSet<String>,
    /// The channels that have a release.
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
struct OfVersion<'a> {
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arch: Option<&'a str>,
    channels: &'a BTreeSet<&'a str>,
}

impl Answers {
    /// Makes all answers. Those that are as they were keep their compressed form.
    pub(crate) fn new(graph: &Graph, previous: Option<&Self>) -> Self {
        let latest = latest_releases(graph);
        let mut channels = HashMap::new();
        for architecture in graph.architectures() {
            let view = View::architecture(graph, architecture);
            let mut answers = HashMap::new();
            for channel in view.channels() {
                let known = previous.and_then(|previous| previous.channel(architecture, channel));
                let newest = latest.get(&(architecture, channel));
                let newest = newest.map(|node| latest_json(architecture, channel, node));
                let answer = ChannelAnswers {
                    graph: kept(view.channel_json(channel), known.map(|known| &known.graph)),
                    latest: kept(newest.unwrap_or_default(), known.map(|known| &known.latest)),
                };
                answers.insert(channel.to_owned(), answer);
            }
            channels.insert(architecture.to_owned(), answers);
        }
        let nothing = Graph::default();
        let empty = Document::new(View::whole(&nothing).json());
        Self { channels, versions: versions(graph), empty: Arc::new(empty) }
    }

    fn channel(&self, architecture: &str, channel: &str) -> Option<&ChannelAnswers> {
        self.channels.get(architecture)?.get(channel)
    }

    /// What clusters of an architecture see of a channel; nothing, where nobody knows it.
    pub(crate) fn graph(&self, architecture: &str, channel: &str) -> &Arc<Document> {
        self.channel(architecture, channel).map_or(&self.empty, |answers| &answers.graph)
    }

    /// The latest release of a channel.
    pub(crate) fn latest(&self, architecture: &str, channel: &str) -> Option<&Arc<Document>> {
        self.channel(architecture, channel).map(|answers| &answers.latest)
    }

    /// The channels of a version, of all its architectures or of one.
    pub(crate) fn channels(
        &self,
        version: &str,
        architecture: Option<&str>,
    ) -> Option<&Arc<Document>> {
        self.versions.get(&version_key(version, architecture))
    }

    /// A digest of all that clusters can get: the same for replicas with the same input.
    pub(crate) fn digest(&self) -> String {
        let mut tags = BTreeMap::new();
        for (architecture, channels) in &self.channels {
            for (channel, answers) in channels {
                tags.insert((architecture, channel), answers.graph.tag(Coding::Identity));
            }
        }
        let mut digest = Sha256::new();
        for ((architecture, channel), tag) in tags {
            digest.update(format!("{architecture} {channel} {tag:?}\n"));
        }
        hex::encode(digest.finalize())
    }
}

impl Counts {
    pub(crate) fn of(graph: &Graph) -> Self {
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

fn kept(body: Vec<u8>, known: Option<&Arc<Document>>) -> Arc<Document> {
    match known {
        Some(known) if *known.body() == body => Arc::clone(known),
        _ => Arc::new(Document::new(body)),
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

fn versions(graph: &Graph) -> HashMap<String, Arc<Document>> {
    let mut channels: BTreeMap<(String, Option<&str>), BTreeSet<&str>> = BTreeMap::new();
    for node in graph.nodes().iter().filter(|node| node.release.is_some()) {
        let version = node.version.without_build().to_string();
        for architecture in node.architectures().map(Some).chain([None]) {
            channels.entry((version.clone(), architecture)).or_default().extend(node.channels());
        }
    }
    let document = |(version, arch): (String, Option<&str>), channels: &BTreeSet<&str>| {
        let body = json(&OfVersion { version: &version, arch, channels });
        (version_key(&version, arch), Arc::new(Document::new(body)))
    };
    channels.into_iter().map(|(key, channels)| document(key, &channels)).collect()
}

fn version_key(version: &str, architecture: Option<&str>) -> String {
    format!("{version}+{}", architecture.unwrap_or_default())
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("texts and sets of texts can be written")
}
