//! `image-references`: the images of a release by name.

use std::collections::BTreeMap;

use fairway_api::read::ReadError;
use jiff::Timestamp;

use crate::image_stream::{
    API_VERSION, Annotations, DOCKER_IMAGE, ImageStream, KIND, ObjectMeta, Origin, Spec, Tag,
    VERSIONS, malformed,
};
use crate::payload::PayloadWarning;

/// The path in a release image.
pub const PATH: &str = "release-manifests/image-references";

/// Versions of components, such as `kubernetes`, by component.
pub type ComponentVersions = BTreeMap<String, String>;

/// The images of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageReferences {
    /// The name of the release, which is its version.
    pub name: String,
    /// The creation time of the release.
    pub created: Option<Timestamp>,
    /// The images by name.
    pub images: BTreeMap<String, String>,
    /// The component versions that images declare, by the name of the image.
    pub versions: BTreeMap<String, ComponentVersions>,
    /// The versions of components that no image declares.
    pub default_versions: ComponentVersions,
}

impl ImageReferences {
    /// Decodes the file of a release image, JSON or YAML. `name` is the name of the input in
    /// errors.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Self, ReadError> {
        Self::read_with_warnings(name, bytes).map(|(references, _)| references)
    }

    /// The same, with warnings about its text.
    pub(crate) fn read_with_warnings(
        name: &str,
        bytes: &[u8],
    ) -> Result<(Self, Vec<PayloadWarning>), ReadError> {
        let (stream, warnings) = ImageStream::read(name, bytes)?;
        let references = Self::of_stream(stream);
        if references.name.is_empty() {
            return Err(malformed(
                name,
                "metadata.name",
                "missing, expected the release's version",
            ));
        }
        Ok((references, warnings))
    }

    /// Decodes an `ImageStream` that need not have a name: one that is the input of a release. Of
    /// two tags with the same name, the first counts, as it does for the Go operator.
    pub fn read_stream(name: &str, bytes: &[u8]) -> Result<Self, ReadError> {
        ImageStream::read(name, bytes).map(|(stream, _)| Self::of_stream(stream))
    }

    fn of_stream(stream: ImageStream) -> Self {
        let mut images = BTreeMap::new();
        for (_, tag, image) in stream.images() {
            images.entry(tag.to_owned()).or_insert_with(|| image.to_owned());
        }
        let mut versions = BTreeMap::new();
        for tag in &stream.spec.tags {
            let declared = versions_of(&tag.annotations);
            if !declared.is_empty() {
                versions.entry(tag.name.clone()).or_insert(declared);
            }
        }
        let ObjectMeta { name, creation_timestamp: created, annotations } = stream.metadata;
        Self { name, created, images, versions, default_versions: versions_of(&annotations) }
    }

    /// The version of a component, such as `kubernetes`; `None` if the images declare none, or
    /// several.
    pub fn component(&self, name: &str) -> Option<&str> {
        let mut versions = self.versions.values().filter_map(|versions| versions.get(name));
        let Some(version) = versions.next() else {
            return self.default_versions.get(name).map(String::as_str);
        };
        versions.all(|other| other == version).then_some(version)
    }

    /// The file of a release image, as JSON.
    pub fn write(&self) -> String {
        let Self { name, created, images, versions, default_versions } = self;
        let tag = |(name, image): (&String, &String)| Tag {
            name: name.clone(),
            annotations: versions.get(name).map(annotations).unwrap_or_default(),
            from: Some(Origin { kind: DOCKER_IMAGE.to_owned(), name: image.clone() }),
        };
        let stream = ImageStream {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            metadata: ObjectMeta {
                name: name.clone(),
                creation_timestamp: *created,
                annotations: annotations(default_versions),
            },
            spec: Spec { tags: images.iter().map(tag).collect() },
        };
        serde_json::to_string_pretty(&stream).expect("strings and times serialize to JSON")
    }
}

/// The placeholders of an operator's manifests: names of release images, by the words that the
/// operator's `image-references` file has for them. The warnings are about the text of the file.
pub fn placeholders(
    name: &str,
    bytes: &[u8],
) -> Result<(BTreeMap<String, String>, Vec<PayloadWarning>), ReadError> {
    let (stream, warnings) = ImageStream::read(name, bytes)?;
    let mut placeholders: BTreeMap<String, String> = BTreeMap::new();
    for (index, tag, word) in stream.images() {
        let field = format!("spec.tags[{index}].from.name");
        if word.is_empty() || !word.chars().all(is_image_character) {
            return Err(malformed(
                name,
                &field,
                &format!("{word:?} is not a valid image reference"),
            ));
        }
        if let Some(other) = placeholders.insert(word.to_owned(), tag.to_owned())
            && other != tag
        {
            let problem = format!("{word} is the placeholder of both {other:?} and {tag:?}");
            return Err(malformed(name, &field, &problem));
        }
    }
    Ok((placeholders, warnings))
}

/// Parses the value of the label `io.openshift.build.versions`: `kubernetes=1.31.2,other=1.0.0`.
/// Pairs that are malformed are skipped, since images of third parties carry anything.
pub fn component_versions(list: &str) -> impl Iterator<Item = (String, String)> {
    let pairs = list.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, version)| (name.trim().to_owned(), version.trim().to_owned()))
}

/// The image label that [`component_versions`] parses.
pub const VERSIONS_LABEL: &str = VERSIONS;

/// Whether a character may be part of an image reference.
pub(crate) fn is_image_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || "._-/:@+".contains(character)
}

/// The annotation for component versions; empty if there are none.
fn annotations(versions: &ComponentVersions) -> Annotations {
    let pairs = versions.iter().map(|(name, version)| format!("{name}={version}"));
    let list = pairs.collect::<Vec<_>>().join(",");
    if list.is_empty() {
        return Annotations::new();
    }
    Annotations::from([(VERSIONS.to_owned(), Some(list))])
}

/// The component versions in annotations.
fn versions_of(annotations: &Annotations) -> ComponentVersions {
    let list = annotations.get(VERSIONS).and_then(Option::as_deref);
    component_versions(list.unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ImageReferences, ReadError> {
        ImageReferences::read("image-references", text.as_bytes())
    }

    #[test]
    fn read_returns_images_by_name() {
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
    fn read_returns_component_versions_by_image() {
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
        assert_eq!(
            release.versions.keys().collect::<Vec<_>>(),
            ["api-server", "kubelet", "runtime"]
        );
        assert_eq!(release.component("kubernetes"), Some("1.31.2"));
        for unknown in ["cri-o", "odd", ""] {
            assert_eq!(release.component(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn read_without_a_name_returns_an_error() {
        let errors = [
            r#"{"kind": "ImageStream"}"#,
            r#"{"apiVersion": "image.openshift.io/v1", "kind": "ImageStream"}"#,
            r#"{"apiVersion": "image.openshift.io/v1", "kind": "ImageStream", "metadata": {"annotations": {"a": "b"}}}"#,
        ]
        .map(|text| read(text).unwrap_err().to_string());
        insta::assert_snapshot!(errors.join("\n"), @r#"
        image-references: field apiVersion: expected "image.openshift.io/v1", found ""
        image-references: field metadata.name: missing, expected the release's version
        image-references: field metadata.name: missing, expected the release's version
        "#);
    }

    #[test]
    fn read_with_a_repeated_tag_returns_the_first_image() {
        let read = read(
            "apiVersion: image.openshift.io/v1
kind: ImageStream
metadata: {name: 5.0.0}
spec:
  tags:
  - {name: a, from: {kind: DockerImage, name: example/x}}
  - {name: a, from: {kind: DockerImage, name: example/y}}",
        );
        assert_eq!(read.unwrap().images["a"], "example/x");
    }

    #[test]
    fn read_stream_without_a_name_returns_images_and_default_versions() {
        let text = "{apiVersion: image.openshift.io/v1, kind: ImageStream,
            metadata: {annotations: {io.openshift.build.versions: 'kubernetes=1.30.0,cri-o=1.30.1'}},
            spec: {tags: [{name: a, annotations: {io.openshift.build.versions: kubernetes=1.31.2},
                           from: {kind: DockerImage, name: x}}]}}";
        let stream = ImageReferences::read_stream("stream.yaml", text.as_bytes()).unwrap();
        assert_eq!(stream.images["a"], "x");
        assert_eq!(stream.component("kubernetes"), Some("1.31.2"));
        assert_eq!(stream.component("cri-o"), Some("1.30.1"));
    }

    #[test]
    fn write_then_read_returns_the_same() {
        let images = [("network", "registry.example/network@sha256:1"), ("storage", "x@sha256:2")]
            .map(|(name, image)| (name.to_owned(), image.to_owned()));
        let kubernetes = |version: &str| {
            ComponentVersions::from([("kubernetes".to_owned(), version.to_owned())])
        };
        let versions = [("network", kubernetes("1.33.0")), ("storage", kubernetes("1.33.1"))]
            .map(|(name, versions)| (name.to_owned(), versions));
        let default_versions = ComponentVersions::from([("cri-o".to_owned(), "1.33.0".to_owned())]);
        for (created, versions, default_versions) in [
            (None, BTreeMap::new(), ComponentVersions::new()),
            (Some("2026-01-01T00:00:00Z".parse().unwrap()), versions.into(), default_versions),
        ] {
            let name = "5.0.0".to_owned();
            let images = images.clone().into();
            let written = ImageReferences { name, created, images, versions, default_versions };
            assert_eq!(read(&written.write()), Ok(written));
        }
    }

    #[test]
    fn placeholders_returns_image_names_by_word() {
        let read = |tags: &str| {
            let text = format!(
                "apiVersion: image.openshift.io/v1\nkind: ImageStream\nspec:\n  tags:\n{tags}"
            );
            placeholders("network/image-references", text.as_bytes())
        };
        let tag = |name: &str, word: &str| {
            format!("  - {{name: {name}, from: {{kind: DockerImage, Name: \"{word}\"}}}}\n")
        };
        let same = [tag("a", "example/a:1"), tag("a", "example/a:2"), tag("a", "example/a:1")];
        let (found, _) = read(&same.concat()).unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["example/a:1", "example/a:2"]);
        let errors = [
            tag("a", ""),
            tag("a", "two words"),
            [tag("a", "example/a:1"), tag("b", "example/a:1")].concat(),
        ]
        .map(|tags| read(&tags).unwrap_err().to_string());
        insta::assert_snapshot!(errors.join("\n"), @r#"
        network/image-references: field spec.tags[0].from.name: "" is not a valid image reference
        network/image-references: field spec.tags[0].from.name: "two words" is not a valid image reference
        network/image-references: field spec.tags[1].from.name: example/a:1 is the placeholder of both "a" and "b"
        "#);
    }
}
