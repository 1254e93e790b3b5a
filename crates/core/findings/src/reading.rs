//! Reading a document that somebody wrote who is not trusted.

use serde::Deserialize as _;
use serde_json::Value;

use crate::document::{Document, ExecutionStatus};
use crate::json::{self, Malformed};
use crate::{FORMAT, lenient, limits, text};

/// Bytes of a document: what a preflight has found is a few sentences for each finding.
pub const MAX_BYTES: usize = 1 << 20;

/// Bytes that are quoted of something unexpected.
const QUOTED: usize = 80;

/// Which document is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected<'a> {
    /// The run.
    pub run: &'a str,
    /// The version of the target.
    pub target_version: &'a str,
    /// The image of the target. Its digest counts: a mirror has the same content.
    pub target_image: &'a str,
}

/// A document as far as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// It. Where findings are missing, one called [`limits::DROPPED`] stands in for them.
    pub document: Document,
    /// What of it was dropped or cut, for people to read.
    pub dropped: Vec<String>,
}

/// Why a document is not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It is too large.
    #[error("the results have {0} bytes; the limit is {MAX_BYTES}")]
    TooLarge(usize),
    /// It is in a format that this release does not know.
    #[error("the results have the unsupported format {0:?}; this release supports {FORMAT:?}")]
    UnknownFormat(String),
    /// It is no document.
    #[error("cannot parse the results: {0}")]
    Invalid(String),
    /// It belongs elsewhere.
    #[error("the results belong to the {what} {found:?}, expected {expected:?}")]
    Mismatch {
        /// What is different.
        what: &'static str,
        /// What the document says.
        found: String,
        /// What it should say.
        expected: String,
    },
}

impl From<Malformed> for ReadError {
    fn from(malformed: Malformed) -> Self {
        Self::Invalid(malformed.to_string())
    }
}

impl Document {
    /// Reads a document of that run. Its fields may have any content, and it may have fields that
    /// nobody knows here; what is not kept of it is told.
    pub fn read(bytes: &[u8], expected: &Expected<'_>) -> Result<Reading, ReadError> {
        let mut reading = Self::read_any(bytes)?;
        reading.document.assume_version(expected.target_version);
        let Self { preflight_id, target_version, target_image, .. } = &reading.document;
        same("run", preflight_id, expected.run)?;
        same("version", target_version, expected.target_version)?;
        same("image", digest(target_image), digest(expected.target_image))?;
        Ok(reading)
    }

    /// Reads a document, whichever run it is of.
    pub fn read_any(bytes: &[u8]) -> Result<Reading, ReadError> {
        if bytes.len() > MAX_BYTES {
            return Err(ReadError::TooLarge(bytes.len()));
        }
        let value = json::parse(bytes)?;
        has_findings(&value)?;
        let document = Self::deserialize(&value);
        let mut document = document.map_err(|error| ReadError::Invalid(error.to_string()))?;
        let dropped = limits::fit(&mut document);
        // Whatever a finding says about it: it is about this target.
        for finding in &mut document.risks {
            finding.target_version.clone_from(&document.target_version);
        }
        Ok(Reading { document, dropped })
    }

    /// A release that could not even read itself does not know its version. Why it failed is worth
    /// hearing all the same, and nothing that it says is an answer.
    fn assume_version(&mut self, version: &str) {
        if self.execution_status == ExecutionStatus::Failed && self.target_version.is_empty() {
            version.clone_into(&mut self.target_version);
            for finding in &mut self.risks {
                version.clone_into(&mut finding.target_version);
            }
        }
    }
}

/// Looks whether it is of this format, and says what was found: a list that is missing would look
/// like one that is empty.
pub(crate) fn has_findings(value: &Value) -> Result<(), ReadError> {
    let Value::Object(fields) = value else {
        return Err(ReadError::Invalid(format!(
            "found {}, expected an object",
            lenient::kind(value)
        )));
    };
    match fields.get("format").and_then(Value::as_str) {
        Some(FORMAT) => {}
        Some(other) => return Err(ReadError::UnknownFormat(text::beginning(other, QUOTED))),
        None => return Err(ReadError::Invalid("field `format` is missing".to_owned())),
    }
    match fields.get("risks") {
        Some(Value::Array(_)) => Ok(()),
        Some(other) => Err(ReadError::Invalid(format!(
            "field `risks` is {}, expected an array",
            lenient::kind(other)
        ))),
        None => Err(ReadError::Invalid("field `risks` is missing".to_owned())),
    }
}

fn same(what: &'static str, found: &str, expected: &str) -> Result<(), ReadError> {
    if found == expected {
        return Ok(());
    }
    let (found, expected) = (text::beginning(found, QUOTED), expected.to_owned());
    Err(ReadError::Mismatch { what, found, expected })
}

/// The digest of an image, or all of its name where it has none.
fn digest(image: &str) -> &str {
    image.rsplit_once('@').map_or(image, |(_, digest)| digest)
}

#[cfg(test)]
mod tests;
