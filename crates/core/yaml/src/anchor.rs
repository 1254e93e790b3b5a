//! Anchors, and the limits on what their aliases repeat.

use std::collections::HashMap;

use crate::compose::Content;
use crate::error::YamlProblem;
use crate::limits::{MAX_ALIAS_BYTES, MAX_ALIAS_NODES, MAX_NODES};

/// Up to this many nodes, go-yaml lets aliases make up 99 % of a document.
const SMALL_DOCUMENT: usize = 400_000;

/// From this many nodes on, go-yaml lets aliases make up 10 % of a document.
const LARGE_DOCUMENT: usize = 4_000_000;

/// A node that aliases may repeat.
#[derive(Clone, Debug)]
pub(crate) struct Anchor<'a> {
    pub(crate) content: Content<'a>,
    /// How deep collections nest inside.
    pub(crate) height: usize,
    nodes: usize,
    bytes: usize,
}

/// An anchor whose node is being composed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenAnchor {
    slot: usize,
    nodes: usize,
    bytes: usize,
}

/// The anchors of a document, and the number of nodes so far.
#[derive(Debug, Default)]
pub(crate) struct AnchorTable<'a> {
    names: HashMap<&'a str, usize>,
    /// Empty while the node is being composed.
    slots: Vec<Option<Anchor<'a>>>,
    nodes: usize,
    bytes: usize,
    kept_nodes: usize,
    kept_bytes: usize,
    alias_nodes: usize,
    alias_bytes: usize,
}

impl<'a> AnchorTable<'a> {
    /// Counts a node with that many bytes of text.
    pub(crate) fn count(&mut self, bytes: usize) -> Result<(), YamlProblem> {
        self.nodes += 1;
        self.bytes += bytes;
        if self.nodes > MAX_NODES { Err(YamlProblem::TooManyNodes) } else { self.check() }
    }

    /// Declares an anchor in front of its node: from here on the name means this node.
    pub(crate) fn open(&mut self, name: &'a str) -> OpenAnchor {
        let slot = self.slots.len();
        self.slots.push(None);
        self.names.insert(name, slot);
        OpenAnchor { slot, nodes: self.nodes, bytes: self.bytes }
    }

    /// Keeps the node of an anchor.
    pub(crate) fn close(
        &mut self,
        open: OpenAnchor,
        content: &Content<'a>,
        height: usize,
    ) -> Result<(), YamlProblem> {
        let (nodes, bytes) = (self.nodes - open.nodes, self.bytes - open.bytes);
        self.kept_nodes += nodes;
        self.kept_bytes += bytes;
        within_limits(self.kept_nodes, self.kept_bytes)?;
        self.slots[open.slot] = Some(Anchor { content: content.clone(), height, nodes, bytes });
        Ok(())
    }

    /// Repeats the node of an anchor.
    pub(crate) fn repeat(&mut self, name: &str) -> Result<Anchor<'a>, YamlProblem> {
        let unknown = || YamlProblem::UnknownAnchor(name.to_owned());
        let slot = *self.names.get(name).ok_or_else(unknown)?;
        let Some(anchor) = &self.slots[slot] else {
            return Err(YamlProblem::RecursiveAnchor(name.to_owned()));
        };
        let (nodes, bytes) = (anchor.nodes, anchor.bytes);
        self.nodes += 1 + nodes;
        self.bytes += bytes;
        self.alias_nodes += nodes;
        self.alias_bytes += bytes;
        within_limits(self.alias_nodes, self.alias_bytes)?;
        self.check()?;
        self.slots[slot].clone().ok_or_else(unknown)
    }

    /// The rule by which go-yaml refuses alias bombs.
    #[allow(clippy::cast_precision_loss)] // Both numbers are below MAX_NODES.
    fn check(&self) -> Result<(), YamlProblem> {
        if self.alias_nodes <= 100 || self.nodes <= 1000 {
            return Ok(());
        }
        let (low, high) = (SMALL_DOCUMENT as f64, LARGE_DOCUMENT as f64);
        let beyond = (self.nodes as f64 - low).clamp(0.0, high - low);
        let allowed = 0.99 - 0.89 * beyond / (high - low);
        let ratio = self.alias_nodes as f64 / self.nodes as f64;
        if ratio > allowed { Err(YamlProblem::ExcessiveAliasing) } else { Ok(()) }
    }
}

fn within_limits(nodes: usize, bytes: usize) -> Result<(), YamlProblem> {
    if nodes > MAX_ALIAS_NODES {
        return Err(YamlProblem::TooManyAliasNodes);
    }
    if bytes > MAX_ALIAS_BYTES {
        return Err(YamlProblem::TooManyAliasBytes);
    }
    Ok(())
}
