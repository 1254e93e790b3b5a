//! Reader for YAML and JSON files, with limits and with positions in errors.
//!
//! JSON is parsed as YAML, so that there is one parser and one error format.

use std::fmt;
use std::io::{self, Read as _};

use kube::Resource;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_saphyr::{MessageFormatter as _, Options, UserMessageFormatter};

/// Bytes of a document. The largest documents of a cluster are lists of a few hundred objects of up
/// to 1.5 MiB; real ones stay below 4 MiB.
const MAX_BYTES: usize = 32 << 20;

/// Nesting depth. Kubernetes objects have less than 20 levels, schemas in CRDs less than 60; deeper
/// documents attack the stack.
const MAX_DEPTH: usize = 100;

/// Nodes of a document: about twenty times the recorded state of a large cluster.
const MAX_NODES: usize = 2_000_000;

/// Aliases of a document. Files of users have few; the limit stops alias bombs early.
const MAX_ALIASES: usize = 1_000;

/// Nodes that aliases may repeat.
const MAX_REPEATED: usize = 20_000;

/// A location in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputLocation {
    /// File or other name of the input.
    pub source: String,
    /// Line and column, counted from one, if known.
    pub position: Option<(u64, u64)>,
}

impl fmt::Display for InputLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        match self.position {
            Some((line, column)) => write!(f, ":{line}:{column}"),
            None => Ok(()),
        }
    }
}

/// Reason why an input cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The input has too many bytes.
    #[error("{input} has {size} bytes; the limit is {MAX_BYTES} bytes")]
    TooLarge {
        /// Name of the input.
        input: String,
        /// Size of the input.
        size: usize,
    },
    /// The input is invalid.
    #[error("{place}: {}{problem}", at_field(.field))]
    Malformed {
        /// Location of the error.
        place: InputLocation,
        /// Field such as `spec.overrides[2].kind`; empty for the whole document.
        field: String,
        /// Description of the error.
        problem: String,
    },
}

fn at_field(field: &str) -> String {
    // The path is `.` at the root, and `?` if the input ends before a key.
    if matches!(field, "" | "." | "?") { String::new() } else { format!("field {field}: ") }
}

/// Reads the bytes of an input, up to the size limit.
pub fn bytes(name: &str, input: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = MAX_BYTES as u64;
    if input.take(limit + 1).read_to_end(&mut bytes)? > MAX_BYTES {
        let problem = format!("{name} exceeds the limit of {MAX_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    Ok(bytes)
}

/// Reads an object of a kind.
pub fn object<K>(name: &str, bytes: &[u8]) -> Result<K, ReadError>
where
    K: Resource<DynamicType = ()> + DeserializeOwned,
{
    let found: TypeMeta = document(name, bytes)?;
    for (field, is, should) in [
        ("apiVersion", &found.api_version, K::api_version(&())),
        ("kind", &found.kind, K::kind(&())),
    ] {
        if *is != should {
            return Err(ReadError::Malformed {
                place: InputLocation { source: name.to_owned(), position: None },
                field: field.to_owned(),
                problem: format!("expected {should:?}, found {is:?}"),
            });
        }
    }
    document(name, bytes)
}

/// API version and kind of a document.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TypeMeta {
    api_version: String,
    kind: String,
}

/// Reads one document. Errors start with `name`, the name of the input.
pub fn document<T: DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<T, ReadError> {
    let text = text(name, bytes)?;
    let mut field = String::new();
    let read = serde_saphyr::with_deserializer_from_str_with_options(text, options(), |document| {
        serde_path_to_error::deserialize(document).map_err(|error| {
            field = error.path().to_string();
            error.into_inner()
        })
    });
    read.map_err(|error| malformed(name, field, &error))
}

/// Reads all documents of a file and skips empty ones. Errors contain the position, but not the
/// field.
pub fn documents<T: DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<Vec<T>, ReadError> {
    let text = text(name, bytes)?;
    let documents: Vec<Option<T>> = serde_saphyr::from_multiple_with_options(text, options())
        .map_err(|error| malformed(name, String::new(), &error))?;
    Ok(documents.into_iter().flatten().collect())
}

/// Converts a parsed value. Errors contain the field, but not the position.
pub fn value<T: DeserializeOwned>(name: &str, value: &serde_json::Value) -> Result<T, ReadError> {
    serde_path_to_error::deserialize(value).map_err(|error| ReadError::Malformed {
        place: InputLocation { source: name.to_owned(), position: None },
        field: error.path().to_string(),
        problem: error.into_inner().to_string(),
    })
}

fn text<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str, ReadError> {
    if bytes.len() > MAX_BYTES {
        return Err(ReadError::TooLarge { input: name.to_owned(), size: bytes.len() });
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = before.split(|byte| *byte == b'\n').count();
        let column = before.rsplit(|byte| *byte == b'\n').next().map_or(0, <[u8]>::len) + 1;
        ReadError::Malformed {
            place: InputLocation {
                source: name.to_owned(),
                position: Some((line as u64, column as u64)),
            },
            field: String::new(),
            problem: "not valid UTF-8".to_owned(),
        }
    })
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            max_nodes: MAX_NODES,
            max_events: 2 * MAX_NODES,
            max_total_scalar_bytes: MAX_BYTES,
            max_aliases: MAX_ALIASES,
            max_recorded_anchor_events: MAX_REPEATED,
        },
        // Manifests contain file modes such as `0644`, which kubectl parses as octal.
        legacy_octal_numbers: true,
        // The error contains the position; the caller prints excerpts.
        with_snippet: false,
    }
}

fn malformed(name: &str, field: String, error: &serde_saphyr::Error) -> ReadError {
    let position = error.location().map(|at| (at.line(), at.column()));
    let problem = UserMessageFormatter.format_message(error);
    // The parser appends its limits to the message.
    let problem = problem.split(": limits breached").next().unwrap_or_default().to_owned();
    ReadError::Malformed {
        place: InputLocation { source: name.to_owned(), position },
        field,
        problem,
    }
}
