//! Reading YAML and JSON from files and people, with limits, and with errors that name the place.
//!
//! JSON is read as the YAML it is: one parser, one way to say what is wrong.

use std::fmt;
use std::io::{self, Read as _};

use kube::Resource;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_saphyr::{MessageFormatter as _, Options, UserMessageFormatter};

/// Larger documents are refused unread. The largest that a cluster can hold are lists of a few
/// hundred objects of at most 1.5 MiB, and real ones stay below 4 MiB.
const MAX_BYTES: usize = 32 << 20;

/// Kubernetes objects nest less than 20 deep, schemas in a CustomResourceDefinition less than 60;
/// beyond this it is an attack on the stack.
const MAX_DEPTH: usize = 100;

/// About twenty times what the recorded state of a large cluster needs.
const MAX_NODES: usize = 2_000_000;

/// Files written by people use a handful of aliases, if any; a bomb made of them is refused while
/// it is still small.
const MAX_ALIASES: usize = 1_000;

/// The nodes that aliases may repeat.
const MAX_REPEATED: usize = 20_000;

/// Where in an input something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, or what else people call the input.
    pub source: String,
    /// Line and column, counted from one, where they are known.
    pub position: Option<(u64, u64)>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        match self.position {
            Some((line, column)) => write!(f, ":{line}:{column}"),
            None => Ok(()),
        }
    }
}

/// Why an input could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It is too large to be looked at.
    #[error("{input} has {size} bytes; the limit is {MAX_BYTES} bytes")]
    TooLarge {
        /// What people call the input.
        input: String,
        /// Its size.
        size: usize,
    },
    /// It is not what it should be.
    #[error("{place}: {}{problem}", at_field(.field))]
    Malformed {
        /// Where.
        place: Place,
        /// The field, such as `spec.overrides[2].kind`; empty for the whole document.
        field: String,
        /// What is wrong there.
        problem: String,
    },
}

fn at_field(field: &str) -> String {
    // The path is `.` at the root and `?` where the input broke off before a key.
    if matches!(field, "" | "." | "?") { String::new() } else { format!("field {field}: ") }
}

/// Takes in what is to be read, and no more than that.
pub fn bytes(name: &str, input: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = MAX_BYTES as u64;
    if input.take(limit + 1).read_to_end(&mut bytes)? > MAX_BYTES {
        let problem = format!("{name} exceeds the limit of {MAX_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    Ok(bytes)
}

/// Reads one object, which has to be of that kind.
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
                place: Place { source: name.to_owned(), position: None },
                field: field.to_owned(),
                problem: format!("expected {should:?}, found {is:?}"),
            });
        }
    }
    document(name, bytes)
}

/// What a document says that it is.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TypeMeta {
    api_version: String,
    kind: String,
}

/// Reads one document. `name` is what people call the input; errors begin with it.
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

/// Reads every document of a file that may hold several; empty ones do not count. Errors name the
/// place, but not the field.
pub fn documents<T: DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<Vec<T>, ReadError> {
    let text = text(name, bytes)?;
    let documents: Vec<Option<T>> = serde_saphyr::from_multiple_with_options(text, options())
        .map_err(|error| malformed(name, String::new(), &error))?;
    Ok(documents.into_iter().flatten().collect())
}

/// Reads what was a document or part of one. Errors name the field, but not the place.
pub fn value<T: DeserializeOwned>(name: &str, value: &serde_json::Value) -> Result<T, ReadError> {
    serde_path_to_error::deserialize(value).map_err(|error| ReadError::Malformed {
        place: Place { source: name.to_owned(), position: None },
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
            place: Place { source: name.to_owned(), position: Some((line as u64, column as u64)) },
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
        // File modes are written as `0644` in manifests, and kubectl reads them as octal.
        legacy_octal_numbers: true,
        // The error carries the position; a picture of the line is the printer's business.
        with_snippet: false,
    }
}

fn malformed(name: &str, field: String, error: &serde_saphyr::Error) -> ReadError {
    let position = error.location().map(|at| (at.line(), at.column()));
    let problem = UserMessageFormatter.format_message(error);
    // The parser names its own limits behind the fact that one was exceeded.
    let problem = problem.split(": limits breached").next().unwrap_or_default().to_owned();
    ReadError::Malformed { place: Place { source: name.to_owned(), position }, field, problem }
}
