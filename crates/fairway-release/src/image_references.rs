//! `image-references`: which image each name in a release stands for.

use std::collections::{BTreeMap, BTreeSet};

use fairway_api::read::{Place, ReadError};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::go_fields;

/// Where a release image keeps it.
pub const PATH: &str = "release-manifests/image-references";

const API_VERSION: &str = "image.openshift.io/v1";
const KIND: &str = "ImageStream";

/// What an image comes from that is pulled as it is.
const IMAGE: &str = "DockerImage";

/// The annotation that says which versions of what an image brings: `kubernetes=1.31.2,other=1.0.0`.
const VERSIONS: &str = "io.openshift.build.versions";

/// The images of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageReferences {
    /// The name of the release, which is its version.
    pub name: String,
    /// When the release was made.
    pub created: Option<Timestamp>,
    /// The images by name.
    pub images: BTreeMap<String, String>,
    /// What they bring, such as `kubernetes`, with every version that one of them names.
    pub components: BTreeMap<String, BTreeSet<String>>,
}

impl ImageReferences {
    /// Reads the file of a release image, JSON or YAML. `name` is what people call it; errors begin
    /// with it.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Self, ReadError> {
        let stream = ImageStream::read(name, bytes)?;
        let missing = || malformed(name, "metadata", "it is missing, and says which release it is");
        let ObjectMeta { name: release, creation_timestamp: created } =
            stream.metadata.ok_or_else(missing)?;
        let components = components_of(&stream.spec);
        let mut images = BTreeMap::new();
        for (index, (tag, image)) in images_of(stream.spec) {
            if images.insert(tag.clone(), image).is_some() {
                let problem = format!("{tag:?} is there twice, and could mean either");
                return Err(malformed(name, &format!("spec.tags[{index}].name"), &problem));
            }
        }
        Ok(Self { name: release, created, images, components })
    }

    /// The version of something that the release brings, such as `kubernetes`; `None` if it does not
    /// say, or says several.
    pub fn component(&self, name: &str) -> Option<&str> {
        let mut versions = self.components.get(name)?.iter();
        versions.next().filter(|_| versions.next().is_none()).map(String::as_str)
    }

    /// The file of a release image. Which image brings a component is not known any more: the first
    /// one says it for all of them.
    pub fn write(&self) -> String {
        let Self { name, created, images, components } = self;
        let mut brought = annotations(components);
        let tag = |(name, image): (&String, &String)| Tag {
            name: name.clone(),
            annotations: brought.take(),
            from: Some(Origin { kind: IMAGE.to_owned(), name: image.clone() }),
        };
        let stream = ImageStream {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            metadata: Some(ObjectMeta { name: name.clone(), creation_timestamp: *created }),
            spec: Spec { tags: images.iter().map(tag).collect() },
        };
        serde_json::to_string_pretty(&stream).expect("texts and times are JSON")
    }
}

/// What the images in an operator's manifests stand for, before it is part of a release: images of
/// the release, by the words that its file `image-references` has for them.
pub fn placeholders(name: &str, bytes: &[u8]) -> Result<BTreeMap<String, String>, ReadError> {
    let stream = ImageStream::read(name, bytes)?;
    let mut placeholders: BTreeMap<String, String> = BTreeMap::new();
    for (index, (tag, word)) in images_of(stream.spec) {
        let field = format!("spec.tags[{index}].from.name");
        if word.is_empty() || !word.chars().all(is_part_of_word) {
            return Err(malformed(name, &field, &format!("{word:?} is no name of an image")));
        }
        if let Some(other) = placeholders.insert(word.clone(), tag.clone())
            && other != tag
        {
            let problem = format!("{word} stands for {other:?} as well, and could mean either");
            return Err(malformed(name, &field, &problem));
        }
    }
    Ok(placeholders)
}

/// Letters of an image's name or of a version: what is between others is a word.
pub(crate) fn is_part_of_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "._-/:@+".contains(letter)
}

fn images_of(spec: Spec) -> impl Iterator<Item = (usize, (String, String))> {
    let image = |tag: Tag| {
        let Origin { kind, name } = tag.from?;
        (kind == IMAGE).then_some((tag.name, name))
    };
    spec.tags.into_iter().enumerate().filter_map(move |(index, tag)| Some((index, image(tag)?)))
}

/// How an image says what it brings; nothing if that is nothing.
fn annotations(
    components: &BTreeMap<String, BTreeSet<String>>,
) -> Option<BTreeMap<String, Option<String>>> {
    let pairs = components.iter().flat_map(|(name, versions)| {
        versions.iter().map(move |version| format!("{name}={version}"))
    });
    let list = pairs.collect::<Vec<_>>().join(",");
    (!list.is_empty()).then(|| BTreeMap::from([(VERSIONS.to_owned(), Some(list))]))
}

/// What makes no sense there is passed over: it only helps those who ask for it.
fn components_of(spec: &Spec) -> BTreeMap<String, BTreeSet<String>> {
    let lists =
        spec.tags.iter().filter_map(|tag| tag.annotations.as_ref()?.get(VERSIONS)?.as_deref());
    let pairs = lists.flat_map(|list| list.split(',')).filter_map(|pair| pair.split_once('='));
    let mut components: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, version) in pairs {
        let versions = components.entry(name.trim().to_owned()).or_default();
        versions.insert(version.trim().to_owned());
    }
    components
}

fn malformed(file: &str, field: &str, problem: &str) -> ReadError {
    ReadError::Malformed {
        place: Place { source: file.to_owned(), position: None },
        field: field.to_owned(),
        problem: problem.to_owned(),
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ImageStream {
    api_version: String,
    kind: String,
    // Files of operators have none.
    metadata: Option<ObjectMeta>,
    #[serde(default, deserialize_with = "go_fields::null_is_default")]
    spec: Spec,
}

impl ImageStream {
    fn read(name: &str, bytes: &[u8]) -> Result<Self, ReadError> {
        let stream: Self = go_fields::read(name, bytes, |stream| {
            go_fields::rename(stream, &["apiVersion", "kind", "metadata", "spec"]);
            if let Some(metadata) = stream.get_mut("metadata") {
                go_fields::rename(metadata, &["name", "creationTimestamp"]);
            }
            let Some(spec) = stream.get_mut("spec") else { return };
            go_fields::rename(spec, &["tags"]);
            let tags = spec.get_mut("tags").and_then(Value::as_array_mut);
            for tag in tags.into_iter().flatten() {
                go_fields::rename(tag, &["name", "annotations", "from"]);
                if let Some(from) = tag.get_mut("from") {
                    go_fields::rename(from, &["kind", "name"]);
                }
            }
        })?;
        for (field, is, should) in
            [("apiVersion", &stream.api_version, API_VERSION), ("kind", &stream.kind, KIND)]
        {
            if is != should {
                let problem = format!("{is:?} was found where {should:?} is wanted");
                return Err(malformed(name, field, &problem));
            }
        }
        Ok(stream)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ObjectMeta {
    // Files of operators may have annotations alone.
    #[serde(default)]
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    creation_timestamp: Option<Timestamp>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Spec {
    #[serde(deserialize_with = "go_fields::null_is_default")]
    tags: Vec<Tag>,
}

#[derive(Serialize, Deserialize)]
struct Tag {
    name: String,
    // Real files have `null` for none, and YAML has annotations without a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    annotations: Option<BTreeMap<String, Option<String>>>,
    #[serde(default)]
    from: Option<Origin>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Origin {
    kind: String,
    name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ImageReferences, ReadError> {
        ImageReferences::read("image-references", text.as_bytes())
    }

    #[test]
    fn images_are_found_by_name() {
        let read = read(
            "apiVersion: image.openshift.io/v1
kind: ImageStream
metadata: {name: 5.0.0, creationTimestamp: 2026-01-01T00:00:00Z}
spec:
  tags:
  - {name: network, from: {kind: DockerImage, name: registry.example/network@sha256:1}}
  - {name: elsewhere, from: {kind: ImageStreamTag, name: other:latest}}
  - {name: nowhere}",
        )
        .unwrap();
        assert_eq!(read.name, "5.0.0");
        assert_eq!(read.created.unwrap().to_string(), "2026-01-01T00:00:00Z");
        let network = ("network".to_owned(), "registry.example/network@sha256:1".to_owned());
        assert_eq!(read.images, BTreeMap::from([network]));
    }

    #[test]
    fn images_say_what_they_bring() {
        let release = read(
            "apiVersion: image.openshift.io/v1
kind: ImageStream
metadata: {name: 5.0.0}
spec:
  tags:
  - name: kubelet
    annotations: {io.openshift.build.versions: 'kubernetes=1.31.2, cri-o=1.31.0', other: null}
  - name: api-server
    annotations: {io.openshift.build.versions: 'kubernetes=1.31.2,odd,'}
  - name: runtime
    annotations: {io.openshift.build.versions: cri-o=1.30.9}
  - {name: quiet, annotations: {io.openshift.build.versions: }}
  - {name: silent, annotations: null}",
        )
        .unwrap();
        assert_eq!(release.component("kubernetes"), Some("1.31.2"));
        for unknown in ["cri-o", "odd", ""] {
            assert_eq!(release.component(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let told = [
            r#"{"kind": "ImageStream"}"#,
            r#"{"apiVersion": "v1", "kind": "ImageStream", "metadata": {"name": "5.0.0"}}"#,
            r#"{"apiVersion": "image.openshift.io/v1", "kind": "Image", "metadata": {"name": "5.0.0"}}"#,
            r#"{"apiVersion": "image.openshift.io/v1", "kind": "ImageStream"}"#,
            r#"{"apiVersion": "image.openshift.io/v1", "kind": "ImageStream", "metadata": {"name": "5.0.0"},
                "spec": {"tags": [{"name": "a", "from": {"kind": "DockerImage", "name": "x"}},
                                  {"name": "a", "from": {"kind": "DockerImage", "name": "y"}}]}}"#,
        ]
        .map(|text| read(text).unwrap_err().to_string());
        insta::assert_snapshot!(told.join("\n"), @r#"
        image-references:1:2: missing field `apiVersion`
        image-references: field apiVersion: "v1" was found where "image.openshift.io/v1" is wanted
        image-references: field kind: "Image" was found where "ImageStream" is wanted
        image-references: field metadata: it is missing, and says which release it is
        image-references: field spec.tags[1].name: "a" is there twice, and could mean either
        "#);
    }

    #[test]
    fn image_references_with_other_case_match_fields_as_in_go() {
        let release = read(
            "apiversion: image.openshift.io/v1
Kind: ImageStream
METADATA: {Name: 5.0.0}
spec:
  Tags:
  - {NAME: network, from: {kind: DockerImage, Name: registry.example/network@sha256:1}}
  - {Name: old, name: new, from: {kind: DockerImage, name: x}}",
        )
        .unwrap();
        assert_eq!(release.name, "5.0.0");
        assert_eq!(release.images.keys().collect::<Vec<_>>(), ["network", "new"]);
    }

    #[test]
    fn image_references_of_operator_without_name_are_read() {
        let text = "apiVersion: image.openshift.io/v1
kind: ImageStream
metadata: {annotations: {a: b}}
spec:
  tags: [{name: a, from: {kind: DockerImage, Name: example/a}}]";
        let found = placeholders("a/image-references", text.as_bytes()).unwrap();
        assert_eq!(found, BTreeMap::from([("example/a".to_owned(), "a".to_owned())]));
    }

    #[test]
    fn image_references_of_wrong_type_are_refused() {
        for text in ["[]", "5", "", "metadata: 5", "spec: text", "spec: {tags: text}", "spec: [a]"]
        {
            let text = format!("apiVersion: image.openshift.io/v1\nkind: ImageStream\n{text}");
            assert!(read(&text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let images = [("network", "registry.example/network@sha256:1"), ("storage", "x@sha256:2")]
            .map(|(name, image)| (name.to_owned(), image.to_owned()));
        let versions = BTreeSet::from(["1.33.0".to_owned(), "1.33.1".to_owned()]);
        let components = [("kubernetes", versions.clone()), ("cri-o", versions)]
            .map(|(name, versions)| (name.to_owned(), versions));
        for (created, components) in [
            (None, BTreeMap::new()),
            (Some("2026-01-01T00:00:00Z".parse().unwrap()), components.into()),
        ] {
            let written = ImageReferences {
                name: "5.0.0".to_owned(),
                created,
                images: images.clone().into(),
                components,
            };
            assert_eq!(read(&written.write()), Ok(written));
        }
    }

    #[test]
    fn an_operator_says_what_its_images_stand_for() {
        let read = |tags: &str| {
            let text = format!(
                "apiVersion: image.openshift.io/v1\nkind: ImageStream\nspec:\n  tags:\n{tags}"
            );
            placeholders("network/image-references", text.as_bytes())
        };
        let tag = |name: &str, word: &str| {
            format!("  - {{name: {name}, from: {{kind: DockerImage, name: \"{word}\"}}}}\n")
        };
        let same = [tag("a", "example/a:1"), tag("a", "example/a:2"), tag("a", "example/a:1")];
        let found = read(&same.concat()).unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["example/a:1", "example/a:2"]);
        let told = [
            tag("a", ""),
            tag("a", "two words"),
            [tag("a", "example/a:1"), tag("b", "example/a:1")].concat(),
        ]
        .map(|tags| read(&tags).unwrap_err().to_string());
        insta::assert_snapshot!(told.join("\n"), @r#"
        network/image-references: field spec.tags[0].from.name: "" is no name of an image
        network/image-references: field spec.tags[0].from.name: "two words" is no name of an image
        network/image-references: field spec.tags[1].from.name: example/a:1 stands for "a" as well, and could mean either
        "#);
    }
}
