//! The documents of a file, one by one: a broken one does not hide what is wrong with the next.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use fairway_api::read::{self, Place, ReadError};
use serde::Deserialize;
use serde_json::Value;

use super::MAX_OBJECT_BYTES;
use super::problem::Problem;
use crate::go_json;
use crate::manifest::{Manifest, ObjectId};

/// Reads the documents of a file, one after the other; empty ones are nothing.
pub(super) fn read(
    path: &str,
    text: &str,
) -> impl Iterator<Item = Result<Option<Manifest>, Problem>> {
    let mut lines: BTreeMap<ObjectId, u64> = BTreeMap::new();
    chunks(text).map(move |chunk| {
        let Some(manifest) = manifest(path, &chunk)? else { return Ok(None) };
        let (id, place) = (Box::new(manifest.id.clone()), place(path, manifest.line));
        let size = manifest.json.len();
        if size > MAX_OBJECT_BYTES {
            return Err(Problem::ObjectTooLarge { place, id, size });
        }
        match lines.entry(manifest.id.clone()) {
            Entry::Occupied(first) => Err(Problem::Duplicate { place, id, first: *first.get() }),
            Entry::Vacant(entry) => {
                entry.insert(manifest.line);
                Ok(Some(manifest))
            }
        }
    })
}

/// A document, with the mark that begins it, and the number of lines before.
struct Chunk<'a> {
    text: &'a str,
    lines_before: u64,
}

impl Chunk<'_> {
    /// The line where there is something to read, counted from one.
    fn first_line(&self) -> u64 {
        let says_nothing = |line: &&str| {
            let line = line.trim();
            line.is_empty() || line.starts_with('#') || line == "---"
        };
        1 + self.lines_before + self.text.lines().take_while(says_nothing).count() as u64
    }
}

/// A mark at the beginning of a line always begins a document, even in the middle of a text.
fn chunks(text: &str) -> impl Iterator<Item = Chunk<'_>> {
    let mut rest = text;
    let mut lines_before = 0;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (chunk, after) = rest.split_at(next_mark(rest).unwrap_or(rest.len()));
        rest = after;
        let found = Chunk { text: chunk, lines_before };
        lines_before += chunk.matches('\n').count() as u64;
        Some(found)
    })
}

fn next_mark(text: &str) -> Option<usize> {
    let is_mark = |at: &usize| {
        text[at + 1..]
            .strip_prefix("---")
            .is_some_and(|after| after.is_empty() || after.starts_with([' ', '\t', '\r', '\n']))
    };
    text.match_indices('\n').map(|(at, _)| at).find(is_mark).map(|at| at + 1)
}

fn manifest(path: &str, chunk: &Chunk<'_>) -> Result<Option<Manifest>, ReadError> {
    let Some((value, json)) = value(path, chunk)? else { return Ok(None) };
    let line = chunk.first_line();
    let malformed = |field: &str, problem: &str| ReadError::Malformed {
        place: place(path, line),
        field: field.to_owned(),
        problem: problem.to_owned(),
    };
    if !value.is_object() {
        return Err(malformed("", "an object is wanted here, with apiVersion, kind and metadata"));
    }
    let Head { api_version, kind, metadata } = serde_path_to_error::deserialize(&value)
        .map_err(|error| malformed(&error.path().to_string(), &error.inner().to_string()))?;
    for (field, text) in
        [("apiVersion", &api_version), ("kind", &kind), ("metadata.name", &metadata.name)]
    {
        if text.is_empty() {
            return Err(malformed(field, "it is empty"));
        }
    }
    let file = path.rsplit('/').next().unwrap_or(path);
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let id = ObjectId {
        group: group.to_owned(),
        kind,
        namespace: metadata.namespace.unwrap_or_default(),
        name: metadata.name,
    };
    Ok(Some(Manifest {
        file: file.to_owned(),
        line,
        id,
        version: version.to_owned(),
        annotations: metadata.annotations.unwrap_or_default(),
        json: json.into(),
    }))
}

/// A document and its JSON: JSON stays as it was written, for that is what the version hash is of.
fn value(path: &str, chunk: &Chunk<'_>) -> Result<Option<(Value, String)>, ReadError> {
    let trimmed = chunk.text.trim();
    if trimmed.starts_with('{')
        && let Ok(value) = serde_json::from_str(trimmed)
    {
        return Ok(Some((value, trimmed.to_owned())));
    }
    let read: Option<Value> = read::document(path, chunk.text.as_bytes())
        .map_err(|error| further_down(error, chunk.lines_before))?;
    Ok(read.filter(|value| !value.is_null()).map(|value| {
        let json = go_json::write(&value);
        (value, json)
    }))
}

fn further_down(mut error: ReadError, lines: u64) -> ReadError {
    if let ReadError::Malformed { place: Place { position: Some((line, _)), .. }, .. } = &mut error
    {
        *line += lines;
    }
    error
}

fn place(path: &str, line: u64) -> Place {
    Place { source: path.to_owned(), position: Some((line, 1)) }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    api_version: String,
    kind: String,
    metadata: HeadMetadata,
}

#[derive(Deserialize)]
struct HeadMetadata {
    name: String,
    namespace: Option<String>,
    annotations: Option<BTreeMap<String, String>>,
}
