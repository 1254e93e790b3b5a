//! Problems and warnings of a payload.

use std::fmt;

use fairway_api::Version;
use fairway_api::read::{InputLocation, ReadError};
use fairway_yaml::Oddity;
use serde::Serialize;

use super::template::TemplateError;
use super::{MAX_BYTES, MAX_DOCUMENTS, MAX_FILE_BYTES, MAX_FILES, MAX_OBJECT_BYTES};
use crate::manifest::ObjectId;
use crate::metadata::{self, MetadataError};

/// A problem that makes a release unusable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum PayloadProblem {
    /// A required file is missing.
    #[error("{file} is missing")]
    Missing { file: &'static str },
    /// The release metadata is invalid.
    #[error(transparent)]
    Metadata(MetadataError),
    /// A document is malformed.
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    /// Metadata and images are of different releases.
    #[error(
        "{} names release {images:?}, but the metadata names {metadata}",
        crate::image_references::PATH
    )]
    OtherVersion { images: String, metadata: Version },
    /// One file has the same object twice.
    #[error("{place}: {id} is already defined in line {first}")]
    Duplicate { place: InputLocation, id: Box<ObjectId>, first: u64 },
    /// A file is too large.
    #[error("{file} has {size} bytes; the limit is {MAX_FILE_BYTES} bytes")]
    FileTooLarge { file: String, size: usize },
    /// Too many files.
    #[error("more than {MAX_FILES} files")]
    TooManyFiles,
    /// All files together, or their objects, are too large.
    #[error("the manifests exceed the limit of {MAX_BYTES} bytes")]
    TooLarge,
    /// The object exceeds the limit of API servers.
    #[error("{place}: {id} has {size} bytes; the limit of API servers is {MAX_OBJECT_BYTES} bytes")]
    ObjectTooLarge { place: InputLocation, id: Box<ObjectId>, size: usize },
    /// Too many documents.
    #[error("{file}: more than {MAX_DOCUMENTS} documents")]
    TooManyDocuments { file: String },
    /// Too many problems.
    #[error("{file}: too many errors; the remaining files are not read")]
    TooManyProblems { file: String },
}

impl PayloadProblem {
    /// The file that the problem is in, and the line where one is known.
    pub fn location(&self) -> Option<(&str, Option<u64>)> {
        let of_place = |place: &'_ InputLocation| place.position.map(|(line, _)| line);
        match self {
            Self::Missing { file } => Some((file, None)),
            Self::Metadata(_) => Some((metadata::PATH, None)),
            Self::Unreadable(ReadError::Malformed { place, .. })
            | Self::Duplicate { place, .. }
            | Self::ObjectTooLarge { place, .. } => Some((&place.source, of_place(place))),
            Self::Unreadable(ReadError::TooLarge { input: file, .. })
            | Self::FileTooLarge { file, .. }
            | Self::TooManyDocuments { file }
            | Self::TooManyProblems { file } => Some((file, None)),
            Self::OtherVersion { .. } => Some((crate::image_references::PATH, None)),
            Self::TooManyFiles | Self::TooLarge => None,
        }
    }
}

/// All problems of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a report must be shown"]
pub struct PayloadError {
    /// Problems in the order of the files; at least one.
    pub problems: Vec<PayloadProblem>,
}

impl std::error::Error for PayloadError {}

impl fmt::Display for PayloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [problem] => write!(f, "invalid release: {problem}"),
            problems => {
                write!(f, "invalid release, {} errors:", problems.len())?;
                problems.iter().try_for_each(|problem| write!(f, "\n* {problem}"))
            }
        }
    }
}

/// Something in a release that is omitted, ignored, or ambiguous.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "warning")]
pub enum PayloadWarning {
    /// A template uses an unsupported action, which a newer version may know.
    Template {
        /// The path of the file.
        file: String,
        /// The line, counted from one.
        line: u64,
        /// Why it cannot be rendered.
        why: TemplateError,
    },
    /// The release metadata has a value that clients ignore.
    Metadata {
        /// Key in the metadata.
        key: String,
        /// The value.
        value: String,
        /// The expected value.
        wanted: &'static str,
        /// The line of the key, counted from one, where it is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<u64>,
    },
    /// A key that matches a field only in different letter case, which Go's JSON decoder ignores.
    LetterCase {
        /// The path of the file.
        file: String,
        /// The line of the key.
        line: u64,
        /// The key.
        key: String,
        /// The field.
        field: String,
    },
    /// More warnings than are reported.
    Omitted {
        /// The path of the last file with one.
        file: String,
        /// How many.
        count: usize,
    },
    /// YAML that decodes to another value than its text suggests.
    Oddity {
        /// The path of the file.
        file: String,
        /// The oddity and its line.
        #[serde(flatten)]
        oddity: Oddity,
    },
    /// Annotations that the operator ignores, since the value of one is not a string.
    Annotations {
        /// The path of the file.
        file: String,
        /// The line of the manifest.
        line: u64,
        /// The key of that annotation.
        key: String,
    },
}

impl PayloadWarning {
    /// Whether the warning only informs: the release contains all that its files say.
    pub fn is_informational(&self) -> bool {
        match self {
            Self::Template { .. } | Self::Metadata { .. } => false,
            Self::Oddity { .. }
            | Self::Annotations { .. }
            | Self::LetterCase { .. }
            | Self::Omitted { .. } => true,
        }
    }

    /// The path of the file that the warning is about.
    pub fn file(&self) -> &str {
        match self {
            Self::Metadata { .. } => metadata::PATH,
            Self::Template { file, .. }
            | Self::Oddity { file, .. }
            | Self::LetterCase { file, .. }
            | Self::Omitted { file, .. }
            | Self::Annotations { file, .. } => file,
        }
    }

    /// The line that the warning is about, counted from one, where there is one.
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::Metadata { line, .. } => *line,
            Self::Omitted { .. } => None,
            Self::Template { line, .. }
            | Self::LetterCase { line, .. }
            | Self::Annotations { line, .. } => Some(*line),
            Self::Oddity { oddity, .. } => Some(oddity.line),
        }
    }
}

impl fmt::Display for PayloadWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Template { file, line, why } => write!(f, "{file}:{line}: excluded: {why}"),
            Self::Oddity { file, oddity } => write!(f, "{file}:{}: {}", oddity.line, oddity.kind),
            Self::Annotations { file, line, key } => {
                write!(
                    f,
                    "{file}:{line}: all annotations are ignored, because {key} is not a string"
                )
            }
            Self::LetterCase { file, line, key, field } => {
                write!(f, "{file}:{line}: key {key:?} is read as {field:?}")
            }
            Self::Omitted { file, count } => write!(f, "{file}: {count} more warnings omitted"),
            Self::Metadata { key, value, wanted, line } => {
                f.write_str(metadata::PATH)?;
                if let Some(line) = line {
                    write!(f, ":{line}")?;
                }
                write!(f, ": invalid {key}: expected {wanted}, found {value:?}")
            }
        }
    }
}
