//! The composer: tokens to a value.
//!
//! It combines libyaml's grammar with go-yaml's decoding: aliases repeat their node, `<<` merges
//! mappings in the order of the text, and of equal keys the last wins.

mod collection;

use std::borrow::Cow;

use serde_json::Value;

use crate::anchor::AnchorTable;
use crate::error::{YamlError, YamlProblem};
use crate::limits::{MAX_DEPTH, MAX_ODDITIES};
use crate::mapping::Mapping;
use crate::oddity::{self, Oddity, OddityKind};
use crate::paths::Paths;
use crate::resolve::{self, Scalar, Tag};
use crate::scan::Scanner;
use crate::token::{Mark, Token, TokenKind};

/// The meaning of `!!` unless a directive changes it.
const CORE_PREFIX: &str = "tag:yaml.org,2002:";

/// The tag that only says that a plain scalar is text.
const NON_SPECIFIC: &str = "!";

/// A document.
pub(crate) struct Composed {
    pub(crate) value: Value,
    pub(crate) oddities: Vec<Oddity>,
    /// The line where the content begins, counted from one.
    pub(crate) line: u64,
    /// Whether keys repeat whose lines were not kept.
    pub(crate) has_duplicates: bool,
}

/// The content of a node.
#[derive(Clone, Debug)]
pub(crate) enum Content<'a> {
    Scalar(Scalar<'a>),
    Collection(Value),
    /// Content that JSON cannot represent. It is an error only as part of the result: a later value
    /// of the same key may replace it.
    Unsupported(Box<YamlError>),
}

#[derive(Debug)]
pub(crate) struct Node<'a> {
    pub(crate) content: Content<'a>,
    /// How deep collections nest inside.
    pub(crate) height: usize,
    /// Whether the node merges another one if it is a key.
    pub(crate) is_merge: bool,
    pub(crate) is_alias: bool,
    pub(crate) mark: Mark,
}

impl Node<'_> {
    pub(crate) fn into_value(self) -> Result<Value, Box<YamlError>> {
        match self.content {
            Content::Scalar(scalar) => {
                scalar.into_value().map_err(|problem| Box::new(at(self.mark, problem)))
            }
            Content::Collection(value) => Ok(value),
            Content::Unsupported(error) => Err(error),
        }
    }
}

pub(crate) struct Composer<'a> {
    scanner: Scanner<'a>,
    anchors: AnchorTable<'a>,
    /// The handles of tags and what they stand for.
    tags: Vec<(&'a str, String)>,
    depth: usize,
    oddities: Vec<Oddity>,
    /// Oddities that were dropped.
    uncounted: usize,
    /// The position in the document, where the positions of keys are wanted.
    paths: Option<Paths>,
    /// Whether the lines of keys are kept, which only documents with duplicates need.
    keeps_lines: bool,
    has_duplicates: bool,
}

pub(crate) fn at(mark: Mark, problem: YamlProblem) -> YamlError {
    YamlError { line: mark.line as u64 + 1, column: mark.column as u64 + 1, problem }
}

impl<'a> Composer<'a> {
    pub(crate) fn new(text: &'a str, keeps_lines: bool) -> Self {
        Self {
            scanner: Scanner::new(text),
            anchors: AnchorTable::default(),
            tags: Vec::new(),
            depth: 0,
            oddities: Vec::new(),
            uncounted: 0,
            paths: None,
            keeps_lines,
            has_duplicates: false,
        }
    }

    /// The same, with the positions of keys.
    pub(crate) fn with_paths(self) -> Self {
        Self { paths: Some(Paths::default()), ..self }
    }

    /// The positions of keys, where they were wanted.
    pub(crate) fn take_paths(&mut self) -> Paths {
        self.paths.take().unwrap_or_default()
    }

    /// Whether the scanner has reached the end of the text.
    pub(crate) fn is_at_end(&self) -> bool {
        self.scanner.is_at_end()
    }

    /// Composes the first document. The Go decoder ignores others.
    pub(crate) fn document(&mut self) -> Result<Composed, YamlError> {
        let is_explicit = self.begin_document()?;
        let Token { mark, kind } = self.scanner.peek()?;
        let (mark, is_end) = (*mark, matches!(kind, TokenKind::StreamEnd));
        let is_empty = is_explicit && self.is_next(is_document_token)?;
        self.count(mark, 0)?;
        let node = if is_end || is_empty { self.empty(mark)? } else { self.node(true, false)? };
        self.end_document(is_end)?;
        let value = node.into_value().map_err(|error| *error)?;
        let mut oddities = std::mem::take(&mut self.oddities);
        oddities.append(&mut self.scanner.oddities);
        let oddities = oddity::limited(oddities, self.uncounted);
        let line = mark.line as u64 + 1;
        Ok(Composed { value, oddities, line, has_duplicates: self.has_duplicates })
    }

    /// Takes directives and the document mark. Returns whether there was one.
    fn begin_document(&mut self) -> Result<bool, YamlError> {
        let mut has_version = false;
        loop {
            let is_directive = |kind: &TokenKind<'_>| {
                matches!(kind, TokenKind::VersionDirective { .. } | TokenKind::TagDirective { .. })
            };
            if !self.is_next(is_directive)? {
                break;
            }
            let Token { kind, mark } = self.scanner.next()?;
            match kind {
                TokenKind::VersionDirective { .. } if has_version => {
                    return Err(Scanner::error("duplicate %YAML directive", mark));
                }
                TokenKind::VersionDirective { is_1_1: false } => {
                    return Err(Scanner::error("unsupported YAML version", mark));
                }
                TokenKind::TagDirective { handle, prefix } => {
                    if self.tags.iter().any(|(known, _)| *known == handle) {
                        return Err(Scanner::error("duplicate %TAG directive", mark));
                    }
                    self.tags.push((handle, prefix.into_owned()));
                }
                _ => has_version = true,
            }
        }
        let has_directives = has_version || !self.tags.is_empty();
        for (handle, prefix) in [("!", "!"), ("!!", CORE_PREFIX)] {
            if !self.tags.iter().any(|(known, _)| *known == handle) {
                self.tags.push((handle, prefix.to_owned()));
            }
        }
        let is_explicit = self.is_next(|kind| matches!(kind, TokenKind::DocumentStart))?;
        if is_explicit {
            self.scanner.next()?;
        } else if has_directives {
            return Err(Scanner::error(
                "expected --- after a directive",
                self.scanner.peek()?.mark,
            ));
        }
        Ok(is_explicit)
    }

    /// Looks for the end of the document, and for content behind it.
    fn end_document(&mut self, is_end: bool) -> Result<(), YamlError> {
        if is_end {
            return Ok(());
        }
        let Token { kind, mark } = self.scanner.next()?;
        let ignored = match kind {
            TokenKind::StreamEnd => None,
            // The Go decoder reads nothing after the mark, so an error there is ignored.
            TokenKind::DocumentEnd => match self.scanner.peek() {
                Ok(Token { kind: TokenKind::StreamEnd, .. }) => None,
                Ok(token) => Some(token.mark),
                Err(_) => Some(mark),
            },
            _ => Some(mark),
        };
        if let Some(mark) = ignored {
            self.odd(mark, OddityKind::IgnoredContent);
        }
        Ok(())
    }

    fn odd(&mut self, mark: Mark, kind: OddityKind) {
        // The list is sorted later, so it may grow beyond what is reported, but not without limit.
        if self.oddities.len() < 100 * MAX_ODDITIES {
            self.oddities.push(Oddity { line: mark.line as u64 + 1, kind });
        } else {
            self.uncounted += 1;
        }
    }

    fn count(&mut self, mark: Mark, bytes: usize) -> Result<(), YamlError> {
        self.anchors.count(bytes).map_err(|problem| at(mark, problem))
    }

    fn is_next(&mut self, is: impl Fn(&TokenKind<'a>) -> bool) -> Result<bool, YamlError> {
        Ok(is(&self.scanner.peek()?.kind))
    }

    /// A node without content: null.
    fn empty(&mut self, mark: Mark) -> Result<Node<'a>, YamlError> {
        self.count(mark, 0)?;
        Ok(Node {
            content: Content::Scalar(Scalar::Null),
            height: 0,
            is_merge: false,
            is_alias: false,
            mark,
        })
    }

    /// A node, or an empty one in front of certain tokens.
    fn node_unless(
        &mut self,
        is_empty: impl Fn(&TokenKind<'a>) -> bool,
        is_block: bool,
        may_be_indentless: bool,
    ) -> Result<Node<'a>, YamlError> {
        let mark = self.scanner.peek()?.mark;
        if self.is_next(is_empty)? {
            self.empty(mark)
        } else {
            self.node(is_block, may_be_indentless)
        }
    }

    fn node(&mut self, is_block: bool, may_be_indentless: bool) -> Result<Node<'a>, YamlError> {
        let mark = self.scanner.peek()?.mark;
        if self.is_next(|kind| matches!(kind, TokenKind::Alias(_)))? {
            return self.alias();
        }
        let (mut anchor, mut tag) = (None, None);
        loop {
            let kind = &self.scanner.peek()?.kind;
            let is_property = match kind {
                TokenKind::Anchor(_) => anchor.is_none(),
                TokenKind::Tag { .. } => tag.is_none(),
                _ => false,
            };
            if !is_property {
                break;
            }
            match self.scanner.next()? {
                Token { kind: TokenKind::Anchor(name), .. } => anchor = Some(name),
                Token { kind: TokenKind::Tag { handle, suffix }, mark } => {
                    tag = Some(self.full_tag(handle, &suffix, mark)?);
                }
                _ => {}
            }
        }
        let has_properties = anchor.is_some() || tag.is_some();
        let kind = &self.scanner.peek()?.kind;
        let has_content = match kind {
            TokenKind::Scalar { .. }
            | TokenKind::FlowSequenceStart
            | TokenKind::FlowMappingStart => true,
            TokenKind::BlockEntry => may_be_indentless,
            TokenKind::BlockSequenceStart | TokenKind::BlockMappingStart => is_block,
            _ => false,
        };
        if !has_content && !has_properties {
            let mark = self.scanner.peek()?.mark;
            return Err(Scanner::error("expected a value", mark));
        }
        let open = anchor.map(|name| self.anchors.open(name));
        let node = if has_content {
            self.content(tag.as_deref(), mark)?
        } else {
            self.scalar("".into(), true, tag.as_deref(), mark)?
        };
        if let Some(open) = open {
            let kept = self.anchors.close(open, &node.content, node.height);
            kept.map_err(|problem| at(mark, problem))?;
        }
        Ok(node)
    }

    fn alias(&mut self) -> Result<Node<'a>, YamlError> {
        let Token { kind: TokenKind::Alias(name), mark } = self.scanner.next()? else {
            return Err(Scanner::error("expected an alias", Mark::default()));
        };
        let anchor = self.anchors.repeat(name).map_err(|problem| at(mark, problem))?;
        if self.depth + anchor.height > MAX_DEPTH {
            return Err(at(mark, YamlProblem::TooDeep));
        }
        let (content, height) = (anchor.content, anchor.height);
        Ok(Node { content, height, is_merge: false, is_alias: true, mark })
    }

    fn full_tag(&self, handle: &str, suffix: &str, mark: Mark) -> Result<String, YamlError> {
        let undefined = || at(mark, YamlProblem::UndefinedTagHandle(handle.to_owned()));
        if handle.is_empty() {
            return Ok(suffix.to_owned());
        }
        let prefix = self.tags.iter().find(|(known, _)| *known == handle);
        let (_, prefix) = prefix.ok_or_else(undefined)?;
        Ok(format!("{prefix}{suffix}"))
    }

    fn content(&mut self, tag: Option<&str>, mark: Mark) -> Result<Node<'a>, YamlError> {
        if self.is_next(|kind| matches!(kind, TokenKind::Scalar { .. }))? {
            let token = self.scanner.next()?;
            if let TokenKind::Scalar { text, is_plain } = token.kind {
                return self.scalar(text, is_plain, tag, mark);
            }
        }
        self.count(mark, 0)?;
        if let Some(tag) = tag
            && tag != NON_SPECIFIC
            && !matches!(tag.strip_prefix(CORE_PREFIX), Some("map" | "seq"))
        {
            self.odd(mark, OddityKind::IgnoredTag { tag: tag.to_owned() });
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(at(mark, YamlProblem::TooDeep));
        }
        let node = match self.scanner.peek()?.kind {
            TokenKind::FlowSequenceStart => {
                let open = self.scanner.peek()?.mark;
                self.flow_sequence(mark)
                    .map_err(|error| self.unclosed(error, open, "'[' is not closed"))
            }
            TokenKind::FlowMappingStart => {
                let open = self.scanner.peek()?.mark;
                self.flow_mapping(mark)
                    .map_err(|error| self.unclosed(error, open, "'{' is not closed"))
            }
            TokenKind::BlockSequenceStart => self.block_sequence(mark),
            TokenKind::BlockMappingStart => self.block_mapping(mark),
            _ => self.indentless_sequence(mark),
        };
        self.depth -= 1;
        node
    }

    /// Blames the bracket instead of the end of the text.
    fn unclosed(&self, error: YamlError, open: Mark, problem: &'static str) -> YamlError {
        let end = self.scanner.end_error(problem);
        let is_at_end = (error.line, error.column) == (end.line, end.column);
        if self.is_at_end() && is_at_end { Scanner::error(problem, open) } else { error }
    }

    fn scalar(
        &mut self,
        text: Cow<'a, str>,
        is_plain: bool,
        tag: Option<&str>,
        mark: Mark,
    ) -> Result<Node<'a>, YamlError> {
        self.count(mark, text.len())?;
        let is_merge_key = text == "<<";
        let (scalar, is_merge) = match tag {
            None if is_plain => {
                let (scalar, oddity) = resolve::plain_with_oddity(text);
                if let Some(kind) = oddity {
                    self.odd(mark, kind);
                }
                (scalar, is_merge_key)
            }
            None => (Scalar::Text(text), false),
            Some(NON_SPECIFIC) => (Scalar::Text(text), is_merge_key),
            Some(tag) => {
                let known = Tag::of(tag);
                if known == Tag::Other {
                    self.odd(mark, OddityKind::IgnoredTag { tag: tag.to_owned() });
                }
                let scalar = resolve::tagged(known, text).map_err(|problem| at(mark, problem))?;
                (scalar, is_merge_key && known == Tag::Merge)
            }
        };
        Ok(Node { content: Content::Scalar(scalar), height: 0, is_merge, is_alias: false, mark })
    }

    /// Notes that the value of a key follows.
    fn enter_value(&mut self, key: &Node<'a>) {
        if let Some(paths) = &mut self.paths {
            let name = match &key.content {
                Content::Scalar(Scalar::Text(text)) => text,
                // Fields have text keys.
                _ => "",
            };
            paths.enter_key(name, key.mark.line as u64 + 1);
        }
    }

    fn enter_item(&mut self, index: usize) {
        if let Some(paths) = &mut self.paths {
            paths.enter_item(index);
        }
    }

    fn leave(&mut self) {
        if let Some(paths) = &mut self.paths {
            paths.leave();
        }
    }

    fn insert(
        &mut self,
        mapping: &mut Mapping,
        key: Node<'a>,
        value: Node<'a>,
    ) -> Result<(), YamlError> {
        let mark = key.mark;
        for kind in mapping.insert(key, value)? {
            self.odd(mark, kind);
        }
        Ok(())
    }

    fn finish(&mut self, mapping: Mapping, mark: Mark) -> Node<'a> {
        self.has_duplicates |= mapping.has_duplicates;
        let height = mapping.height + 1;
        Node { content: mapping.finish(), height, is_merge: false, is_alias: false, mark }
    }
}

/// Whether a token follows an empty document.
fn is_document_token(kind: &TokenKind<'_>) -> bool {
    matches!(
        kind,
        TokenKind::VersionDirective { .. }
            | TokenKind::TagDirective { .. }
            | TokenKind::DocumentStart
            | TokenKind::DocumentEnd
            | TokenKind::StreamEnd
    )
}
