//! Objects in files, alone or in lists.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use fairway_api::read;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cluster::kind::{Kind, Selection};
use crate::errors::WithHint;

/// An object, and where it was found.
#[derive(Clone)]
pub(super) struct Object {
    file: Arc<str>,
    /// Empty where nothing says so.
    group: String,
    /// Empty where nothing says so.
    kind: String,
    value: Arc<Value>,
}

impl Object {
    /// Whether it is of that kind.
    pub(super) fn is_a(&self, kind: &Kind) -> bool {
        self.kind == kind.kind && self.group == kind.group
    }

    /// Whether it says that it is of another kind. Not everybody writes down what is obvious.
    pub(super) fn is_another(&self, kind: &Kind) -> bool {
        !self.kind.is_empty() && self.kind != kind.kind
    }

    /// Whether it is one of those, if its kind is right.
    pub(super) fn is_in(&self, wanted: Selection<'_>) -> bool {
        wanted.namespace.is_none_or(|namespace| self.metadata("namespace") == namespace)
    }

    pub(super) fn name(&self) -> &str {
        self.metadata("name")
    }

    fn metadata(&self, field: &str) -> &str {
        self.value["metadata"][field].as_str().unwrap_or_default()
    }

    /// The object as its type has it.
    pub(super) fn read<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        let name = match self.name() {
            "" => self.file.to_string(),
            name => format!("{}: {name}", self.file),
        };
        Ok(read::value(&name, &self.value)?)
    }
}

/// The objects of a file; those of lists one by one. `None` where there is no such file.
pub(super) fn all_in(path: &Path) -> anyhow::Result<Option<Vec<Object>>> {
    let Some(bytes) = bytes(path)? else { return Ok(None) };
    let file: Arc<str> = path.display().to_string().into();
    let documents: Vec<Value> = read::documents(&file, &bytes)?;
    let mut objects = Vec::new();
    for document in documents {
        objects.extend(each(&file, document)?);
    }
    Ok(Some(objects))
}

/// The objects of a file that somebody named.
pub(super) fn named_in(path: &Path) -> anyhow::Result<Vec<Object>> {
    all_in(path)?.with_context(|| WithHint {
        message: format!("{} is not there", path.display()),
        hint: "`kubectl get clusterversion version -o yaml > X-cv.yaml` writes one".to_owned(),
    })
}

/// What is in a document. What a typed list has in it does not say its kind again.
fn each(file: &Arc<str>, mut document: Value) -> anyhow::Result<Vec<Object>> {
    let (group, kind) = (group(&document).to_owned(), kind(&document).to_owned());
    let object =
        |group, kind, value| Object { file: Arc::clone(file), group, kind, value: Arc::new(value) };
    let items = match document.get_mut("items").map(Value::take) {
        None => return Ok(vec![object(group, kind, document)]),
        Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items,
        Some(_) => bail!("{file}: items is not a list"),
    };
    let of_items = kind.strip_suffix("List").unwrap_or_default();
    let item = |item: Value| match self::kind(&item) {
        "" => object(group.clone(), of_items.to_owned(), item),
        kind => object(self::group(&item).to_owned(), kind.to_owned(), item),
    };
    Ok(items.into_iter().map(item).collect())
}

fn kind(document: &Value) -> &str {
    document["kind"].as_str().unwrap_or_default()
}

fn group(document: &Value) -> &str {
    let version = document["apiVersion"].as_str().unwrap_or_default();
    version.split_once('/').map_or("", |(group, _)| group)
}

/// What is in a file; none where there is no such file.
pub(super) fn bytes(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    let name = path.display().to_string();
    let read = File::open(path).and_then(|file| read::bytes(&name, file));
    match read {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {name}")),
    }
}
