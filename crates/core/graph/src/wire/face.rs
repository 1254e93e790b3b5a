//! A node as it looks on the wire.

use std::collections::BTreeMap;

use fairway_api::UnknownFields;
use serde::Serialize;

use crate::graph::{Node, NodeId, key, without_architecture};

/// A node, already written.
#[derive(Debug)]
pub(super) struct Face {
    pub(super) node: NodeId,
    /// Its version, as a JSON string.
    pub(super) version: String,
    /// All of it, as a JSON object.
    pub(super) whole: String,
}

#[derive(Serialize)]
struct WireNode<'a> {
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<BTreeMap<&'a str, &'a str>>,
    #[serde(flatten)]
    unknown: &'a UnknownFields,
}

impl Face {
    /// A node as it is, or as clusters of one architecture see it: for them it goes without saying.
    pub(super) fn new(id: NodeId, node: &Node, architecture: Option<&str>) -> Self {
        let version = match architecture {
            Some(architecture) => without_architecture(&node.version, architecture).to_string(),
            None => node.version.to_string(),
        };
        let shown = |key: &str| match key {
            // How blocks were once handed on inside the service; it is no business of clients.
            key::PREVIOUS_REMOVE_REGEX => false,
            key::ARCHITECTURE => architecture.is_none(),
            _ => true,
        };
        let metadata = node.release.as_ref().map(|release| {
            let texts = release.metadata.iter().map(|(key, text)| (key.as_str(), text.as_str()));
            texts.filter(|(key, _)| shown(key)).collect()
        });
        let payload = node.release.as_ref().map(|release| release.payload.as_str());
        let whole = WireNode { version: &version, payload, metadata, unknown: &node.unknown };
        Self { node: id, whole: json(&whole), version: json(&version) }
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts and maps of texts can be written")
}
