//! `raw/metadata.json`: metadata that maintainers add to single releases.

use std::collections::BTreeMap;

use fairway_api::Version;
use fairway_api::read;

use super::finding::{Place, reason};
use super::{RAW_METADATA, Refusal};
use crate::files::Files;

/// Metadata by version. A version without an architecture means all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawMetadata(pub Vec<(Version, BTreeMap<String, String>)>);

/// Reads it. It may withdraw updates, so an unreadable one is refused; it may be missing.
pub(super) fn read(files: &Files) -> Result<RawMetadata, Refusal> {
    let Some(bytes) = files.get(RAW_METADATA) else { return Ok(RawMetadata::default()) };
    let by_version: BTreeMap<String, BTreeMap<String, String>> =
        read::document(RAW_METADATA, bytes).map_err(|error| {
            let (why, position) = reason(error);
            Refusal::RawMetadata { place: Place { file: RAW_METADATA.to_owned(), position }, why }
        })?;
    let mut entries = Vec::with_capacity(by_version.len());
    for (text, metadata) in by_version {
        let version = Version::parse(&text).map_err(|error| Refusal::RawMetadata {
            place: Place::file(RAW_METADATA),
            why: error.to_string(),
        })?;
        entries.push((version, metadata));
    }
    Ok(RawMetadata(entries))
}
