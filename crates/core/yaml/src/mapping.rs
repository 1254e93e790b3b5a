//! Mappings under construction: duplicate keys and merge keys.

use std::collections::HashMap;

use serde_json::map::Entry;
use serde_json::{Map, Value};

use crate::compose::{Content, Node, at};
use crate::error::{YamlError, YamlProblem};
use crate::oddity::OddityKind;
use crate::resolve::Scalar;

#[derive(Debug)]
pub(crate) struct Mapping {
    entries: Map<String, Value>,
    /// Keys whose value JSON cannot represent.
    unsupported: Vec<(String, Box<YamlError>)>,
    /// A key, or a merged mapping, that JSON cannot represent.
    unsupported_key: Option<Box<YamlError>>,
    /// The lines of keys, where they are kept.
    lines: Option<HashMap<String, u64>>,
    pub(crate) has_duplicates: bool,
    /// How deep collections nest in the values.
    pub(crate) height: usize,
}

impl Mapping {
    pub(crate) fn new(keeps_lines: bool) -> Self {
        Self {
            entries: Map::new(),
            unsupported: Vec::new(),
            unsupported_key: None,
            lines: keeps_lines.then(HashMap::new),
            has_duplicates: false,
            height: 0,
        }
    }

    /// Adds an entry, or merges the value if the key is a merge key. Returns the oddities of the
    /// entry.
    pub(crate) fn insert(
        &mut self,
        key: Node<'_>,
        value: Node<'_>,
    ) -> Result<Vec<OddityKind>, YamlError> {
        self.height = self.height.max(value.height);
        let mark = key.mark;
        if key.is_merge {
            return self.merge(value);
        }
        let Content::Scalar(scalar) = key.content else {
            return Err(at(mark, YamlProblem::CollectionKey));
        };
        let is_text = matches!(scalar, Scalar::Text(_));
        let key = match scalar.into_key() {
            Ok(key) => key,
            Err(problem) => {
                self.unsupported_key.get_or_insert_with(|| Box::new(at(mark, problem)));
                return Ok(Vec::new());
            }
        };
        let mut oddities = Vec::new();
        if !is_text {
            oddities.push(OddityKind::NonStringKey { key: key.clone() });
        }
        if let Some(lines) = &mut self.lines {
            let line = mark.line as u64 + 1;
            if let Some(first_line) = lines.insert(key.clone(), line) {
                oddities.push(OddityKind::DuplicateKey { key: key.clone(), first_line });
            }
        }
        self.set(key, value.into_value());
        Ok(oddities)
    }

    fn set(&mut self, key: String, value: Result<Value, Box<YamlError>>) {
        self.unsupported.retain(|(other, _)| *other != key);
        match value {
            Ok(value) => match self.entries.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                Entry::Occupied(mut entry) => {
                    self.has_duplicates = true;
                    entry.insert(value);
                }
            },
            Err(error) => {
                self.entries.remove(&key);
                self.unsupported.push((key, error));
            }
        }
    }

    /// Merges a mapping, or a list of mappings of which the first has precedence. Merged values
    /// replace values in front of the merge key: go-yaml decodes in the order of the text.
    fn merge(&mut self, value: Node<'_>) -> Result<Vec<OddityKind>, YamlError> {
        let mark = value.mark;
        let invalid = || at(mark, YamlProblem::InvalidMerge);
        let merged = match value.content {
            Content::Collection(Value::Object(merged)) => merged,
            // An alias may only stand for a mapping.
            Content::Collection(Value::Array(items)) if !value.is_alias => {
                let mut merged = Map::new();
                for item in items.into_iter().rev() {
                    let Value::Object(item) = item else { return Err(invalid()) };
                    merged.extend(item);
                }
                merged
            }
            Content::Collection(_) | Content::Scalar(_) => return Err(invalid()),
            Content::Unsupported(error) => {
                self.unsupported_key.get_or_insert(error);
                return Ok(Vec::new());
            }
        };
        let mut oddities = Vec::new();
        for (key, value) in merged {
            self.unsupported.retain(|(other, _)| *other != key);
            match self.entries.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                Entry::Occupied(mut entry) => {
                    if *entry.get() != value {
                        oddities.push(OddityKind::MergeOverride { key: entry.key().clone() });
                    }
                    entry.insert(value);
                }
            }
        }
        Ok(oddities)
    }

    pub(crate) fn finish<'a>(self) -> Content<'a> {
        let unsupported = self.unsupported.into_iter().map(|(_, error)| error).next();
        match self.unsupported_key.or(unsupported) {
            Some(error) => Content::Unsupported(error),
            None => Content::Collection(Value::Object(self.entries)),
        }
    }
}
