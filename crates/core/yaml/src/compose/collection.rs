//! Block and flow collections.

use serde_json::Value;

use super::{Composer, Content, Node};
use crate::error::YamlError;
use crate::mapping::Mapping;
use crate::scan::Scanner;
use crate::token::{Mark, Token, TokenKind};

impl<'a> Composer<'a> {
    pub(super) fn block_sequence(&mut self, mark: Mark) -> Result<Node<'a>, YamlError> {
        self.scanner.next()?;
        let mut items = Items::default();
        loop {
            let Token { kind, mark: next } = self.scanner.next()?;
            match kind {
                TokenKind::BlockEnd => return Ok(items.finish(mark)),
                TokenKind::BlockEntry => {}
                _ => return Err(Scanner::error("expected '-' or the end of a sequence", next)),
            }
            let is_empty =
                |kind: &TokenKind<'_>| matches!(kind, TokenKind::BlockEntry | TokenKind::BlockEnd);
            self.enter_item(items.len());
            items.push(self.node_unless(is_empty, true, false)?);
            self.leave();
        }
    }

    /// A sequence that is not indented deeper than the key in front of it.
    pub(super) fn indentless_sequence(&mut self, mark: Mark) -> Result<Node<'a>, YamlError> {
        let mut items = Items::default();
        while self.is_next(|kind| matches!(kind, TokenKind::BlockEntry))? {
            self.scanner.next()?;
            let is_empty = |kind: &TokenKind<'_>| {
                matches!(kind, TokenKind::BlockEntry) || is_end_of_block_node(kind)
            };
            self.enter_item(items.len());
            items.push(self.node_unless(is_empty, true, false)?);
            self.leave();
        }
        Ok(items.finish(mark))
    }

    pub(super) fn block_mapping(&mut self, mark: Mark) -> Result<Node<'a>, YamlError> {
        self.scanner.next()?;
        let mut mapping = Mapping::new(self.keeps_lines);
        loop {
            let Token { kind, mark: next } = self.scanner.next()?;
            match kind {
                TokenKind::BlockEnd => return Ok(self.finish(mapping, mark)),
                TokenKind::Key => {}
                _ => return Err(Scanner::error("expected a key or the end of a mapping", next)),
            }
            let key = self.node_unless(is_end_of_block_node, true, true)?;
            self.enter_value(&key);
            let value = if self.is_next(|kind| matches!(kind, TokenKind::Value))? {
                self.scanner.next()?;
                self.node_unless(is_end_of_block_node, true, true)?
            } else {
                self.empty(next)?
            };
            self.leave();
            self.insert(&mut mapping, key, value)?;
        }
    }

    pub(super) fn flow_sequence(&mut self, mark: Mark) -> Result<Node<'a>, YamlError> {
        self.scanner.next()?;
        let is_end = |kind: &TokenKind<'_>| matches!(kind, TokenKind::FlowSequenceEnd);
        let mut items = Items::default();
        while self.begins_entry(is_end, items.is_empty(), "expected ',' or ']'")? {
            self.enter_item(items.len());
            if !self.is_next(|kind| matches!(kind, TokenKind::Key))? {
                items.push(self.node(false, false)?);
                self.leave();
                continue;
            }
            let Token { mark: pair, .. } = self.scanner.next()?;
            self.count(pair, 0)?;
            let mut mapping = Mapping::new(self.keeps_lines);
            let is_entry_end =
                |kind: &TokenKind<'_>| is_end(kind) || matches!(kind, TokenKind::FlowEntry);
            let key = if self.is_next(|kind| is_entry_end(kind) || is_value(kind))? {
                // libyaml drops this token; null is no key in any case.
                self.scanner.next()?;
                self.empty(pair)?
            } else {
                self.node(false, false)?
            };
            self.enter_value(&key);
            let value = self.flow_value(is_entry_end)?;
            self.leave();
            self.leave();
            self.insert(&mut mapping, key, value)?;
            items.push(self.finish(mapping, pair));
        }
        Ok(items.finish(mark))
    }

    pub(super) fn flow_mapping(&mut self, mark: Mark) -> Result<Node<'a>, YamlError> {
        self.scanner.next()?;
        let is_end = |kind: &TokenKind<'_>| matches!(kind, TokenKind::FlowMappingEnd);
        let mut mapping = Mapping::new(self.keeps_lines);
        let mut is_first = true;
        while self.begins_entry(is_end, is_first, "expected ',' or '}'")? {
            is_first = false;
            let (key, value) = if self.is_next(|kind| matches!(kind, TokenKind::Key))? {
                self.scanner.next()?;
                let is_entry_end =
                    |kind: &TokenKind<'_>| is_end(kind) || matches!(kind, TokenKind::FlowEntry);
                let is_no_key = |kind: &TokenKind<'_>| is_entry_end(kind) || is_value(kind);
                let key = self.node_unless(is_no_key, false, false)?;
                self.enter_value(&key);
                let value = self.flow_value(is_entry_end)?;
                self.leave();
                (key, value)
            } else {
                let key = self.node(false, false)?;
                let mark = key.mark;
                (key, self.empty(mark)?)
            };
            self.insert(&mut mapping, key, value)?;
        }
        Ok(self.finish(mapping, mark))
    }

    /// Takes the comma in front of an entry, or the end of the collection.
    fn begins_entry(
        &mut self,
        is_end: impl Fn(&TokenKind<'a>) -> bool,
        is_first: bool,
        problem: &'static str,
    ) -> Result<bool, YamlError> {
        if !is_first && !self.is_next(&is_end)? {
            let Token { kind, mark } = self.scanner.next()?;
            if !matches!(kind, TokenKind::FlowEntry) {
                return Err(Scanner::error(problem, mark));
            }
        }
        if self.is_next(&is_end)? {
            self.scanner.next()?;
            return Ok(false);
        }
        Ok(true)
    }

    /// The value of a key in a flow collection.
    fn flow_value(
        &mut self,
        is_entry_end: impl Fn(&TokenKind<'a>) -> bool,
    ) -> Result<Node<'a>, YamlError> {
        if self.is_next(is_value)? {
            self.scanner.next()?;
            return self.node_unless(is_entry_end, false, false);
        }
        let mark = self.scanner.peek()?.mark;
        self.empty(mark)
    }
}

fn is_value(kind: &TokenKind<'_>) -> bool {
    matches!(kind, TokenKind::Value)
}

/// Whether a token follows an empty key or value in a block mapping.
fn is_end_of_block_node(kind: &TokenKind<'_>) -> bool {
    matches!(kind, TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd)
}

/// A sequence under construction.
#[derive(Default)]
struct Items {
    values: Vec<Value>,
    unsupported: Option<Box<YamlError>>,
    height: usize,
}

impl Items {
    fn is_empty(&self) -> bool {
        self.values.is_empty() && self.unsupported.is_none()
    }

    fn len(&self) -> usize {
        self.values.len()
    }

    fn push(&mut self, node: Node<'_>) {
        self.height = self.height.max(node.height);
        match node.into_value() {
            Ok(value) => self.values.push(value),
            Err(error) => {
                self.unsupported.get_or_insert(error);
            }
        }
    }

    fn finish<'a>(self, mark: Mark) -> Node<'a> {
        let content = match self.unsupported {
            Some(error) => Content::Unsupported(error),
            None => Content::Collection(Value::Array(self.values)),
        };
        Node { content, height: self.height + 1, is_merge: false, is_alias: false, mark }
    }
}
