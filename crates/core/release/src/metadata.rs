//! `release-metadata`: what a release image says about itself.

use std::collections::BTreeMap;

use fairway_api::Version;
use fairway_api::read::ReadError;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::go_fields::{self, null_is_default};

/// Where a release image keeps it.
pub const PATH: &str = "release-manifests/release-metadata";

/// Longer files are refused. A real one names a few hundred versions in less than 10 KiB.
pub const MAX_BYTES: usize = 1 << 20;

/// What else a release may say about itself: the keys of `metadata` that mean something.
pub mod key {
    /// Where people read about it.
    pub const URL: &str = "url";
    /// The channels that it is in, with commas between them.
    pub const CHANNELS: &str = "io.openshift.upgrades.graph.release.channels";
    /// `multi` where one image is for all architectures.
    pub const ARCHITECTURE: &str = "release.openshift.io/architecture";
}

/// What a release image says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseMetadata {
    /// The format of the rest.
    pub kind: Kind,
    /// The version of the release.
    pub version: Version,
    /// The versions from which clusters may update to it.
    #[serde(default, deserialize_with = "null_is_default")]
    pub previous: Vec<Version>,
    /// The versions to which clusters may update from it.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<Version>,
    /// Whatever else there is to say, such as `url`, where its errata are.
    #[serde(default, deserialize_with = "null_is_default")]
    pub metadata: BTreeMap<String, String>,
}

/// The format of release metadata. There is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// The only one there is.
    #[serde(rename = "cincinnati-metadata-v0")]
    CincinnatiMetadataV0,
}

/// Why release metadata could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// It is too large to be looked at.
    #[error("{input} is {size} bytes long, and at most {MAX_BYTES} are read")]
    TooLarge {
        /// What people call the input.
        input: String,
        /// Its size.
        size: usize,
    },
    /// It is not what it should be.
    #[error(transparent)]
    Malformed(#[from] ReadError),
}

impl ReleaseMetadata {
    /// Metadata of a release that nothing leads to or from.
    pub fn new(version: Version) -> Self {
        Self {
            kind: Kind::CincinnatiMetadataV0,
            version,
            previous: Vec::new(),
            next: Vec::new(),
            metadata: BTreeMap::new(),
        }
    }

    /// The channels that it is in, each once, by name.
    pub fn channels(&self) -> Vec<&str> {
        let list = self.metadata.get(key::CHANNELS).map_or("", String::as_str);
        let named = list.split(',').map(str::trim).filter(|channel| !channel.is_empty());
        let mut channels: Vec<&str> = named.collect();
        channels.sort_unstable();
        channels.dedup();
        channels
    }

    /// The values that nobody can use, by their keys, with what is wanted instead.
    pub fn unusable(&self) -> impl Iterator<Item = (&str, &str, &'static str)> {
        let is_multi = |text: &str| text == MULTI;
        let wanted = [
            (key::URL, is_link as fn(&str) -> bool, "an http or https address"),
            (key::ARCHITECTURE, is_multi, MULTI),
        ];
        wanted.into_iter().filter_map(|(key, is_usable, wanted)| {
            let (key, value) = self.metadata.get_key_value(key)?;
            (!is_usable(value)).then_some((key.as_str(), value.as_str(), wanted))
        })
    }

    /// Reads the file of a release image. `name` is what people call it; errors begin with it.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Self, MetadataError> {
        if bytes.len() > MAX_BYTES {
            return Err(MetadataError::TooLarge { input: name.to_owned(), size: bytes.len() });
        }
        let fields = ["kind", "version", "previous", "next", "metadata"];
        Ok(go_fields::read(name, bytes, |metadata| go_fields::rename(metadata, &fields))?)
    }
}

/// The only architecture that a release says: it is for all of them.
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
    fn everything_it_says_is_read() {
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
    fn what_is_left_out_is_empty() {
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
    fn what_is_wrong_is_said_with_its_place() {
        let told = [
            r#"{"kind": "cincinnati-metadata-v1", "version": "4.7.4"}"#,
            r#"{"kind": "cincinnati-metadata-v0"}"#,
            r#"{"version": "4.7.4"}"#,
            "{\"kind\": \"cincinnati-metadata-v0\",\n \"version\": \"4.7\"}",
            r#"{"kind": "cincinnati-metadata-v0", "version": "4.7.4", "previous": ["4.7.3", "x"]}"#,
        ]
        .map(|text| read(text).unwrap_err().to_string());
        insta::assert_snapshot!(told.join("\n"), @r#"
        release-metadata:1:10: field kind: unknown variant `cincinnati-metadata-v1`, expected one of cincinnati-metadata-v0
        release-metadata:1:2: missing field `version`
        release-metadata:1:2: missing field `kind`
        release-metadata:2:13: field version: "4.7" is not a semantic version: unexpected end of input while parsing minor version number
        release-metadata:1:78: field previous[1]: "x" is not a semantic version: unexpected character 'x' while parsing major version number
        "#);
    }

    #[test]
    fn channels_are_named_once() {
        let mut metadata = ReleaseMetadata::new(Version::new(4, 7, 4));
        assert_eq!(metadata.channels(), [""; 0]);
        metadata.metadata.insert(key::CHANNELS.to_owned(), "stable-4.7, fast-4.7,,fast-4.7".into());
        assert_eq!(metadata.channels(), ["fast-4.7", "stable-4.7"]);
    }

    #[test]
    fn what_nobody_can_use_is_found() {
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
    fn a_huge_file_is_refused_unread() {
        let error = ReleaseMetadata::read("huge", &vec![b' '; MAX_BYTES + 1]).unwrap_err();
        insta::assert_snapshot!(error, @"huge is 1048577 bytes long, and at most 1048576 are read");
    }

    proptest! {
        #[test]
        fn no_file_makes_reading_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = ReleaseMetadata::read("any", &bytes);
        }
    }
}
