//! Errors with their position.

use crate::limits::{MAX_ALIAS_BYTES, MAX_ALIAS_NODES, MAX_DEPTH, MAX_NODES};

/// A decoding error and its position in the input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct YamlError {
    /// The line, counted from one.
    pub line: u64,
    /// The column in characters, counted from one.
    pub column: u64,
    /// The reason.
    pub problem: YamlProblem,
}

/// The reason why a document cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum YamlProblem {
    /// The text is not YAML 1.1 as libyaml implements it.
    #[error("{0}")]
    Syntax(&'static str),
    /// The input is not UTF-8, or not UTF-16 after a UTF-16 byte order mark.
    #[error("not valid {0}")]
    Encoding(&'static str),
    /// A character that YAML does not allow.
    #[error("control character U+{0:04X} is not allowed")]
    ControlCharacter(u32),
    /// A line that begins with `---` and continues with content.
    #[error("document separator followed by {0:?}; only a comment may follow `---`")]
    Separator(String),
    /// An alias without its anchor.
    #[error("unknown anchor {0:?}")]
    UnknownAnchor(String),
    /// An alias inside the node it refers to.
    #[error("anchor {0:?} contains itself")]
    RecursiveAnchor(String),
    /// A tag whose handle no `%TAG` directive declares.
    #[error("undefined tag handle {0:?}")]
    UndefinedTagHandle(String),
    /// A scalar that does not fit its explicit tag.
    #[error("cannot decode {text:?} as {tag}")]
    WrongTag {
        /// The scalar.
        text: String,
        /// The tag, such as `!!int`.
        tag: &'static str,
    },
    /// A mapping or sequence as a key.
    #[error("a mapping key must be a scalar")]
    CollectionKey,
    /// A key without a representation in JSON.
    #[error("{0} cannot be a mapping key")]
    UnsupportedKey(&'static str),
    /// A value that is neither a mapping nor a list of mappings behind `<<`.
    #[error("merge key << requires a mapping or a list of mappings")]
    InvalidMerge,
    /// Infinity or NaN, which JSON does not have.
    #[error("{0} has no representation in JSON")]
    UnsupportedValue(&'static str),
    /// More alias expansion than the Go decoder allows for a document of this size.
    #[error("excessive aliasing")]
    ExcessiveAliasing,
    /// Nesting beyond [`MAX_DEPTH`].
    #[error("nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// More nodes than [`MAX_NODES`].
    #[error("more than {MAX_NODES} nodes")]
    TooManyNodes,
    /// More nodes repeated by aliases than [`MAX_ALIAS_NODES`].
    #[error("aliases repeat more than {MAX_ALIAS_NODES} nodes")]
    TooManyAliasNodes,
    /// More bytes repeated by aliases than [`MAX_ALIAS_BYTES`].
    #[error("aliases repeat more than {MAX_ALIAS_BYTES} bytes")]
    TooManyAliasBytes,
    /// Invalid JSON after several valid JSON documents.
    #[error("invalid JSON: {0}")]
    Json(String),
}
