//! The documents of a file, one by one: a broken document does not hide problems of the next.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use fairway_api::read::{InputLocation, ReadError};
use fairway_yaml::{Document, YamlError};
use serde_json::Value;

use super::MAX_OBJECT_BYTES;
use super::problem::{PayloadProblem, PayloadWarning};
use crate::manifest::{Manifest, ObjectId};

/// A document of a file: its manifest unless it is empty, and warnings about it.
pub(super) type Read = (Result<Option<Manifest>, PayloadProblem>, Vec<PayloadWarning>);

/// Reads the documents of a file as the Go operator reads them, one after the other.
pub(super) fn read<'a>(path: &'a str, bytes: &'a [u8]) -> impl Iterator<Item = Read> + 'a {
    let mut lines: BTreeMap<ObjectId, u64> = BTreeMap::new();
    fairway_yaml::documents(bytes).map(move |document| {
        let mut document = match document {
            Ok(document) => document,
            Err(error) => return (Err(malformed(path, error).into()), Vec::new()),
        };
        let oddities = std::mem::take(&mut document.oddities).into_iter();
        let file = || path.to_owned();
        let mut warnings: Vec<PayloadWarning> =
            oddities.map(|oddity| PayloadWarning::Oddity { file: file(), oddity }).collect();
        let read = manifest(path, document, &mut warnings).map_err(PayloadProblem::from);
        let read = read.and_then(|manifest| match manifest {
            Some(manifest) => check(path, &manifest, &mut lines).map(|()| Some(manifest)),
            None => Ok(None),
        });
        (read, warnings)
    })
}

/// Refuses objects that are too large, or in the file already.
fn check(
    path: &str,
    manifest: &Manifest,
    lines: &mut BTreeMap<ObjectId, u64>,
) -> Result<(), PayloadProblem> {
    let (id, place) = (Box::new(manifest.id.clone()), place(path, manifest.line));
    let size = manifest.json.len();
    if size > MAX_OBJECT_BYTES {
        return Err(PayloadProblem::ObjectTooLarge { place, id, size });
    }
    match lines.entry(manifest.id.clone()) {
        Entry::Occupied(first) => Err(PayloadProblem::Duplicate { place, id, first: *first.get() }),
        Entry::Vacant(entry) => {
            entry.insert(manifest.line);
            Ok(())
        }
    }
}

/// The error of the decoder, for the file.
pub(crate) fn malformed(path: &str, error: YamlError) -> ReadError {
    let YamlError { line, column, problem } = error;
    ReadError::Malformed {
        place: InputLocation { source: path.to_owned(), position: Some((line, column)) },
        field: String::new(),
        problem: problem.to_string(),
    }
}

fn manifest(
    path: &str,
    document: Document,
    warnings: &mut Vec<PayloadWarning>,
) -> Result<Option<Manifest>, ReadError> {
    let Document { value, json, line, oddities: _ } = document;
    if value.is_null() {
        return Ok(None);
    }
    let malformed = |field: &str, problem: &str| ReadError::Malformed {
        place: place(path, line),
        field: field.to_owned(),
        problem: problem.to_owned(),
    };
    if !value.is_object() {
        return Err(malformed("", "expected an object with apiVersion, kind and metadata"));
    }
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let required = |pointer: &str, field: &str| match text(pointer) {
        "" => Err(malformed(field, "expected a non-empty string")),
        text => Ok(text.to_owned()),
    };
    let api_version = required("/apiVersion", "apiVersion")?;
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let id = ObjectId {
        group: group.to_owned(),
        kind: required("/kind", "kind")?,
        // The Go operator reads a namespace of another type as none.
        namespace: text("/metadata/namespace").to_owned(),
        name: required("/metadata/name", "metadata.name")?,
    };
    let annotations = annotations(&value).unwrap_or_else(|key| {
        warnings.push(PayloadWarning::Annotations { file: path.to_owned(), line, key });
        BTreeMap::new()
    });
    let file = path.rsplit('/').next().unwrap_or(path);
    // JSON stays as it is written, since the version hash is computed over these bytes.
    let json = json.unwrap_or_else(|| fairway_yaml::to_json(&value));
    Ok(Some(Manifest {
        file: file.to_owned(),
        line,
        id,
        version: version.to_owned(),
        annotations,
        zero_values: [].into(),
        json: json.into(),
    }))
}

/// The annotations of an object. The Go operator ignores all of them if one is not a string; the
/// error is the key of that annotation.
fn annotations(object: &Value) -> Result<BTreeMap<String, String>, String> {
    let Some(Value::Object(annotations)) = object.pointer("/metadata/annotations") else {
        return Ok(BTreeMap::new());
    };
    let text = |(key, value): (&String, &Value)| {
        let value = value.as_str().ok_or_else(|| key.clone())?;
        Ok((key.clone(), value.to_owned()))
    };
    annotations.iter().map(text).collect()
}

fn place(path: &str, line: u64) -> InputLocation {
    InputLocation { source: path.to_owned(), position: Some((line, 1)) }
}
