//! Graph-data: `version`, `channels/`, `blocked-edges/` and `raw/metadata.json`.
//!
//! Reading fails closed. A file that names a target version blocks updates to it. Missing and
//! invalid fields make a block wider, never narrower, and are reported as a [`DataFinding`].

mod blocked_edge;
mod channel;
mod finding;
mod pattern;

pub use blocked_edge::{BlockedEdge, BlockedEdgeEffect};
pub use channel::{Channel, Feeder, ListedVersion};
pub use finding::{DataFinding, DataProblem, FileLocation, Position, Severity};
pub use pattern::VersionPattern;

use std::collections::BTreeMap;

use fairway_api::{Version, read};
use finding::error_message;
use pattern::PatternCache;

use crate::files::Files;

/// Directory of files with blocked edges.
pub const BLOCKED_EDGES: &str = "blocked-edges";

/// Directory of channel files.
pub const CHANNELS: &str = "channels";

/// Path of the metadata of single releases.
pub const RAW_METADATA: &str = "raw/metadata.json";

/// Path of the schema version.
pub const SCHEMA: &str = "version";

/// Content of a graph-data directory.
#[derive(Clone, Debug)]
pub struct GraphData {
    /// Schema version.
    pub schema: Version,
    /// Blocked edges, by file.
    pub blocks: Vec<BlockedEdge>,
    /// Channels, by name.
    pub channels: Vec<Channel>,
    /// Metadata of single releases.
    pub raw: RawMetadata,
    /// Problems, by file.
    pub findings: Vec<DataFinding>,
}

/// Reason why graph-data cannot be used at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphDataError {
    /// The file with the schema version is missing.
    #[error("file {SCHEMA} with the schema version is missing")]
    NoSchema,
    /// The schema version is invalid.
    #[error("{SCHEMA} contains {text:?}, which is not a version")]
    BadSchema {
        /// Content of the file.
        text: String,
    },
    /// The major schema version is not supported.
    #[error("unsupported schema version {schema} in {SCHEMA}; the supported version is 1")]
    UnknownSchema {
        /// Schema version.
        schema: Version,
    },
    /// There are no channels: not graph-data, or an incomplete copy.
    #[error("no channels in {CHANNELS}")]
    NoChannels,
    /// `raw/metadata.json`, which may remove updates, is invalid.
    #[error("{place}: {why}")]
    RawMetadata {
        /// Location of the error.
        place: FileLocation,
        /// Parse error.
        why: String,
    },
}

impl Default for GraphData {
    /// Graph-data without channels and blocked edges.
    fn default() -> Self {
        Self {
            schema: NEWEST_SCHEMA,
            blocks: Vec::new(),
            channels: Vec::new(),
            raw: RawMetadata::default(),
            findings: Vec::new(),
        }
    }
}

impl GraphData {
    /// Reads graph-data. Problems in single files are reported as findings and do not stop the
    /// read.
    pub fn read(files: &Files) -> Result<Self, GraphDataError> {
        let mut findings = Vec::new();
        let schema = read_schema(files, &mut findings)?;
        let raw = read_raw_metadata(files)?;
        let channels: Vec<Channel> = yaml_files(files, CHANNELS, &mut findings)
            .into_iter()
            .filter_map(|(path, bytes)| channel::read(path, bytes, &mut findings))
            .collect();
        let channels = channel::merge(channels, &mut findings);
        if channels.is_empty() {
            return Err(GraphDataError::NoChannels);
        }
        let mut patterns = PatternCache::default();
        let blocks = yaml_files(files, BLOCKED_EDGES, &mut findings)
            .into_iter()
            .filter_map(|(path, bytes)| {
                blocked_edge::read(path, bytes, &mut patterns, &mut findings)
            })
            .collect();
        findings.sort_by(|one, other| one.place.cmp(&other.place));
        Ok(Self { schema, blocks, channels, raw, findings })
    }
}

/// The YAML files of a directory. Other files are reported, except hidden files, `_…`, `OWNERS` and
/// `README`, which are usual in repositories.
fn yaml_files<'a>(
    files: &'a Files,
    directory: &'a str,
    findings: &mut Vec<DataFinding>,
) -> Vec<(&'a str, &'a [u8])> {
    let mut found = Vec::new();
    for (path, bytes) in files.below(directory) {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name.rsplit_once('.') {
            Some((_, "yaml")) => found.push((path, bytes)),
            Some((_, "yml")) => {
                findings.push(DataProblem::Yml.at(path, None));
                found.push((path, bytes));
            }
            _ if name.starts_with(['_', '.'])
                || name.starts_with("OWNERS")
                || name.starts_with("README") => {}
            _ => findings.push(DataProblem::NotYaml.at(path, None)),
        }
    }
    found
}

/// Newest supported schema version.
const NEWEST_SCHEMA: Version = Version::new(1, 2, 0);

/// Reads the schema version. Minor versions add optional fields; major versions change the meaning
/// of fields.
fn read_schema(files: &Files, findings: &mut Vec<DataFinding>) -> Result<Version, GraphDataError> {
    let bytes = files.get(SCHEMA).ok_or(GraphDataError::NoSchema)?;
    let text = String::from_utf8_lossy(bytes);
    let schema = Version::parse(text.trim())
        .map_err(|_| GraphDataError::BadSchema { text: text.chars().take(80).collect() })?;
    if schema.major() != NEWEST_SCHEMA.major() {
        return Err(GraphDataError::UnknownSchema { schema });
    }
    if schema.minor() > NEWEST_SCHEMA.minor() {
        findings.push(DataProblem::NewerSchema { schema: schema.to_string() }.at(SCHEMA, None));
    }
    Ok(schema)
}

/// Metadata by version. A version without an architecture applies to all architectures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawMetadata(pub Vec<(Version, BTreeMap<String, String>)>);

/// Reads `raw/metadata.json`, which is optional. It may remove updates, so an invalid file is an
/// error.
fn read_raw_metadata(files: &Files) -> Result<RawMetadata, GraphDataError> {
    let Some(bytes) = files.get(RAW_METADATA) else { return Ok(RawMetadata::default()) };
    let by_version: BTreeMap<String, BTreeMap<String, String>> =
        read::document(RAW_METADATA, bytes).map_err(|error| {
            let (why, position) = error_message(error);
            GraphDataError::RawMetadata {
                place: FileLocation { file: RAW_METADATA.to_owned(), position },
                why,
            }
        })?;
    let mut entries = Vec::with_capacity(by_version.len());
    for (text, metadata) in by_version {
        let version = Version::parse(&text).map_err(|error| GraphDataError::RawMetadata {
            place: FileLocation { file: RAW_METADATA.to_owned(), position: None },
            why: error.to_string(),
        })?;
        entries.push((version, metadata));
    }
    Ok(RawMetadata(entries))
}
