//! The `ImageStream` document of an `image-references` file.
//!
//! Documents are decoded as Go's JSON package decodes them: keys match case-insensitively, `null`
//! leaves a field unset, and no field is required.

use std::collections::BTreeMap;

use fairway_api::read::{self, InputLocation, ReadError};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::go_fields;
use crate::payload::PayloadWarning;

pub(crate) const API_VERSION: &str = "image.openshift.io/v1";
pub(crate) const KIND: &str = "ImageStream";

/// Kind of a tag whose image is pulled unchanged.
pub(crate) const DOCKER_IMAGE: &str = "DockerImage";

/// The annotation and image label that lists component versions: `kubernetes=1.31.2,other=1.0.0`.
pub(crate) const VERSIONS: &str = "io.openshift.build.versions";

/// Annotations by key. YAML files have keys without a value.
pub(crate) type Annotations = BTreeMap<String, Option<String>>;

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ImageStream {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: Spec,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ObjectMeta {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) creation_timestamp: Option<Timestamp>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: Annotations,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Spec {
    pub(crate) tags: Vec<Tag>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Tag {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: Annotations,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<Origin>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Origin {
    pub(crate) kind: String,
    pub(crate) name: String,
}

/// The maximum number of warnings about one file. One more says how many are omitted.
const MAX_WARNINGS: usize = 1000;

impl ImageStream {
    /// Decodes JSON or YAML. `name` is the name of the input in errors and warnings.
    pub(crate) fn read(name: &str, bytes: &[u8]) -> Result<(Self, Vec<PayloadWarning>), ReadError> {
        let mut document = go_fields::document(name, bytes)?;
        let mut warnings = go_fields::oddities(name, &document);
        let mut omitted = 0;
        Shape::STREAM.visit_other_case(&document.value, "", &mut |path, field| {
            // Each warning searches the keys for its line.
            if warnings.len() < MAX_WARNINGS {
                warnings.push(go_fields::other_case(name, &document, path, field));
            } else {
                omitted += 1;
            }
        });
        warnings.extend(
            (omitted > 0)
                .then(|| PayloadWarning::Omitted { file: name.to_owned(), count: omitted }),
        );
        let value = Shape::STREAM.canonical(std::mem::take(&mut document.value));
        if !value.is_object() {
            return Err(malformed(name, "", "expected an object"));
        }
        let stream: Self = read::value(name, &value)?;
        for (field, found, expected) in
            [("apiVersion", &stream.api_version, API_VERSION), ("kind", &stream.kind, KIND)]
        {
            if found != expected {
                let problem = format!("expected {expected:?}, found {found:?}");
                return Err(malformed(name, field, &problem));
            }
        }
        Ok((stream, warnings))
    }

    /// The tags that name an image: their positions, names and images.
    pub(crate) fn images(&self) -> impl Iterator<Item = (usize, &str, &str)> {
        let image = |(index, tag): (usize, &'_ Tag)| {
            let Origin { kind, .. } = tag.from.as_ref()?;
            (kind == DOCKER_IMAGE).then_some(index)
        };
        self.spec.tags.iter().enumerate().filter_map(image).map(|index| {
            let tag = &self.spec.tags[index];
            (index, tag.name.as_str(), tag.from.as_ref().map_or("", |from| from.name.as_str()))
        })
    }
}

pub(crate) fn malformed(file: &str, field: &str, problem: &str) -> ReadError {
    ReadError::Malformed {
        place: InputLocation { source: file.to_owned(), position: None },
        field: field.to_owned(),
        problem: problem.to_owned(),
    }
}

/// The fields of a document that are read.
enum Shape {
    /// A string. Go converts YAML numbers and booleans where it expects one.
    Text,
    /// Strings by key.
    Texts,
    List(&'static Self),
    Object(&'static [(&'static str, Self)]),
}

impl Shape {
    const STREAM: Self = Self::Object(&[
        ("apiVersion", Self::Text),
        ("kind", Self::Text),
        (
            "metadata",
            Self::Object(&[
                ("name", Self::Text),
                ("creationTimestamp", Self::Text),
                ("annotations", Self::Texts),
            ]),
        ),
        ("spec", Self::Object(&[("tags", Self::List(&Self::TAG))])),
    ]);

    const TAG: Self = Self::Object(&[
        ("name", Self::Text),
        ("annotations", Self::Texts),
        ("from", Self::Object(&[("kind", Self::Text), ("name", Self::Text)])),
    ]);

    /// Calls a function for every key that matches a field only in another case, with the path of
    /// the key and the field.
    fn visit_other_case(&self, value: &Value, path: &str, visit: &mut dyn FnMut(&str, &str)) {
        match (self, value) {
            (Self::List(item), Value::Array(items)) => {
                for (index, value) in items.iter().enumerate() {
                    item.visit_other_case(value, &format!("{path}[{index}]"), visit);
                }
            }
            (Self::Object(fields), Value::Object(map)) => {
                let dot = if path.is_empty() { "" } else { "." };
                for (key, value) in map {
                    let Some((field, shape)) =
                        fields.iter().find(|(field, _)| field.eq_ignore_ascii_case(key))
                    else {
                        continue;
                    };
                    let path = format!("{path}{dot}{key}");
                    if key != field {
                        visit(&path, field);
                    }
                    shape.visit_other_case(value, &path, visit);
                }
            }
            _ => {}
        }
    }

    /// The value with the canonical spelling of its keys, and without fields that are unset or not
    /// read. Recursion is as deep as the shape.
    fn canonical(&self, value: Value) -> Value {
        match (self, value) {
            (Self::Text, value @ (Value::Number(_) | Value::Bool(_))) => value.to_string().into(),
            (Self::Texts, Value::Object(map)) => {
                map.into_iter().map(|(key, value)| (key, Self::Text.canonical(value))).collect()
            }
            (Self::List(item), Value::Array(items)) => {
                items.into_iter().map(|value| item.canonical(value)).collect()
            }
            (Self::Object(fields), Value::Object(map)) => Value::Object(canonical(fields, map)),
            (_, value) => value,
        }
    }
}

fn canonical(fields: &[(&'static str, Shape)], map: Map<String, Value>) -> Map<String, Value> {
    let mut found = Map::new();
    for (key, value) in map {
        let Some((field, shape)) =
            fields.iter().find(|(field, _)| field.eq_ignore_ascii_case(&key))
        else {
            continue;
        };
        // Go sorts keys when it converts YAML, so the lower-case spelling comes last and wins.
        let is_overridden = key != *field && found.contains_key(*field);
        if !value.is_null() && !is_overridden {
            found.insert((*field).to_owned(), shape.canonical(value));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ImageStream, String> {
        let read = ImageStream::read("image-references", text.as_bytes());
        read.map(|(stream, _)| stream).map_err(|error| error.to_string())
    }

    #[test]
    fn read_with_other_letter_case_finds_fields() {
        let stream = read(
            "{APIVersion: image.openshift.io/v1, Kind: ImageStream, metadata: {annotations: {A: b}},
             Spec: {TAGS: [{name: a, From: {kind: DockerImage, Name: example/a}, other: 1}]}}",
        )
        .unwrap();
        assert_eq!(stream.images().collect::<Vec<_>>(), [(0, "a", "example/a")]);
        assert_eq!(stream.metadata.name, "");
        assert_eq!(stream.metadata.annotations["A"].as_deref(), Some("b"));
    }

    #[test]
    fn read_behind_a_comment_and_a_separator_finds_fields() {
        let text = "# images\n---\napiVersion: image.openshift.io/v1\nkind: ImageStream\nmetadata: {name: a}\n";
        assert_eq!(read(text).unwrap().metadata.name, "a");
    }

    #[test]
    fn read_returns_warnings_with_lines() {
        let text = "apiVersion: image.openshift.io/v1\nkind: ImageStream\nspec:\n  tags:\n  - name: a\n    \
                    name: b\n    From:\n      kind: DockerImage\n      Name: example/a\n    annotations: {Name: on}\n";
        let (_, warnings) = ImageStream::read("a/image-references", text.as_bytes()).unwrap();
        let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(warnings.join("\n"), @r#"
        a/image-references:6: duplicate key "name" overrides line 5
        a/image-references:10: unquoted on is the boolean true
        a/image-references:7: key "From" is read as "from"
        a/image-references:9: key "Name" is read as "name"
        "#);
    }

    #[test]
    fn read_with_two_spellings_prefers_the_canonical_one() {
        for tag in ["Name: b, name: a", "name: a, NAME: b", "NAME: b, Name: c, name: a"] {
            let text = format!(
                "{{apiVersion: image.openshift.io/v1, kind: ImageStream, spec: {{tags: [{{{tag}}}]}}}}"
            );
            assert_eq!(read(&text).unwrap().spec.tags[0].name, "a", "{tag}");
        }
    }

    #[test]
    fn read_with_null_fields_leaves_them_unset() {
        let stream = read(
            "{apiVersion: image.openshift.io/v1, kind: ImageStream, metadata: null,
             spec: {tags: [{name: a, from: null, annotations: null}]}}",
        )
        .unwrap();
        assert_eq!(stream.images().count(), 0);
    }

    #[test]
    fn read_with_numbers_and_booleans_returns_strings() {
        let stream = read(
            "{apiVersion: image.openshift.io/v1, kind: ImageStream, metadata: {name: 5},
             spec: {tags: [{name: true, annotations: {a: 1.5, b: null}}]}}",
        )
        .unwrap();
        let Tag { name, annotations, .. } = &stream.spec.tags[0];
        assert_eq!((stream.metadata.name.as_str(), name.as_str()), ("5", "true"));
        assert_eq!((&annotations["a"], &annotations["b"]), (&Some("1.5".to_owned()), &None));
    }

    #[test]
    fn read_of_other_documents_returns_an_error() {
        let errors = [
            "",
            "[]",
            "a: [",
            r#"{"kind": "ImageStream"}"#,
            r#"{"apiVersion": "v1", "kind": "ImageStream"}"#,
            r#"{"apiVersion": "image.openshift.io/v1", "kind": "Image"}"#,
            r#"{"apiVersion": "image.openshift.io/v1", "kind": "ImageStream", "spec": {"tags": [{"name": []}]}}"#,
        ]
        .map(|text| read(text).err().unwrap_or_default());
        insta::assert_snapshot!(errors.join("\n"), @r#"
        image-references: expected an object
        image-references: expected an object
        image-references:1:4: '[' is not closed
        image-references: field apiVersion: expected "image.openshift.io/v1", found ""
        image-references: field apiVersion: expected "image.openshift.io/v1", found "v1"
        image-references: field kind: expected "ImageStream", found "Image"
        image-references: field spec.tags[0].name: invalid type: sequence, expected a string
        "#);
    }

    #[test]
    fn read_of_many_keys_in_another_case_omits_warnings() {
        let tags: Vec<&str> = std::iter::repeat_n(r#"{"Name": "a"}"#, 20_000).collect();
        let text = format!(
            r#"{{"apiVersion": "image.openshift.io/v1", "kind": "ImageStream", "spec": {{"tags": [{}]}}}}"#,
            tags.join(",")
        );
        let (_, warnings) = ImageStream::read("image-references", text.as_bytes()).unwrap();
        assert_eq!(warnings.len(), MAX_WARNINGS + 1);
        assert!(matches!(warnings.last(), Some(PayloadWarning::Omitted { count: 19_000, .. })));
    }
}
