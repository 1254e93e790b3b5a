//! Graph-data: what its maintainers say about releases, in files.
//!
//! Reading it fails closed. Whatever names a target and where to come from blocks that update;
//! what is missing or unreadable makes a block wider, never narrower, and is a [`Finding`].

mod block;
mod channel;
mod finding;
mod pattern;
mod positions;
mod raw;
mod salvage;
mod schema;

pub use block::{Block, Effect};
pub use channel::{Channel, Feeder, Listed};
pub use finding::{Finding, Place, Position, Problem, Severity};
pub use pattern::Pattern;
pub use positions::{Positions, Query};
pub use raw::RawMetadata;

use fairway_api::Version;

use crate::files::Files;
use pattern::Patterns;

/// Where block files are.
pub const BLOCKED_EDGES: &str = "blocked-edges";

/// Where channel files are.
pub const CHANNELS: &str = "channels";

/// Where metadata for single releases is.
pub const RAW_METADATA: &str = "raw/metadata.json";

/// Where the version of the schema is.
pub const SCHEMA: &str = "version";

/// What the maintainers of graph-data say.
#[derive(Clone, Debug)]
pub struct GraphData {
    /// The version of its schema.
    pub schema: Version,
    /// The blocks, in the order of their files.
    pub blocks: Vec<Block>,
    /// The channels, by name.
    pub channels: Vec<Channel>,
    /// Metadata for single releases.
    pub raw: RawMetadata,
    /// What is wrong in it, in the order of the files.
    pub findings: Vec<Finding>,
}

/// Why graph-data cannot be used at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no version of the schema.
    #[error("file {SCHEMA} with the schema version is missing")]
    NoSchema,
    /// What is there is not a version.
    #[error("{SCHEMA} contains {text:?}, which is not a version")]
    BadSchema {
        /// What is there.
        text: String,
    },
    /// The files follow a schema that means something else.
    #[error("unsupported schema version {schema} in {SCHEMA}; the supported version is 1")]
    UnknownSchema {
        /// The version of the schema.
        schema: Version,
    },
    /// There is not one channel: no graph-data, or half of it.
    #[error("no channels in {CHANNELS}")]
    NoChannels,
    /// Metadata for single releases, which may withdraw some of them, is unreadable.
    #[error("{place}: {why}")]
    RawMetadata {
        /// Where.
        place: Place,
        /// Why.
        why: String,
    },
}

impl Default for GraphData {
    /// Graph-data that says nothing.
    fn default() -> Self {
        Self {
            schema: schema::NEWEST,
            blocks: Vec::new(),
            channels: Vec::new(),
            raw: RawMetadata::default(),
            findings: Vec::new(),
        }
    }
}

impl GraphData {
    /// Reads graph-data. What is wrong in single files is found, and does not stop the rest.
    pub fn read(files: &Files) -> Result<Self, Refusal> {
        let mut findings = Vec::new();
        let schema = schema::read(files, &mut findings)?;
        let raw = raw::read(files)?;
        let channels: Vec<Channel> = yaml_files(files, CHANNELS, &mut findings)
            .into_iter()
            .filter_map(|(path, bytes)| channel::read(path, bytes, &mut findings))
            .collect();
        let channels = channel::merge(channels, &mut findings);
        if channels.is_empty() {
            return Err(Refusal::NoChannels);
        }
        let mut patterns = Patterns::default();
        let blocks = yaml_files(files, BLOCKED_EDGES, &mut findings)
            .into_iter()
            .filter_map(|(path, bytes)| block::read(path, bytes, &mut patterns, &mut findings))
            .collect();
        findings.sort_by(|one, other| one.place.cmp(&other.place));
        Ok(Self { schema, blocks, channels, raw, findings })
    }
}

/// The YAML files of a directory; the others are found, except for those that begin with `_` or
/// are called `OWNERS` or `README`, which directories of a repository have.
fn yaml_files<'a>(
    files: &'a Files,
    directory: &'a str,
    findings: &mut Vec<Finding>,
) -> Vec<(&'a str, &'a [u8])> {
    let mut found = Vec::new();
    for (path, bytes) in files.below(directory) {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name.rsplit_once('.') {
            Some((_, "yaml")) => found.push((path, bytes)),
            Some((_, "yml")) => {
                findings.push(Problem::Yml.at(path, None));
                found.push((path, bytes));
            }
            _ if name.starts_with(['_', '.'])
                || name.starts_with("OWNERS")
                || name.starts_with("README") => {}
            _ => findings.push(Problem::NotYaml.at(path, None)),
        }
    }
    found
}
