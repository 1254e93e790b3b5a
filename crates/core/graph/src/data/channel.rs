//! Files in `channels`: the versions of a channel.

use std::collections::BTreeMap;

use fairway_api::{Version, read};
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::finding::{DataFinding, DataProblem, Position, error_message};

/// Versions in one file. The longest list of OpenShift's graph-data has 226.
const MAX_VERSIONS: usize = 5_000;

/// Invalid versions in one file. With more of them, the file is not a channel.
const MAX_BAD_VERSIONS: usize = 20;

/// A channel and its versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Path of the file.
    pub file: String,
    /// Name, such as `stable-5.1`.
    pub name: String,
    /// Versions of the channel.
    pub versions: Vec<ListedVersion>,
    /// Versions of the feeder that must not be promoted to this channel.
    pub tombstones: Vec<ListedVersion>,
    /// Channel from which versions are promoted.
    pub feeder: Option<Feeder>,
}

/// A version in a list of a channel file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedVersion {
    /// The version, for all architectures unless it names one.
    pub version: Version,
    /// Position in the file.
    pub at: Position,
}

/// The `feeder` field of a channel: the source of its versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Feeder {
    /// Channel, or prefix of several channels, from which versions are promoted.
    pub name: Option<String>,
    /// Time before promotion, as an ISO 8601 duration.
    pub delay: Option<String>,
    /// Whether versions are promoted as soon as their errata are public.
    pub errata: Option<String>,
    /// Regular expression of the promoted versions.
    pub filter: Option<String>,
}

/// Fields of a channel file.
#[derive(Deserialize)]
struct ChannelFile {
    name: Option<Spanned<String>>,
    #[serde(default)]
    versions: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    tombstones: Option<Vec<Spanned<String>>>,
    feeder: Option<Feeder>,
}

/// Reads one channel. Invalid versions are skipped and reported.
pub(super) fn read(path: &str, bytes: &[u8], findings: &mut Vec<DataFinding>) -> Option<Channel> {
    let mut report = |problem: DataProblem, position| findings.push(problem.at(path, position));
    let written: ChannelFile = match read::document(path, bytes) {
        Ok(written) => written,
        Err(error) => {
            let (why, position) = error_message(error);
            report(DataProblem::UnreadableChannel { why }, position);
            return None;
        }
    };
    let Some(name) = written.name else {
        report(DataProblem::UnnamedChannel, None);
        return None;
    };
    if !is_channel_name(&name.value) {
        let position = Position::from(&name);
        report(DataProblem::BadChannelName { name: name.value }, Some(position));
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
        report(DataProblem::UnreadableChannel { why }, None);
        return None;
    }
    for (text, at) in bad {
        report(DataProblem::BadVersion { text }, Some(at));
    }
    let (file, name) = (path.to_owned(), name.value);
    Some(Channel { file, name, versions, tombstones, feeder: written.feeder })
}

/// Parses a list of versions; invalid entries are added to `bad`.
fn listed(
    list: Option<Vec<Spanned<String>>>,
    bad: &mut Vec<(String, Position)>,
) -> Vec<ListedVersion> {
    let mut versions = Vec::new();
    for text in list.unwrap_or_default() {
        let at = Position::from(&text);
        match Version::parse(&text.value) {
            Ok(version) => versions.push(ListedVersion { version, at }),
            Err(_) => bad.push((text.value, at)),
        }
    }
    versions
}

/// Whether clients can request a channel with this name.
fn is_channel_name(name: &str) -> bool {
    let allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    !name.is_empty() && name.bytes().all(allowed)
}

/// Merges channels with the same name, sorted by name.
pub(super) fn merge(channels: Vec<Channel>, findings: &mut Vec<DataFinding>) -> Vec<Channel> {
    let mut by_name: BTreeMap<String, Channel> = BTreeMap::new();
    for channel in channels {
        let Some(known) = by_name.get_mut(&channel.name) else {
            by_name.insert(channel.name.clone(), channel);
            continue;
        };
        findings.push(DataProblem::ChannelTwice { name: channel.name }.at(&channel.file, None));
        known.versions.extend(channel.versions);
        known.tombstones.extend(channel.tombstones);
    }
    by_name.into_values().collect()
}
