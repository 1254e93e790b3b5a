//! Channels: which of them a cluster may follow on its way, and when it has to change.

use std::collections::BTreeSet;

use fairway_api::Version;
use fairway_graph::{Edge, Graph, Node, NodeId};

use super::goal::{self, Goal};

/// The channels that a plan may use: the one that the cluster follows, others of its kind, and
/// those that somebody names.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    /// The one that the cluster follows.
    here: Option<String>,
    /// Kinds of channels, such as `stable`.
    families: BTreeSet<String>,
    /// Those that somebody names.
    named: BTreeSet<String>,
}

/// The kind and the minor version of a channel such as `stable-5.2`.
pub(super) fn family(channel: &str) -> Option<(&str, (u64, u64))> {
    let (kind, stream) = channel.rsplit_once('-')?;
    Some((kind, goal::stream(stream)?))
}

impl Lanes {
    /// The channels for a goal, of a cluster that follows `here`.
    pub fn new(here: Option<&str>, also: &[String], goal: &Goal) -> Self {
        let mut named: BTreeSet<String> = also.iter().cloned().collect();
        if let Goal::Channel(name) = goal {
            named.insert(name.clone());
        }
        let all = here.into_iter().chain(named.iter().map(String::as_str));
        let families = all.filter_map(family).map(|(kind, _)| kind.to_owned()).collect();
        Self { here: here.map(str::to_owned), families, named }
    }

    /// The channel that the cluster follows.
    pub(super) fn here(&self) -> Option<&str> {
        self.here.as_deref()
    }

    /// The channels that somebody named besides the goal, and that no release of a graph is in.
    pub(super) fn empty(&self, graph: &Graph, goal: &Goal) -> impl Iterator<Item = String> {
        let known: BTreeSet<&str> = graph.nodes().iter().flat_map(Node::channels).collect();
        let is_goal = |name: &String| matches!(goal, Goal::Channel(goal) if goal == name);
        let named = self.named.iter().filter(|name| !is_goal(name));
        let empty = named.filter(|name| !known.is_empty() && !known.contains(name.as_str()));
        empty.cloned().collect::<Vec<_>>().into_iter()
    }

    /// The channels to ask the update service for at first.
    pub fn first(&self) -> BTreeSet<String> {
        self.here.iter().chain(&self.named).cloned().collect()
    }

    /// The channels that releases of this graph are in and that were not asked for: between the
    /// minor version of the cluster and that of the goal.
    pub fn unasked(
        &self,
        graph: &Graph,
        asked: &BTreeSet<String>,
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
        let unasked = wanted.filter(|channel| !asked.contains(*channel));
        unasked.map(str::to_owned).collect()
    }

    /// Whether a plan may use a channel.
    pub(super) fn allow(&self, channel: &str) -> bool {
        let nobody_chose = self.here.is_none() && self.named.is_empty();
        let of_a_kind = || family(channel).is_some_and(|(kind, _)| self.families.contains(kind));
        nobody_chose
            || self.here.as_deref() == Some(channel)
            || self.named.contains(channel)
            || of_a_kind()
    }

    /// The channels in which a cluster gets to see an update; nothing where releases do not say in
    /// which channels they are, so that it is seen in every one.
    pub(super) fn of(&self, graph: &Graph, edge: Edge) -> Option<BTreeSet<String>> {
        let (from, to) = (graph.node(edge.from), graph.node(edge.to));
        if from.channels().next().is_none() || to.channels().next().is_none() {
            return None;
        }
        let both = from.channels().filter(|channel| to.channels().any(|other| other == *channel));
        Some(both.filter(|channel| self.allow(channel)).map(str::to_owned).collect())
    }

    /// The releases that a plan may lead to; where no channel has one, those that there are.
    pub(super) fn preferred(&self, graph: &Graph, releases: Vec<NodeId>) -> Vec<NodeId> {
        let is_seen = |id: &NodeId| {
            let mut channels = graph.node(*id).channels().peekable();
            channels.peek().is_none() || channels.any(|channel| self.allow(channel))
        };
        let seen: Vec<NodeId> = releases.iter().copied().filter(is_seen).collect();
        if seen.is_empty() { releases } else { seen }
    }

    /// Whether some channel shows an update.
    pub(super) fn show(&self, graph: &Graph, edge: Edge) -> bool {
        self.of(graph, edge).is_none_or(|channels| !channels.is_empty())
    }

    /// For every step of a way, the channel to choose before it, where the one followed so far does
    /// not show it: the one that shows the most of what comes after.
    pub(super) fn changes(&self, graph: &Graph, steps: &[Edge]) -> Vec<Option<String>> {
        let seen_in: Vec<_> = steps.iter().map(|edge| self.of(graph, *edge)).collect();
        let show = |channels: &Option<BTreeSet<String>>, channel: &str| {
            channels.as_ref().is_none_or(|channels| channels.contains(channel))
        };
        let mut here = self.here.clone();
        let mut changes = Vec::new();
        for (place, channels) in seen_in.iter().enumerate() {
            let stays = here.as_deref().is_some_and(|here| show(channels, here));
            let Some(channels) = channels.as_ref().filter(|_| !stays) else {
                changes.push(None);
                continue;
            };
            let lasts = |channel: &String| {
                seen_in[place..].iter().take_while(|later| show(later, channel)).count()
            };
            let stream = |channel: &String| family(channel).map(|(_, stream)| stream);
            here = channels.iter().max_by_key(|it| (lasts(it), stream(it))).cloned();
            changes.push(here.clone());
        }
        changes
    }
}
