//! A node of the graph as the status of a cluster has it.

use fairway_api::cluster_version::{Architecture, Release};
use fairway_api::limits;
use fairway_graph::Node;
use fairway_graph::graph::key;
use url::Url;

use crate::problem::Problem;

/// Bytes of the name of an image: registries take no longer ones.
const MAX_IMAGE: usize = 1024;

/// Bytes of all channels of a release: many times as many as any has.
const MAX_CHANNELS: usize = 8 << 10;

/// What the metadata of a release calls the address where people read about it.
pub const URL: &str = "url";

/// The release of a node. What only describes it may be missing; the rest has to make sense.
pub fn release(node: &Node, problems: &mut Vec<Problem>) -> Result<Release, Problem> {
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
        url: link(&version, node.metadata(URL), problems),
        channels: channels(&version, node.metadata(key::CHANNELS), problems),
        version,
        ..Release::default()
    })
}

/// Where people read about a release. Consoles make links of it, so not everything goes.
pub fn link(version: &str, text: Option<&str>, problems: &mut Vec<Problem>) -> Option<String> {
    let text = text.filter(|text| !text.is_empty())?;
    let usable = |url: Url| url.has_host() && matches!(url.scheme(), "http" | "https");
    if text.len() <= limits::URL && Url::parse(text).is_ok_and(usable) {
        return Some(text.to_owned());
    }
    problems.push(Problem::Url { version: version.to_owned(), text: text.to_owned() });
    None
}

/// The channels that a release is in, each once, by name.
pub fn channels(version: &str, list: Option<&str>, problems: &mut Vec<Problem>) -> Vec<String> {
    let list = list.unwrap_or_default();
    if list.len() > MAX_CHANNELS {
        problems.push(Problem::Channels { version: version.to_owned(), size: list.len() });
        return Vec::new();
    }
    let named = list.split(',').map(str::trim).filter(|channel| !channel.is_empty());
    let mut channels: Vec<String> = named.map(str::to_owned).collect();
    channels.sort_unstable();
    channels.dedup();
    channels
}
