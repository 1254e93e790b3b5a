//! The version of the schema that graph-data follows.

use fairway_api::Version;

use super::finding::{Finding, Problem};
use super::{Refusal, SCHEMA};
use crate::files::Files;

/// The newest schema whose every word this program knows.
pub(super) const NEWEST: Version = Version::new(1, 2, 0);

/// Reads it. A new minor version adds what may be ignored; a new major one changes meanings.
pub(super) fn read(files: &Files, findings: &mut Vec<Finding>) -> Result<Version, Refusal> {
    let bytes = files.get(SCHEMA).ok_or(Refusal::NoSchema)?;
    let text = String::from_utf8_lossy(bytes);
    let schema = Version::parse(text.trim())
        .map_err(|_| Refusal::BadSchema { text: text.chars().take(80).collect() })?;
    if schema.major() != NEWEST.major() {
        return Err(Refusal::UnknownSchema { schema });
    }
    if schema.minor() > NEWEST.minor() {
        findings.push(Problem::NewerSchema { schema: schema.to_string() }.at(SCHEMA, None));
    }
    Ok(schema)
}
