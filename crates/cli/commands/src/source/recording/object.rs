//! Objects in files, alone or in lists.

use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use fairway_api::read;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::file;
use crate::cluster::kind::{Kind, Selection};
use crate::input;

/// Object and its file.
#[derive(Clone)]
pub(super) struct Object {
    file: Arc<str>,
    value: Arc<Value>,
}

impl Object {
    /// Whether the object is of a kind. Its API group may be missing.
    pub(super) fn is_a(&self, kind: &Kind) -> bool {
        let group = self.value["apiVersion"].as_str().map(group);
        self.kind() == kind.name && group.is_none_or(|group| group == kind.group)
    }

    /// Whether the object states another kind. Its kind may be missing.
    pub(super) fn is_other_kind(&self, kind: &Kind) -> bool {
        !self.kind().is_empty() && !self.is_a(kind)
    }

    /// Whether the object matches the namespace and label of a selection.
    pub(super) fn is_in(&self, wanted: Selection<'_>) -> bool {
        let namespace = wanted.namespace.is_none_or(|it| self.metadata("namespace") == it);
        let label = |(key, value): (&str, &str)| self.value["metadata"]["labels"][key] == *value;
        namespace && wanted.label.is_none_or(label)
    }

    /// Whether two objects have the same content.
    pub(super) fn equals(&self, other: &Self) -> bool {
        self.value == other.value
    }

    /// Whether two `ClusterVersions` may be of one cluster. A must-gather takes time, so their
    /// content may differ.
    pub(super) fn may_share_cluster_with(&self, other: &Self) -> bool {
        if self.uid().is_empty() || other.uid().is_empty() {
            self.equals(other)
        } else {
            self.uid() == other.uid()
        }
    }

    /// UID, empty for an object that was never in a cluster.
    pub(super) fn uid(&self) -> &str {
        self.metadata("uid")
    }

    /// Sort key of lists of the API server.
    pub(super) fn list_key(&self) -> (String, String) {
        (self.metadata("namespace").to_owned(), self.name().to_owned())
    }

    pub(super) fn name(&self) -> &str {
        self.metadata("name")
    }

    /// File of the object.
    pub(super) fn file(&self) -> &str {
        &self.file
    }

    fn kind(&self) -> &str {
        kind(&self.value)
    }

    fn metadata(&self, field: &str) -> &str {
        self.value["metadata"][field].as_str().unwrap_or_default()
    }

    /// Deserializes the object.
    pub(super) fn read<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        let name = match self.name() {
            "" => self.file.to_string(),
            name => format!("{}: {name}", self.file),
        };
        Ok(read::value(&name, &self.value)?)
    }
}

/// Objects of a file, including those of lists; `None` if it does not exist.
pub(super) fn all_in(path: &Path) -> anyhow::Result<Option<Vec<Object>>> {
    file::bytes(path)?.map(|bytes| of_bytes(path, &bytes)).transpose()
}

/// Objects in the content of a file.
pub(super) fn of_bytes(path: &Path, bytes: &[u8]) -> anyhow::Result<Vec<Object>> {
    let file: Arc<str> = input::name(path).into();
    let mut objects = Vec::new();
    for document in read::documents(&file, bytes)? {
        for mut value in each(&file, document)? {
            complete(&mut value);
            objects.push(Object { file: Arc::clone(&file), value: Arc::new(value) });
        }
    }
    Ok(objects)
}

/// Objects of a document. Items of a typed list have no kind; it follows from the list.
fn each(file: &str, mut document: Value) -> anyhow::Result<Vec<Value>> {
    let mut items = match document.get_mut("items").map(Value::take) {
        None => return Ok(vec![document]),
        Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items,
        Some(_) => bail!("{file}: items is not a list"),
    };
    if let Some(kind) = kind(&document).strip_suffix("List").filter(|kind| !kind.is_empty()) {
        let untyped = items.iter_mut().filter_map(Value::as_object_mut);
        for item in untyped.filter(|item| !item.contains_key("kind")) {
            item.insert("kind".to_owned(), kind.into());
            item.insert("apiVersion".to_owned(), document["apiVersion"].clone());
        }
    }
    items.retain(|item| !item.is_null());
    Ok(items)
}

/// Completes a hand-written object as the API server would: no `null`, and a spec.
fn complete(object: &mut Value) {
    remove_nulls(object);
    if let Value::Object(fields) = object {
        fields.entry("spec").or_insert_with(|| Value::Object(Map::new()));
    }
}

/// Removes `null` values. The depth of documents is limited, so the recursion is, too.
fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(remove_nulls);
        }
        Value::Array(items) => {
            items.retain(|item| !item.is_null());
            items.iter_mut().for_each(remove_nulls);
        }
        _ => {}
    }
}

fn kind(document: &Value) -> &str {
    document["kind"].as_str().unwrap_or_default()
}

fn group(version: &str) -> &str {
    version.split_once('/').map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::kind::{CLUSTER_OPERATORS, CONFIG_MAPS, NODES};

    fn objects(text: &str) -> Vec<Object> {
        of_bytes(Path::new("x.yaml"), text.as_bytes()).unwrap()
    }

    #[test]
    fn from_bytes_reads_objects_lists_and_documents() {
        for (text, names) in [
            ("kind: Node\napiVersion: v1\nmetadata: {name: a}", &["a"][..]),
            ("kind: List\nitems:\n- {kind: Node, apiVersion: v1, metadata: {name: a}}", &["a"]),
            ("kind: NodeList\napiVersion: v1\nitems: [{metadata: {name: a}}]", &["a"]),
            (
                "---\nkind: Node\nmetadata: {name: a}\n---\n---\nkind: Node\nmetadata: {name: b}",
                &["a", "b"],
            ),
            ("kind: NodeList\nitems: null", &[]),
            ("kind: Node\napiVersion: example.com/v1\nmetadata: {name: a}", &[]),
            ("kind: Pod\nmetadata: {name: a}\n---\nnonsense\n---\n[1, 2]", &[]),
        ] {
            let found = objects(text);
            let found: Vec<&str> =
                found.iter().filter(|it| it.is_a(&NODES)).map(Object::name).collect();
            assert_eq!(found, names, "{text}");
        }
    }

    #[test]
    fn object_without_kind_matches_any() {
        let found = objects("metadata: {name: a}");
        assert!(!found[0].is_other_kind(&NODES) && !found[0].is_a(&NODES));
        let found = objects("kind: Node\napiVersion: v1");
        assert!(found[0].is_other_kind(&CLUSTER_OPERATORS));
    }

    #[test]
    fn selection_matches_namespace_and_label() {
        let found =
            objects("kind: ConfigMap\nmetadata: {name: a, namespace: team, labels: {x: some}}");
        let all = CONFIG_MAPS.all();
        for (wanted, is_in) in [
            (all, true),
            (all.within("team"), true),
            (all.within("other"), false),
            (all.within("team").labelled("x", "some"), true),
            (all.labelled("x", "other"), false),
            (all.labelled("w", "some"), false),
        ] {
            assert_eq!(found[0].is_in(wanted), is_in, "{wanted:?}");
        }
    }
}
