//! What graph-data says about single releases, written to their metadata.

use std::collections::BTreeSet;

use crate::data::{Channel, RawMetadata};
use crate::graph::{Node, key, of_version};

/// Adds metadata. Where a release has some under the same key, both count, as in a list.
pub(super) fn raw_metadata(nodes: &mut [Node], raw: &RawMetadata) {
    for (version, metadata) in &raw.0 {
        for index in of_version(nodes, version) {
            let Some(release) = &mut nodes[index].release else { continue };
            for (key, text) in metadata {
                let known = release.metadata.entry(key.clone()).or_default();
                if !known.is_empty() {
                    known.push(',');
                }
                known.push_str(text);
            }
        }
    }
}

/// Writes the channels of every release to its metadata.
pub(super) fn channels(nodes: &mut [Node], channels: &[Channel]) {
    let mut of_nodes: Vec<BTreeSet<(&str, &str)>> = vec![BTreeSet::new(); nodes.len()];
    for channel in channels {
        for listed in &channel.versions {
            for index in of_version(nodes, &listed.version) {
                of_nodes[index].insert(order(&channel.name));
            }
        }
    }
    for (node, added) in nodes.iter_mut().zip(of_nodes) {
        let own: Vec<String> = node.channels().map(str::to_owned).collect();
        let Some(release) = node.release.as_mut().filter(|_| !added.is_empty()) else { continue };
        let all: BTreeSet<_> =
            added.into_iter().chain(own.iter().map(|name| order(name))).collect();
        let names: Vec<&str> = all.into_iter().map(|(_, name)| name).collect();
        release.metadata.insert(key::CHANNELS.to_owned(), names.join(","));
    }
}

/// Channels are listed by stream, which is what follows the first hyphen, then by name.
fn order(name: &str) -> (&str, &str) {
    (name.split_once('-').map_or("", |(_, stream)| stream), name)
}
