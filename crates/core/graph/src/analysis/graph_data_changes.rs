//! Differences between two versions of graph-data.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use fairway_api::Version;
use fairway_api::cluster_version::MatchingRule;
use schemars::JsonSchema;
use serde::Serialize;

use crate::data::{BlockedEdge, BlockedEdgeEffect, GraphData, ListedVersion};
use crate::risk::Risk;

/// Differences between two versions of graph-data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "DataChanges")]
pub struct GraphDataChanges {
    /// Blocked edges that are added, removed or changed, by file.
    pub blocks: BTreeMap<String, BlockedEdgeChange>,
    /// Channels whose versions have changed, by name.
    pub channels: BTreeMap<String, ChannelChange>,
}

/// Difference of one file with blocked edges.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "BlockChange")]
pub struct BlockedEdgeChange {
    /// Old content, unless the file is added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<BlockedEdgeContent>,
    /// New content, unless the file is removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<BlockedEdgeContent>,
}

/// Content of a file with blocked edges.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Statement")]
pub struct BlockedEdgeContent {
    /// Target version of the blocked updates.
    pub to: String,
    /// Pattern of the source versions of the blocked updates.
    pub from: String,
    /// Risk of the updates. Without a risk, the updates are removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
}

/// Difference of one channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChannelChange {
    /// Added versions.
    pub added: Vec<String>,
    /// Removed versions.
    pub removed: Vec<String>,
}

impl GraphDataChanges {
    /// Compares two versions of graph-data.
    pub fn between(before: &GraphData, after: &GraphData) -> Self {
        Self { blocks: blocks(before, after), channels: channels(before, after) }
    }

    /// Whether the versions are equal.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn blocks(before: &GraphData, after: &GraphData) -> BTreeMap<String, BlockedEdgeChange> {
    let by_file = |data: &GraphData| -> BTreeMap<String, BlockedEdgeContent> {
        data.blocks
            .iter()
            .map(|block| (block.file.clone(), BlockedEdgeContent::new(block)))
            .collect()
    };
    let (mut old, mut new) = (by_file(before), by_file(after));
    let files: BTreeSet<String> = old.keys().chain(new.keys()).cloned().collect();
    files
        .into_iter()
        .map(|file| {
            let (old, new) = (old.remove(&file), new.remove(&file));
            (file, BlockedEdgeChange { old, new })
        })
        .filter(|(_, change)| change.old != change.new)
        .collect()
}

impl BlockedEdgeContent {
    fn new(block: &BlockedEdge) -> Self {
        let risk = match &block.effect {
            BlockedEdgeEffect::Removes => None,
            BlockedEdgeEffect::Risks(risk) => Some(Risk::clone(risk)),
        };
        Self { to: block.to.to_string(), from: block.from.text().to_owned(), risk }
    }

    /// Fields and their values.
    fn properties(&self) -> [(&'static str, String); 6] {
        let risk = self.risk.as_ref();
        let of_risk = |text: fn(&Risk) -> String| risk.map_or_else(|| "none".to_owned(), text);
        [
            ("to", self.to.clone()),
            ("from", self.from.clone()),
            ("name", of_risk(|risk| risk.name.clone())),
            ("url", of_risk(|risk| risk.url.clone())),
            ("message", of_risk(|risk| risk.message.trim().to_owned())),
            ("matchingRules", of_risk(|risk| rules(&risk.matching_rules))),
        ]
    }
}

/// Rules in one line.
fn rules(rules: &[MatchingRule]) -> String {
    let text = |rule: &MatchingRule| match &rule.promql {
        Some(query) => query.promql.split_whitespace().collect::<Vec<_>>().join(" "),
        None => rule.type_.to_string(),
    };
    rules.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn channels(before: &GraphData, after: &GraphData) -> BTreeMap<String, ChannelChange> {
    let by_name = |data: &GraphData| -> BTreeMap<String, BTreeSet<Key>> {
        data.channels
            .iter()
            .map(|channel| (channel.name.clone(), keys(&channel.versions)))
            .collect()
    };
    let (old, new) = (by_name(before), by_name(after));
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let none = BTreeSet::new();
    let mut changes = BTreeMap::new();
    for name in names {
        let (old, new) = (old.get(name).unwrap_or(&none), new.get(name).unwrap_or(&none));
        if old != new {
            let text = |(version, _): &Key| version.to_string();
            let change = ChannelChange {
                added: new.difference(old).map(text).collect(),
                removed: old.difference(new).map(text).collect(),
            };
            changes.insert(name.clone(), change);
        }
    }
    changes
}

/// A version and its architecture, which the order of versions ignores.
type Key = (Version, String);

fn keys(listed: &[ListedVersion]) -> BTreeSet<Key> {
    listed
        .iter()
        .map(|listed| (listed.version.clone(), listed.version.build().to_owned()))
        .collect()
}

impl fmt::Display for BlockedEdgeContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { to, from, risk } = self;
        match risk {
            None => write!(f, "removes updates to {to} from {from}"),
            Some(risk) => write!(f, "risk {} for updates to {to} from {from}", risk.name),
        }
    }
}

impl BlockedEdgeChange {
    /// Lines of the change, starting with the file.
    fn lines(&self, file: &str) -> Vec<String> {
        match (&self.old, &self.new) {
            (None, Some(after)) => vec![format!("+ {file}: {after}")],
            (Some(before), None) => vec![format!("- {file}: {before}")],
            (Some(before), Some(after)) => {
                let properties = before.properties().into_iter().zip(after.properties());
                let different = properties.filter(|(before, after)| before != after);
                let line =
                    |((name, before), (_, after))| format!("    {name}: {before} => {after}");
                std::iter::once(format!("~ {file}")).chain(different.map(line)).collect()
            }
            (None, None) => Vec::new(),
        }
    }
}

impl fmt::Display for GraphDataChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("no difference");
        }
        let mut lines: Vec<String> = Vec::new();
        for (file, change) in &self.blocks {
            lines.extend(change.lines(file));
        }
        for (name, ChannelChange { added, removed }) in &self.channels {
            lines.extend(added.iter().map(|version| format!("+ {name}: {version}")));
            lines.extend(removed.iter().map(|version| format!("- {name}: {version}")));
        }
        f.write_str(&lines.join("\n"))
    }
}
