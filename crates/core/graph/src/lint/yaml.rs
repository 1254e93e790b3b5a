//! YAML files of graph-data with the position of every value.

use std::fmt;
use std::ops::Range;

use fairway_api::read;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

use super::report::{FileRegion, LintFinding, LintRule};
use crate::data::{Position, Severity};
use crate::files::Files;

/// A parsed YAML file.
pub(super) struct YamlFile<'a> {
    pub(super) path: &'a str,
    pub(super) text: &'a str,
    pub(super) tree: YamlNode,
}

/// The YAML files directly in a directory, sorted by path. Invalid files are omitted; rule `schema`
/// reports them.
pub(super) fn files_in<'a>(files: &'a Files, directory: &'a str) -> Vec<YamlFile<'a>> {
    let yaml = |path: &str| matches!(path.rsplit_once('.'), Some((_, "yaml" | "yml")));
    files
        .below(directory)
        .filter(|(path, _)| yaml(path))
        .filter_map(|(path, bytes)| {
            let text = std::str::from_utf8(bytes).ok()?;
            Some(YamlFile { path, text, tree: YamlNode::read(path, bytes)? })
        })
        .collect()
}

impl YamlFile<'_> {
    /// A finding in a part of the file.
    pub(super) fn finding(
        &self,
        rule: &'static LintRule,
        severity: Severity,
        span: Range<usize>,
        message: impl Into<String>,
    ) -> LintFinding {
        let region = Some(FileRegion::new(self.text, span));
        LintFinding { region, ..rule.in_file(severity, self.path, message) }
    }

    /// Byte range of an item of a list.
    pub(super) fn item(&self, list: &str, item: &str) -> Option<Range<usize>> {
        let items = self.tree.get(list)?.items();
        items.iter().find(|found| found.text() == Some(item)).map(|found| found.span.clone())
    }

    /// The source text of a value.
    pub(super) fn source_of(&self, tree: &YamlNode) -> &str {
        self.text.get(tree.span.clone()).unwrap_or_default()
    }
}

/// Byte range from a position to the end of its line.
pub(super) fn rest_of_line(text: &str, position: Position) -> Range<usize> {
    let before = usize::try_from(position.line.saturating_sub(1)).unwrap_or(usize::MAX);
    let line_start: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
    let line = text[line_start..].lines().next().unwrap_or_default();
    let column = usize::try_from(position.column.saturating_sub(1)).unwrap_or(usize::MAX);
    let skipped: usize = line.chars().take(column).map(char::len_utf8).sum();
    line_start + skipped..line_start + line.trim_end().len().max(skipped)
}

/// A YAML value and its byte range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct YamlNode {
    pub(super) value: YamlValue,
    pub(super) span: Range<usize>,
}

/// Type of a YAML value without a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum YamlValue {
    /// A null or a boolean.
    Constant,
    Number,
    Text(String),
    List(Vec<YamlNode>),
    Map(Vec<(YamlKey, YamlNode)>),
}

/// A key of a mapping and its byte range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct YamlKey {
    pub(super) name: String,
    pub(super) span: Range<usize>,
}

impl YamlNode {
    /// Parses a document; `None` if it is invalid.
    pub(super) fn read(path: &str, bytes: &[u8]) -> Option<Self> {
        read::document(path, bytes).ok()
    }

    /// Entries of a mapping.
    pub(super) fn entries(&self) -> &[(YamlKey, Self)] {
        match &self.value {
            YamlValue::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The entry with a key.
    pub(super) fn entry(&self, name: &str) -> Option<&(YamlKey, Self)> {
        self.entries().iter().find(|(key, _)| key.name == name)
    }

    /// The value of a key.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        self.entry(name).map(|(_, value)| value)
    }

    /// Items of a sequence.
    pub(super) fn items(&self) -> &[Self] {
        match &self.value {
            YamlValue::List(items) => items,
            _ => &[],
        }
    }

    /// The string, if the value is one.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            YamlValue::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for YamlNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value, referenced, .. } = Spanned::<YamlValue>::deserialize(deserializer)?;
        Ok(Self { value, span: span(&referenced) })
    }
}

impl<'de> Deserialize<'de> for YamlKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value, referenced, .. } = Spanned::<String>::deserialize(deserializer)?;
        Ok(Self { name: value, span: span(&referenced) })
    }
}

fn span(location: &Location) -> Range<usize> {
    let number = |number: Option<u64>| usize::try_from(number.unwrap_or(0)).unwrap_or(0);
    let (start, length) = (location.span().byte_offset(), location.span().byte_len());
    number(start)..number(start) + number(length)
}

impl<'de> Deserialize<'de> for YamlValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(YamlValueVisitor)
    }
}

struct YamlValueVisitor;

impl<'de> Visitor<'de> for YamlValueVisitor {
    type Value = YamlValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_unit<E>(self) -> Result<YamlValue, E> {
        Ok(YamlValue::Constant)
    }

    fn visit_none<E>(self) -> Result<YamlValue, E> {
        Ok(YamlValue::Constant)
    }

    fn visit_bool<E>(self, _: bool) -> Result<YamlValue, E> {
        Ok(YamlValue::Constant)
    }

    fn visit_f64<E>(self, _: f64) -> Result<YamlValue, E> {
        Ok(YamlValue::Number)
    }

    fn visit_i64<E>(self, _: i64) -> Result<YamlValue, E> {
        Ok(YamlValue::Number)
    }

    fn visit_u64<E>(self, _: u64) -> Result<YamlValue, E> {
        Ok(YamlValue::Number)
    }

    fn visit_str<E>(self, text: &str) -> Result<YamlValue, E> {
        Ok(YamlValue::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<YamlValue, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(YamlValue::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<YamlValue, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(YamlValue::Map(entries))
    }
}
