//! Channels that a plan may use, and the channel changes along a path.

use std::collections::BTreeSet;

use fairway_api::Version;
use fairway_graph::{Edge, Graph, Node, NodeId};

use super::goal::{self, Goal};

/// Channels that a plan may use: the channel of the cluster, other channels of its family, and
/// those in the arguments.
#[derive(Clone, Debug, Default)]
pub struct ChannelSet {
    /// Channel of the cluster.
    current: Option<String>,
    /// Families of channels, such as `stable`.
    families: BTreeSet<String>,
    /// Channels in the arguments.
    named: BTreeSet<String>,
}

/// Family and minor version of a channel such as `stable-5.2`.
pub(super) fn family(channel: &str) -> Option<(&str, (u64, u64))> {
    let (kind, stream) = channel.rsplit_once('-')?;
    Some((kind, goal::stream(stream)?))
}

impl ChannelSet {
    /// The channels for a goal; `current` is the channel of the cluster.
    pub fn new(current: Option<&str>, also: &[String], goal: &Goal) -> Self {
        let mut named: BTreeSet<String> = also.iter().cloned().collect();
        if let Goal::Channel(name) = goal {
            named.insert(name.clone());
        }
        let all = current.into_iter().chain(named.iter().map(String::as_str));
        let families = all.filter_map(family).map(|(kind, _)| kind.to_owned()).collect();
        Self { current: current.map(str::to_owned), families, named }
    }

    /// Channel of the cluster.
    pub(super) fn current(&self) -> Option<&str> {
        self.current.as_deref()
    }

    /// Channels in the arguments that contain no release, except the goal.
    pub(super) fn empty(&self, graph: &Graph, goal: &Goal) -> impl Iterator<Item = String> {
        let known: BTreeSet<&str> = graph.nodes().iter().flat_map(Node::channels).collect();
        let is_goal = |name: &String| matches!(goal, Goal::Channel(goal) if goal == name);
        let named = self.named.iter().filter(|name| !is_goal(name));
        let empty = named.filter(|name| !known.is_empty() && !known.contains(name.as_str()));
        empty.cloned().collect::<Vec<_>>().into_iter()
    }

    /// Channels to request from the update service first.
    pub fn first(&self) -> BTreeSet<String> {
        self.current.iter().chain(&self.named).cloned().collect()
    }

    /// Channels of the releases in `graph` that were not requested yet, from the minor version of
    /// the cluster to that of the goal.
    pub fn unqueried(
        &self,
        graph: &Graph,
        queried: &BTreeSet<String>,
        from: &Version,
        goal: &Goal,
    ) -> BTreeSet<String> {
        let last = goal.stream().unwrap_or((u64::MAX, u64::MAX));
        let between = |channel: &&str| {
            let stream = family(channel).map(|(_, stream)| stream);
            stream.is_some_and(|it| it >= (from.major(), from.minor()) && it <= last)
        };
        let named = graph.nodes().iter().flat_map(Node::channels);
        let wanted = named.filter(between).filter(|channel| self.allow(channel));
        let unqueried = wanted.filter(|channel| !queried.contains(*channel));
        unqueried.map(str::to_owned).collect()
    }

    /// Whether a plan may use a channel.
    pub(super) fn allow(&self, channel: &str) -> bool {
        let unrestricted = self.current.is_none() && self.named.is_empty();
        let is_of_family = || family(channel).is_some_and(|(kind, _)| self.families.contains(kind));
        unrestricted
            || self.current.as_deref() == Some(channel)
            || self.named.contains(channel)
            || is_of_family()
    }

    /// Allowed channels that contain both ends of an update; `None` if the releases have no
    /// channels, so that every channel offers it.
    pub(super) fn of(&self, graph: &Graph, edge: Edge) -> Option<BTreeSet<String>> {
        let (from, to) = (graph.node(edge.from), graph.node(edge.to));
        if from.channels().next().is_none() || to.channels().next().is_none() {
            return None;
        }
        let both = from.channels().filter(|channel| to.channels().any(|other| other == *channel));
        Some(both.filter(|channel| self.allow(channel)).map(str::to_owned).collect())
    }

    /// Releases in allowed channels; all releases if no allowed channel has one.
    pub(super) fn preferred(&self, graph: &Graph, releases: Vec<NodeId>) -> Vec<NodeId> {
        let is_seen = |id: &NodeId| {
            let mut channels = graph.node(*id).channels().peekable();
            channels.peek().is_none() || channels.any(|channel| self.allow(channel))
        };
        let seen: Vec<NodeId> = releases.iter().copied().filter(is_seen).collect();
        if seen.is_empty() { releases } else { seen }
    }

    /// Whether an allowed channel offers an update.
    pub(super) fn offers(&self, graph: &Graph, edge: Edge) -> bool {
        self.of(graph, edge).is_none_or(|channels| !channels.is_empty())
    }

    /// The channel to set before each update, `None` if the previous one offers it. Prefers the
    /// channel that offers most of the following updates.
    pub(super) fn changes(&self, graph: &Graph, steps: &[Edge]) -> Vec<Option<String>> {
        let seen_in: Vec<_> = steps.iter().map(|edge| self.of(graph, *edge)).collect();
        let offers = |channels: &Option<BTreeSet<String>>, channel: &str| {
            channels.as_ref().is_none_or(|channels| channels.contains(channel))
        };
        let mut current = self.current.clone();
        let mut changes = Vec::new();
        for (index, channels) in seen_in.iter().enumerate() {
            let stays = current.as_deref().is_some_and(|current| offers(channels, current));
            let Some(channels) = channels.as_ref().filter(|_| !stays) else {
                changes.push(None);
                continue;
            };
            let lasts = |channel: &String| {
                seen_in[index..].iter().take_while(|later| offers(later, channel)).count()
            };
            let stream = |channel: &String| family(channel).map(|(_, stream)| stream);
            current = channels.iter().max_by_key(|it| (lasts(it), stream(it))).cloned();
            changes.push(current.clone());
        }
        changes
    }
}
