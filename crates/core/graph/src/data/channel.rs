//! One file of `channels`: which versions are in a channel.

use std::collections::BTreeMap;

use fairway_api::{Version, read};
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::finding::{Finding, Position, Problem, reason};

/// Versions that one file lists. The longest real list has 226.
const MAX_VERSIONS: usize = 5_000;

/// What may be listed without being a version; with more of that, the file is none of a channel.
const MAX_BAD_VERSIONS: usize = 20;

/// A channel: versions that clusters which follow it get to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Its file.
    pub file: String,
    /// Its name, such as `stable-5.1`.
    pub name: String,
    /// The versions in it.
    pub versions: Vec<Listed>,
    /// Versions that must not come into it, although its feeder has them.
    pub tombstones: Vec<Listed>,
    /// The channel from which versions come into it.
    pub feeder: Option<Feeder>,
}

/// A version in a list of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The version; all its architectures, unless it names one.
    pub version: Version,
    /// Where it is.
    pub at: Position,
}

/// Where the versions of a channel come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Feeder {
    /// The channel, or the kind of channel, that they come from.
    pub name: Option<String>,
    /// How long they stay there first, as an ISO 8601 duration.
    pub delay: Option<String>,
    /// Whether they come as soon as their errata are public.
    pub errata: Option<String>,
    /// The versions that come, as a regular expression.
    pub filter: Option<String>,
}

/// A channel file as it is written.
#[derive(Deserialize)]
struct Written {
    name: Option<Spanned<String>>,
    #[serde(default)]
    versions: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    tombstones: Option<Vec<Spanned<String>>>,
    feeder: Option<Feeder>,
}

/// Reads one channel. What is unreadable in it is left out.
pub(super) fn read(path: &str, bytes: &[u8], findings: &mut Vec<Finding>) -> Option<Channel> {
    let mut found = |problem: Problem, position| findings.push(problem.at(path, position));
    let written: Written = match read::document(path, bytes) {
        Ok(written) => written,
        Err(error) => {
            let (why, position) = reason(error);
            found(Problem::UnreadableChannel { why }, position);
            return None;
        }
    };
    let Some(name) = written.name else {
        found(Problem::UnnamedChannel, None);
        return None;
    };
    if !is_channel_name(&name.value) {
        let position = Position::from(&name);
        found(Problem::BadChannelName { name: name.value }, Some(position));
        return None;
    }
    let mut bad = Vec::new();
    let versions = listed(written.versions, &mut bad);
    let tombstones = listed(written.tombstones, &mut bad);
    let why = if versions.len() + tombstones.len() > MAX_VERSIONS {
        Some(format!("more than {MAX_VERSIONS} versions"))
    } else if bad.len() > MAX_BAD_VERSIONS {
        Some(format!("more than {MAX_BAD_VERSIONS} invalid versions"))
    } else {
        None
    };
    if let Some(why) = why {
        found(Problem::UnreadableChannel { why }, None);
        return None;
    }
    for (text, at) in bad {
        found(Problem::BadVersion { text }, Some(at));
    }
    let (file, name) = (path.to_owned(), name.value);
    Some(Channel { file, name, versions, tombstones, feeder: written.feeder })
}

/// The versions of a list; what is none of them goes elsewhere.
fn listed(list: Option<Vec<Spanned<String>>>, bad: &mut Vec<(String, Position)>) -> Vec<Listed> {
    let mut versions = Vec::new();
    for text in list.unwrap_or_default() {
        let at = Position::from(&text);
        match Version::parse(&text.value) {
            Ok(version) => versions.push(Listed { version, at }),
            Err(_) => bad.push((text.value, at)),
        }
    }
    versions
}

/// Whether clients can ask for a channel of that name.
fn is_channel_name(name: &str) -> bool {
    let allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    !name.is_empty() && name.bytes().all(allowed)
}

/// Channels by name; one that is in several files has the versions of all of them.
pub(super) fn merge(channels: Vec<Channel>, findings: &mut Vec<Finding>) -> Vec<Channel> {
    let mut by_name: BTreeMap<String, Channel> = BTreeMap::new();
    for channel in channels {
        let Some(known) = by_name.get_mut(&channel.name) else {
            by_name.insert(channel.name.clone(), channel);
            continue;
        };
        findings.push(Problem::ChannelTwice { name: channel.name }.at(&channel.file, None));
        known.versions.extend(channel.versions);
        known.tombstones.extend(channel.tombstones);
    }
    by_name.into_values().collect()
}
