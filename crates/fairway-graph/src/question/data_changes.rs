//! What is different between two states of graph-data.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use fairway_api::Version;
use serde::Serialize;

use crate::data::{Block, Effect, GraphData, Listed};

/// What is different in a second state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DataChanges {
    /// Blocks that came, went or say something else, by file.
    pub blocks: BTreeMap<String, BlockChange>,
    /// Channels whose versions changed, by name.
    pub channels: BTreeMap<String, ChannelChange>,
}

/// What became of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "change")]
pub enum BlockChange {
    /// It came.
    Added {
        /// What it says.
        says: String,
    },
    /// It went.
    Removed {
        /// What it said.
        said: String,
    },
    /// It says something else.
    Changed {
        /// What it said.
        said: String,
        /// What it says.
        says: String,
    },
}

/// What became of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ChannelChange {
    /// Versions that came.
    pub added: Vec<String>,
    /// Versions that went.
    pub removed: Vec<String>,
}

impl DataChanges {
    /// What is different in `after`.
    pub fn between(before: &GraphData, after: &GraphData) -> Self {
        Self { blocks: blocks(before, after), channels: channels(before, after) }
    }

    /// Whether nothing is different.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn blocks(before: &GraphData, after: &GraphData) -> BTreeMap<String, BlockChange> {
    let by_file = |data: &GraphData| -> BTreeMap<String, String> {
        data.blocks.iter().map(|block| (block.file.clone(), summary(block))).collect()
    };
    let (old, new) = (by_file(before), by_file(after));
    let files: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let change = |file: &String| match (old.get(file).cloned(), new.get(file).cloned()) {
        (None, Some(says)) => Some(BlockChange::Added { says }),
        (Some(said), None) => Some(BlockChange::Removed { said }),
        (Some(said), Some(says)) if said != says => Some(BlockChange::Changed { said, says }),
        _ => None,
    };
    files.into_iter().filter_map(|file| Some((file.clone(), change(file)?))).collect()
}

/// What a block says, in one line.
fn summary(block: &Block) -> String {
    let updates = format!("updates to {} from {}", block.to, block.from.text());
    match &block.effect {
        Effect::Removes => format!("{updates} are removed"),
        Effect::Risks(risk) => {
            let rules = serde_json::to_string(&risk.matching_rules).unwrap_or_default();
            format!("{updates} have {}: {} {} {rules}", risk.name, risk.message.trim(), risk.url)
        }
    }
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

/// A version and its architecture, which versions do not compare.
type Key = (Version, String);

fn keys(listed: &[Listed]) -> BTreeSet<Key> {
    listed
        .iter()
        .map(|listed| (listed.version.clone(), listed.version.build().to_owned()))
        .collect()
}

impl fmt::Display for DataChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("no difference");
        }
        let mut lines: Vec<String> = Vec::new();
        for (file, change) in &self.blocks {
            lines.push(match change {
                BlockChange::Added { says } => format!("+ {file}: {says}"),
                BlockChange::Removed { said } => format!("- {file}: {said}"),
                BlockChange::Changed { said, says } => format!("~ {file}: {said}\n  => {says}"),
            });
        }
        for (name, ChannelChange { added, removed }) in &self.channels {
            lines.extend(added.iter().map(|version| format!("+ {name}: {version}")));
            lines.extend(removed.iter().map(|version| format!("- {name}: {version}")));
        }
        f.write_str(&lines.join("\n"))
    }
}
