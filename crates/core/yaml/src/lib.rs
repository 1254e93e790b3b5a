//! Kubernetes' YAML-to-JSON decoding.
//!
//! Go clients read manifests with `sigs.k8s.io/yaml`: YAML 1.1 as go-yaml v2 implements it, not
//! strict. This crate decodes the same inputs to the same JSON, and reports [`Oddity`]s: text that
//! other YAML readers refuse or decode differently.
//!
//! * [`decode`] reads one document, as `yaml.YAMLToJSON` does.
//! * [`object`] reads a file with one object, as `yaml.Unmarshal` does.
//! * [`documents`] reads a file, as `yaml.NewYAMLOrJSONDecoder` does.
//!
//! Bytes become text, the scanner splits the text into tokens, and the composer builds a value from
//! them. The crate is pure. Hostile input costs an error: the size of the input bounds time and
//! memory, and [`limits`] bound nesting and aliases. `fairway-oracles` compares the results with
//! Go.
//!
//! | module | content |
//! | --- | --- |
//! | `file` | files with one object or several documents, YAML or JSON |
//! | `text` | byte order marks, encodings, characters that YAML allows |
//! | `scan`, `token` | the scanner: text to tokens |
//! | `compose` | the composer: tokens to a value |
//! | `mapping`, `anchor` | duplicate and merge keys, anchors and aliases |
//! | `resolve` | types of scalars, as in go-yaml v2 |
//! | `json` | JSON as Go reads and writes it |
//! | `oddity` | warnings about misleading text |
//! | `paths` | positions of keys |
//! | `error`, [`limits`] | errors with their position, and limits |

mod anchor;
mod compose;
mod error;
mod file;
mod json;
pub mod limits;
mod mapping;
mod oddity;
mod paths;
mod resolve;
mod scan;
mod text;
mod token;

use serde_json::Value;

pub use self::error::{YamlError, YamlProblem};
pub use self::file::{DecodedObject, Document, Documents, documents, object};
pub use self::json::to_json;
pub use self::oddity::{Oddity, OddityKind};
pub use self::paths::KeyLine;

/// A decoded document.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The value; `null` for an empty document.
    pub value: Value,
    /// The line where the content begins, counted from one.
    pub line: u64,
    /// Oddities by line, at most [`limits::MAX_ODDITIES`].
    pub oddities: Vec<Oddity>,
}

/// Decodes the first document of a text.
pub fn decode(bytes: &[u8]) -> Result<Decoded, YamlError> {
    decode_with(bytes, false).map(|(decoded, _)| decoded)
}

/// The same, with the positions of keys where they are wanted.
fn decode_with(bytes: &[u8], has_paths: bool) -> Result<(Decoded, paths::Paths), YamlError> {
    let text::Text { content: text, byte_order_mark, broken } = text::decode(bytes);
    let compose = |keeps_lines| {
        let composer = compose::Composer::new(&text, keeps_lines);
        let mut composer = if has_paths { composer.with_paths() } else { composer };
        let document = composer.document();
        match &broken {
            Some(problem) if composer.is_at_end() => {
                Err(text::error_at_end(&text, problem.clone()))
            }
            _ => document.map(|document| (document, composer.take_paths())),
        }
    };
    let (mut composed, mut paths) = compose(false)?;
    if composed.has_duplicates {
        // The lines of keys cost memory and time that documents without duplicates save.
        (composed, paths) = compose(true)?;
    }
    let compose::Composed { value, mut oddities, line, .. } = composed;
    if byte_order_mark {
        oddities.insert(0, Oddity { line: 1, kind: OddityKind::ByteOrderMark });
    }
    Ok((Decoded { value, line, oddities }, paths))
}
