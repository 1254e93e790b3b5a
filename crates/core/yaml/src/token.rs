//! The tokens between the scanner and the composer.

use std::borrow::Cow;

/// A position in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The offset in bytes.
    pub(crate) at: usize,
    /// The line, counted from zero.
    pub(crate) line: usize,
    /// The column in characters, counted from zero.
    pub(crate) column: usize,
}

/// A token and its position.
#[derive(Debug)]
pub(crate) struct Token<'a> {
    pub(crate) kind: TokenKind<'a>,
    pub(crate) mark: Mark,
}

#[derive(Debug)]
pub(crate) enum TokenKind<'a> {
    StreamEnd,
    VersionDirective {
        is_1_1: bool,
    },
    TagDirective {
        handle: &'a str,
        prefix: Cow<'a, str>,
    },
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(&'a str),
    Anchor(&'a str),
    /// An empty handle means that the suffix is the whole tag.
    Tag {
        handle: &'a str,
        suffix: Cow<'a, str>,
    },
    Scalar {
        text: Cow<'a, str>,
        is_plain: bool,
    },
}
