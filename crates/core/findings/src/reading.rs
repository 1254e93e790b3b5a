//! Parser for untrusted documents.

use serde::Deserialize as _;
use serde_json::Value;

use crate::document::{Document, ExecutionStatus};
use crate::json::{self, JsonError};
use crate::{FORMAT, lenient, limits, text};

/// Maximum bytes of a document.
pub const MAX_BYTES: usize = 1 << 20;

/// Maximum bytes of a quoted value.
const MAX_QUOTED_BYTES: usize = 80;

/// Identity of the expected document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedDocument<'a> {
    /// ID of the run.
    pub run: &'a str,
    /// Version of the target release.
    pub target_version: &'a str,
    /// Image of the target release. Only digests are compared: a mirror has the same content.
    pub target_image: &'a str,
}

/// A parsed document.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadDocument {
    /// The document. A finding with the name [`limits::DROPPED`] replaces dropped ones.
    pub document: Document,
    /// What was dropped or truncated, as messages.
    pub dropped: Vec<String>,
}

/// Why a document is not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The document exceeds [`MAX_BYTES`].
    #[error("the results have {0} bytes; the limit is {MAX_BYTES} bytes")]
    TooLarge(usize),
    /// The format is not supported.
    #[error("the results have the unsupported format {0:?}; this release supports {FORMAT:?}")]
    UnknownFormat(String),
    /// The document is invalid.
    #[error("cannot parse the results: {0}")]
    Invalid(String),
    /// The document belongs to another run or release.
    #[error("the results belong to the {what} {found:?}, expected {expected:?}")]
    Mismatch {
        /// The field that differs.
        what: &'static str,
        /// Value in the document.
        found: String,
        /// Expected value.
        expected: String,
    },
}

impl From<JsonError> for ReadError {
    fn from(malformed: JsonError) -> Self {
        Self::Invalid(malformed.to_string())
    }
}

impl Document {
    /// Parses the document of a run. Unknown fields are ignored, and invalid values converted.
    pub fn read(bytes: &[u8], expected: &ExpectedDocument<'_>) -> Result<ReadDocument, ReadError> {
        let mut reading = Self::read_any(bytes)?;
        reading.document.assume_version(expected.target_version);
        let Self { preflight_id, target_version, target_image, .. } = &reading.document;
        verify_equal("run", preflight_id, expected.run)?;
        verify_equal("version", target_version, expected.target_version)?;
        verify_equal("image", digest(target_image), digest(expected.target_image))?;
        Ok(reading)
    }

    /// Parses a document of any run.
    pub fn read_any(bytes: &[u8]) -> Result<ReadDocument, ReadError> {
        if bytes.len() > MAX_BYTES {
            return Err(ReadError::TooLarge(bytes.len()));
        }
        let value = json::parse(bytes)?;
        verify_format(&value)?;
        let document = Self::deserialize(&value);
        let mut document = document.map_err(|error| ReadError::Invalid(error.to_string()))?;
        let dropped = limits::fit(&mut document);
        // Findings of a document are always about its own target.
        for finding in &mut document.risks {
            finding.target_version.clone_from(&document.target_version);
        }
        Ok(ReadDocument { document, dropped })
    }

    /// A target release that cannot read its own payload does not know its version. Its error is
    /// reported nevertheless; such a document is never complete.
    fn assume_version(&mut self, version: &str) {
        if self.execution_status == ExecutionStatus::Failed && self.target_version.is_empty() {
            version.clone_into(&mut self.target_version);
            for finding in &mut self.risks {
                version.clone_into(&mut finding.target_version);
            }
        }
    }
}

/// Verifies the format and that findings exist. A missing list must not look like an empty one.
pub(crate) fn verify_format(value: &Value) -> Result<(), ReadError> {
    let Value::Object(fields) = value else {
        return Err(ReadError::Invalid(format!(
            "found {}, expected an object",
            lenient::kind(value)
        )));
    };
    match fields.get("format").and_then(Value::as_str) {
        Some(FORMAT) => {}
        Some(other) => {
            return Err(ReadError::UnknownFormat(text::beginning(other, MAX_QUOTED_BYTES)));
        }
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

fn verify_equal(what: &'static str, found: &str, expected: &str) -> Result<(), ReadError> {
    if found == expected {
        return Ok(());
    }
    let (found, expected) = (text::beginning(found, MAX_QUOTED_BYTES), expected.to_owned());
    Err(ReadError::Mismatch { what, found, expected })
}

/// Digest of an image, or the whole reference.
fn digest(image: &str) -> &str {
    image.rsplit_once('@').map_or(image, |(_, digest)| digest)
}

#[cfg(test)]
mod tests;
