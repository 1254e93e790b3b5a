//! `release-metadata`: version and updates of a release.

use std::collections::BTreeMap;

use fairway_api::Version;
use fairway_api::read::ReadError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use crate::go_fields::{self, null_is_default};
use crate::payload::PayloadWarning;

/// Path in a release image.
pub const PATH: &str = "release-manifests/release-metadata";

/// Bytes of the file. A real one lists a few hundred versions in less than 10 KiB.
pub const MAX_BYTES: usize = 1 << 20;

/// Known keys of `metadata`.
pub mod key {
    /// URL of the errata.
    pub const URL: &str = "url";
    /// Channels, separated by commas.
    pub const CHANNELS: &str = "io.openshift.upgrades.graph.release.channels";
    /// `multi` for a multi-platform image.
    pub const ARCHITECTURE: &str = "release.openshift.io/architecture";
}

/// Metadata of a release image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseMetadata {
    /// Format of the document.
    pub kind: MetadataKind,
    /// The version of the release.
    pub version: Version,
    /// The versions from which clusters may update to it.
    #[serde(default, deserialize_with = "null_is_default")]
    pub previous: Vec<Version>,
    /// The versions to which clusters may update from it.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<Version>,
    /// Other metadata, such as `url`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub metadata: BTreeMap<String, String>,
}

/// Format of release metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MetadataKind {
    /// The only format.
    #[serde(rename = "cincinnati-metadata-v0")]
    CincinnatiMetadataV0,
}

/// Release metadata that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum MetadataError {
    /// The file exceeds the size limit.
    #[error("{input} has {size} bytes; the limit is {MAX_BYTES} bytes")]
    TooLarge { input: String, size: usize },
    /// The document is malformed.
    #[error(transparent)]
    Malformed(#[from] ReadError),
}

impl ReleaseMetadata {
    /// Metadata of a release without updates.
    pub fn new(version: Version) -> Self {
        Self {
            kind: MetadataKind::CincinnatiMetadataV0,
            version,
            previous: Vec::new(),
            next: Vec::new(),
            metadata: BTreeMap::new(),
        }
    }

    /// The channels, sorted and without duplicates.
    pub fn channels(&self) -> Vec<&str> {
        let list = self.metadata.get(key::CHANNELS).map_or("", String::as_str);
        let named = list.split(',').map(str::trim).filter(|channel| !channel.is_empty());
        let mut channels: Vec<&str> = named.collect();
        channels.sort_unstable();
        channels.dedup();
        channels
    }

    /// Values that clients ignore: key, value, and what is expected.
    pub fn unusable(&self) -> impl Iterator<Item = (&str, &str, &'static str)> {
        let is_multi = |text: &str| text == MULTI;
        let wanted = [
            (key::URL, is_link as fn(&str) -> bool, "an http or https URL"),
            (key::ARCHITECTURE, is_multi, MULTI),
        ];
        wanted.into_iter().filter_map(|(key, is_usable, wanted)| {
            let (key, value) = self.metadata.get_key_value(key)?;
            (!is_usable(value)).then_some((key.as_str(), value.as_str(), wanted))
        })
    }

    /// Reads the file of a release image. `name` is the name of the input in errors.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Self, MetadataError> {
        Self::read_with_warnings(name, bytes).map(|(metadata, _)| metadata)
    }

    /// The same, with warnings about its text, and about values that are ignored. The Go operator
    /// ignores versions that are not semantic and metadata that is not a string.
    pub(crate) fn read_with_warnings(
        name: &str,
        bytes: &[u8],
    ) -> Result<(Self, Vec<PayloadWarning>), MetadataError> {
        if bytes.len() > MAX_BYTES {
            return Err(MetadataError::TooLarge { input: name.to_owned(), size: bytes.len() });
        }
        let mut document = go_fields::document(name, bytes)?;
        let mut warnings = go_fields::oddities(name, &document);
        let keys = document.value.as_object().into_iter().flat_map(Map::keys);
        for key in keys.filter(|key| !FIELDS.contains(&key.as_str())) {
            if let Some(field) = FIELDS.iter().find(|field| field.eq_ignore_ascii_case(key)) {
                warnings.push(go_fields::other_case(name, &document, key, field));
            }
        }
        let mut value = std::mem::take(&mut document.value);
        go_fields::rename(&mut value, &FIELDS);
        let mut ignored = |key: String, field: &str, value: String, wanted| {
            let line = go_fields::line(&document.keys, field);
            warnings.push(PayloadWarning::Metadata { key, value, wanted, line });
        };
        for field in ["previous", "next"] {
            drop_invalid_versions(&mut value, field, |index, text| {
                ignored(format!("{field}[{index}]"), field, text, "a semantic version");
            });
        }
        drop_other_types(&mut value, |key, text| {
            ignored(format!("metadata.{key}"), &format!("metadata.{key}"), text, "a string");
        });
        let metadata: Self = go_fields::read(name, bytes, &value)?;
        for (key, value, wanted) in metadata.unusable() {
            ignored(key.to_owned(), &format!("metadata.{key}"), value.to_owned(), wanted);
        }
        Ok((metadata, warnings))
    }
}

/// The fields of the file.
const FIELDS: [&str; 5] = ["kind", "version", "previous", "next", "metadata"];

/// Removes texts that are not versions from a list of versions.
fn drop_invalid_versions(value: &mut Value, field: &str, mut report: impl FnMut(usize, String)) {
    let Some(Value::Array(versions)) = value.get_mut(field) else { return };
    let mut index = 0;
    versions.retain(|version| {
        let text = match version {
            Value::String(text) => text,
            // Go reads null as the empty string.
            Value::Null => "",
            // Go refuses other types, and so does the caller.
            _ => return true,
        };
        let is_version = Version::parse(text).is_ok();
        if !is_version {
            report(index, text.to_owned());
        }
        index += 1;
        is_version
    });
}

/// Removes values other than strings from the metadata.
fn drop_other_types(value: &mut Value, mut report: impl FnMut(&str, String)) {
    let Some(Value::Object(metadata)) = value.get_mut("metadata") else { return };
    metadata.retain(|key, value| {
        if !value.is_string() {
            report(key, value.to_string().chars().take(MAX_SHOWN).collect());
        }
        value.is_string()
    });
}

/// Characters of an ignored value in a warning.
const MAX_SHOWN: usize = 40;

/// The only architecture that release metadata can declare.
const MULTI: &str = "multi";

fn is_link(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| url.has_host() && matches!(url.scheme(), "http" | "https"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<ReleaseMetadata, MetadataError> {
        ReleaseMetadata::read("release-metadata", text.as_bytes())
    }

    #[test]
    fn read_returns_all_fields() {
        let read = read(
            r#"{"kind": "cincinnati-metadata-v0", "version": "4.7.4", "previous": ["4.6.23", "4.7.3"],
                "next": ["4.7.5"], "metadata": {"url": "https://errata.example/1"}, "later": true}"#,
        )
        .unwrap();
        assert_eq!(read.version.to_string(), "4.7.4");
        let names =
            |versions: &[Version]| versions.iter().map(Version::to_string).collect::<Vec<_>>();
        assert_eq!(names(&read.previous), ["4.6.23", "4.7.3"]);
        assert_eq!(names(&read.next), ["4.7.5"]);
        assert_eq!(read.metadata["url"], "https://errata.example/1");
    }

    #[test]
    fn read_without_optional_fields_returns_defaults() {
        let new = ReleaseMetadata::new(Version::new(4, 7, 4));
        for text in [
            r#"{"kind": "cincinnati-metadata-v0", "version": "4.7.4"}"#,
            r#"{"kind": "cincinnati-metadata-v0", "version": "4.7.4", "previous": null, "next": null, "metadata": null}"#,
        ] {
            assert_eq!(read(text).unwrap(), new, "{text}");
        }
        assert_eq!(read(&serde_json::to_string(&new).unwrap()).unwrap(), new);
    }

    #[test]
    fn metadata_with_other_case_matches_fields_as_in_go() {
        let read = read(
            r#"{"Kind": "cincinnati-metadata-v0", "VERSION": "4.7.4", "Previous": ["4.7.3"],
                "metadata": {"URL": "x"}}"#,
        )
        .unwrap();
        assert_eq!(read.previous, [Version::new(4, 7, 3)]);
        assert_eq!(read.metadata["URL"], "x");
    }

    #[test]
    fn read_with_invalid_metadata_fails_with_position() {
        let messages = [
            r#"{"kind": "cincinnati-metadata-v1", "version": "4.7.4"}"#,
            r#"{"kind": "cincinnati-metadata-v0"}"#,
            r#"{"version": "4.7.4"}"#,
            "{\"kind\": \"cincinnati-metadata-v0\",\n \"version\": \"4.7\"}",
            r#"{"kind": "cincinnati-metadata-v0", "version": "4.7.4", "previous": ["4.7.3", 5]}"#,
            r#"{"kind": "cincinnati-metadata-v0", "version": "4.7.4", "metadata": []}"#,
        ]
        .map(|text| read(text).unwrap_err().to_string());
        insta::assert_snapshot!(messages.join("\n"), @r#"
        release-metadata:1:10: field kind: unknown variant `cincinnati-metadata-v1`, expected one of cincinnati-metadata-v0
        release-metadata:1:2: missing field `version`
        release-metadata:1:2: missing field `kind`
        release-metadata:2:13: field version: "4.7" is not a semantic version: unexpected end of input while parsing minor version number
        release-metadata:1:78: field previous[1]: "5" is not a semantic version: unexpected end of input while parsing major version number
        release-metadata:1:68: field metadata: expected mapping start
        "#);
    }

    #[test]
    fn read_of_values_that_go_ignores_returns_warnings() {
        let text = "{\"kind\": \"cincinnati-metadata-v0\", \"Version\": \"4.7.4\",\n\"previous\": [\"4.7.3\", \"x\", null],\n\
                    \"metadata\": {\"url\": 5,\n\"team\": \"a\", \"team\": \"b\",\n\"release.openshift.io/architecture\": \"amd64\",\n\
                    \"io.openshift.upgrades.graph.release.channels\": [\"stable-4.7\"]}}";
        let read = ReleaseMetadata::read_with_warnings(PATH, text.as_bytes());
        let (metadata, warnings) = read.unwrap();
        assert_eq!(metadata.previous, [Version::new(4, 7, 3)]);
        let keys: Vec<&String> = metadata.metadata.keys().collect();
        assert_eq!(keys, ["release.openshift.io/architecture", "team"]);
        let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(warnings.join("\n"), @r#"
        release-manifests/release-metadata:4: duplicate key "team" overrides line 4
        release-manifests/release-metadata:1: key "Version" is read as "version"
        release-manifests/release-metadata:2: invalid previous[1]: expected a semantic version, found "x"
        release-manifests/release-metadata:2: invalid previous[2]: expected a semantic version, found ""
        release-manifests/release-metadata:6: invalid metadata.io.openshift.upgrades.graph.release.channels: expected a string, found "[\"stable-4.7\"]"
        release-manifests/release-metadata:3: invalid metadata.url: expected a string, found "5"
        release-manifests/release-metadata:5: invalid release.openshift.io/architecture: expected multi, found "amd64"
        "#);
    }

    #[test]
    fn read_behind_a_comment_and_a_separator_finds_fields() {
        let text = "# release\n---\nkind: cincinnati-metadata-v0\nversion: 4.7.4\n";
        assert_eq!(read(text).unwrap().version, Version::new(4, 7, 4));
    }

    #[test]
    fn channels_are_unique() {
        let mut metadata = ReleaseMetadata::new(Version::new(4, 7, 4));
        assert_eq!(metadata.channels(), [""; 0]);
        metadata.metadata.insert(key::CHANNELS.to_owned(), "stable-4.7, fast-4.7,,fast-4.7".into());
        assert_eq!(metadata.channels(), ["fast-4.7", "stable-4.7"]);
    }

    #[test]
    fn unusable_returns_ignored_values() {
        let unusable = |key: &str, value: &str| {
            let mut metadata = ReleaseMetadata::new(Version::new(4, 7, 4));
            metadata.metadata.insert(key.to_owned(), value.to_owned());
            metadata.unusable().count() == 1
        };
        for (key, value, expected) in [
            (key::URL, "https://errata.example/1", false),
            (key::URL, "http://errata.example", false),
            (key::URL, "errata.example/1", true),
            (key::URL, "javascript:alert(1)", true),
            (key::URL, "file:///etc/passwd", true),
            (key::URL, "", true),
            (key::ARCHITECTURE, "multi", false),
            (key::ARCHITECTURE, "amd64", true),
            ("anything", "else", false),
        ] {
            assert_eq!(unusable(key, value), expected, "{key}: {value}");
        }
    }

    #[test]
    fn read_beyond_size_limit_fails() {
        let error = ReleaseMetadata::read("huge", &vec![b' '; MAX_BYTES + 1]).unwrap_err();
        insta::assert_snapshot!(error, @"huge has 1048577 bytes; the limit is 1048576 bytes");
    }

    proptest! {
        #[test]
        fn read_of_arbitrary_bytes_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = ReleaseMetadata::read("any", &bytes);
        }
    }
}
