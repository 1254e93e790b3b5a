//! `image-references`: which image each name in a release stands for.

use std::collections::BTreeMap;

use fairway_api::read::{self, Place, ReadError};
use jiff::Timestamp;
use serde::Deserialize;

/// Where a release image keeps it.
pub const PATH: &str = "release-manifests/image-references";

const API_VERSION: &str = "image.openshift.io/v1";
const KIND: &str = "ImageStream";

/// The images of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageReferences {
    /// The name of the release, which is its version.
    pub name: String,
    /// When the release was made.
    pub created: Option<Timestamp>,
    /// The images by name.
    pub images: BTreeMap<String, String>,
}

impl ImageReferences {
    /// Reads the file of a release image, JSON or YAML. `name` is what people call it; errors begin
    /// with it.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Self, ReadError> {
        let stream: ImageStream = read::document(name, bytes)?;
        let malformed = |field: String, problem: String| ReadError::Malformed {
            place: Place { source: name.to_owned(), position: None },
            field,
            problem,
        };
        for (field, is, should) in
            [("apiVersion", &stream.api_version, API_VERSION), ("kind", &stream.kind, KIND)]
        {
            if is != should {
                let problem = format!("{is:?} was found where {should:?} is wanted");
                return Err(malformed(field.to_owned(), problem));
            }
        }
        let mut images = BTreeMap::new();
        for (index, tag) in stream.spec.tags.into_iter().enumerate() {
            let Some(Origin { kind, name: image }) = tag.from else { continue };
            if kind != "DockerImage" {
                continue;
            }
            if images.insert(tag.name.clone(), image).is_some() {
                let problem = format!("{:?} is there twice, and could mean either", tag.name);
                return Err(malformed(format!("spec.tags[{index}].name"), problem));
            }
        }
        let ObjectMeta { name, creation_timestamp: created } = stream.metadata;
        Ok(Self { name, created, images })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ImageStream {
    api_version: String,
    kind: String,
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ObjectMeta {
    name: String,
    #[serde(default)]
    creation_timestamp: Option<Timestamp>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spec {
    tags: Vec<Tag>,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
    #[serde(default)]
    from: Option<Origin>,
}

#[derive(Default, Deserialize)]
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
    fn what_is_wrong_is_said() {
        let told = [
            r#"{"kind": "ImageStream"}"#,
            r#"{"apiVersion": "v1", "kind": "ImageStream", "metadata": {"name": "5.0.0"}}"#,
            r#"{"apiVersion": "image.openshift.io/v1", "kind": "Image", "metadata": {"name": "5.0.0"}}"#,
            r#"{"apiVersion": "image.openshift.io/v1", "kind": "ImageStream", "metadata": {"name": "5.0.0"},
                "spec": {"tags": [{"name": "a", "from": {"kind": "DockerImage", "name": "x"}},
                                  {"name": "a", "from": {"kind": "DockerImage", "name": "y"}}]}}"#,
        ]
        .map(|text| read(text).unwrap_err().to_string());
        insta::assert_snapshot!(told.join("\n"), @r#"
        image-references:1:2: missing field `apiVersion`
        image-references: field apiVersion: "v1" was found where "image.openshift.io/v1" is wanted
        image-references: field kind: "Image" was found where "ImageStream" is wanted
        image-references: field spec.tags[1].name: "a" is there twice, and could mean either
        "#);
    }
}
