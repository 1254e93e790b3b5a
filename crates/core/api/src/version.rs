//! Versions and changes between them.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::limits;

/// The minor version with two names, 4.23 and 5.0.
pub const RENAMED: [(u64, u64); 2] = [(4, 23), (5, 0)];

/// A semantic version.
///
/// It compares by SemVer precedence. Build metadata, which contains the architecture in update
/// graphs, is preserved, but not compared.
#[derive(Clone, Debug)]
pub struct Version(semver::Version);

/// Reason why a text is not a version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// The text is too long.
    #[error("the version has {0} bytes; the limit is {most} bytes", most = limits::VERSION)]
    TooLong(usize),
    /// The text does not follow the grammar.
    #[error("{text:?} is not a semantic version such as 5.1.0 or 5.2.0-rc.1")]
    Malformed {
        /// The text.
        text: String,
        /// Error of the parser.
        source: SemverError,
    },
}

/// Error of the SemVer parser.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SemverError(String);

impl Version {
    /// A version without pre-release and build metadata.
    pub const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self(semver::Version::new(major, minor, patch))
    }

    /// Parses a strict semantic version.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        Self::parse_as(text, text)
    }

    /// Parses a version as users write it: surrounding whitespace, a leading `v`, leading zeros and
    /// a missing minor or patch version are accepted. A shortened version cannot have a pre-release
    /// or build metadata.
    pub fn parse_tolerant(text: &str) -> Result<Self, VersionError> {
        if text.len() > limits::VERSION {
            return Err(VersionError::TooLong(text.len()));
        }
        let trimmed = text.trim();
        let trimmed = trimmed.strip_prefix('v').unwrap_or(trimmed);
        let suffix_at = trimmed.find(['-', '+']).unwrap_or(trimmed.len());
        let (numbers, suffix) = trimmed.split_at(suffix_at);
        let mut parts: Vec<&str> = numbers.split('.').map(without_leading_zeros).collect();
        if suffix.is_empty() {
            parts.resize(parts.len().max(3), "0");
        }
        Self::parse_as(&format!("{}{suffix}", parts.join(".")), text)
    }

    fn parse_as(text: &str, original: &str) -> Result<Self, VersionError> {
        if text.len() > limits::VERSION {
            return Err(VersionError::TooLong(text.len()));
        }
        semver::Version::parse(text).map(Self).map_err(|error| VersionError::Malformed {
            text: original.to_owned(),
            source: SemverError(error.to_string()),
        })
    }

    /// Major version.
    pub fn major(&self) -> u64 {
        self.0.major
    }

    /// Minor version.
    pub fn minor(&self) -> u64 {
        self.0.minor
    }

    /// Patch version.
    pub fn patch(&self) -> u64 {
        self.0.patch
    }

    /// Pre-release; empty for a release.
    pub fn pre_release(&self) -> &str {
        self.0.pre.as_str()
    }

    /// Build metadata; empty if there is none.
    pub fn build(&self) -> &str {
        self.0.build.as_str()
    }

    /// The version without build metadata.
    pub fn without_build(&self) -> Self {
        Self(semver::Version { build: semver::BuildMetadata::EMPTY, ..self.0.clone() })
    }

    /// The first release of the next minor version, with each of its names.
    pub fn next_minors(&self) -> impl Iterator<Item = Self> + use<> {
        let [before, after] = RENAMED;
        let own = (self.major(), self.minor());
        let (major, minor) = if own == before { after } else { own };
        let next = (major, minor.saturating_add(1));
        let renamed = (next == before).then_some(after);
        std::iter::once(next).chain(renamed).map(|(major, minor)| Self::new(major, minor, 0))
    }

    /// `major.minor`, the stream of the release.
    pub fn stream(&self) -> String {
        format!("{}.{}", self.0.major, self.0.minor)
    }
}

fn without_leading_zeros(number: &str) -> &str {
    match number.trim_start_matches('0') {
        "" if !number.is_empty() => "0",
        stripped => stripped,
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        Self::parse(text)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp_precedence(&other.0)
    }
}

impl Hash for Version {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.0.major, self.0.minor, self.0.patch, self.pre_release()).hash(state);
    }
}

impl Serialize for Version {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&text).map_err(|error| match error {
            VersionError::Malformed { source, .. } => serde::de::Error::custom(format_args!(
                "{text:?} is not a semantic version: {source}"
            )),
            too_long @ VersionError::TooLong(_) => serde::de::Error::custom(too_long),
        })
    }
}

/// Kind of change from one version to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Move")]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "type")]
pub enum VersionChange {
    /// The same version.
    Reinstall,
    /// A later patch version of the same minor version.
    Patch,
    /// The next minor version.
    NextMinor,
    /// A minor version after the next one.
    SkipLevel {
        /// Number of skipped minor versions.
        skipped_minors: u64,
    },
    /// Another major version.
    Major,
    /// An earlier version.
    Downgrade,
}

impl VersionChange {
    /// The kind of change from `current` to `target`.
    pub fn between(current: &Version, target: &Version) -> Self {
        match target.cmp(current) {
            Ordering::Equal => Self::Reinstall,
            Ordering::Less => Self::Downgrade,
            Ordering::Greater if target.major() != current.major() => Self::Major,
            Ordering::Greater => match target.minor() - current.minor() {
                0 => Self::Patch,
                1 => Self::NextMinor,
                minors => Self::SkipLevel { skipped_minors: minors - 1 },
            },
        }
    }

    /// Whether the minor version stays the same.
    pub fn within_minor(self) -> bool {
        matches!(self, Self::Reinstall | Self::Patch)
    }
}

impl fmt::Display for VersionChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reinstall => f.write_str("the same version again"),
            Self::Patch => f.write_str("a patch update"),
            Self::NextMinor => f.write_str("an update to the next minor version"),
            Self::SkipLevel { skipped_minors: 1 } => {
                f.write_str("a skip-level update that skips one minor version")
            }
            Self::SkipLevel { skipped_minors } => {
                write!(f, "a skip-level update that skips {skipped_minors} minor versions")
            }
            Self::Major => f.write_str("an update to another major version"),
            Self::Downgrade => f.write_str("a downgrade"),
        }
    }
}

impl JsonSchema for Version {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Version".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

/// Minor versions that a skip-level update may cross.
pub const MAX_SKIPPED_MINORS: u64 = 2;

/// Distance of an update in minor versions. Only `force` allows larger distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateDistance {
    /// A patch update, an update to the next minor version, or to 5.0.
    Usual,
    /// An update that skips a minor version. The update service must offer it, and a preflight must
    /// succeed.
    SkipLevel,
    /// An update that skips too many minor versions.
    TooFar {
        /// Difference in minor versions.
        minors: u64,
    },
    /// An update to an unsupported major version.
    Major,
    /// A downgrade.
    Back,
}

impl UpdateDistance {
    /// The distance between two versions.
    pub fn between(from: &Version, to: &Version) -> Self {
        if to < from {
            return Self::Back;
        }
        if to.major() > from.major() {
            // The only supported update between major versions.
            let is_supported = from.major() == 4 && (to.major(), to.minor()) == (5, 0);
            return if is_supported { Self::Usual } else { Self::Major };
        }
        match to.minor().saturating_sub(from.minor()) {
            0 | 1 => Self::Usual,
            minors if minors > MAX_SKIPPED_MINORS => Self::TooFar { minors },
            _ => Self::SkipLevel,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[test]
    fn build_metadata_is_not_compared() {
        assert_eq!(version("5.1.0+amd64"), version("5.1.0+arm64"));
        assert!(version("5.1.0-rc.1+amd64") < version("5.1.0"));
        assert_eq!(version("5.1.0+amd64").to_string(), "5.1.0+amd64");
        assert_eq!(version("5.1.0+amd64").without_build().to_string(), "5.1.0");
    }

    #[test]
    fn order_is_semver_precedence() {
        let ascending = [
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
            "1.9.0",
            "1.10.0",
            "2.0.0",
        ];
        for pair in ascending.windows(2) {
            assert!(version(pair[0]) < version(pair[1]), "{} < {}", pair[0], pair[1]);
        }
    }

    #[test]
    fn parse_rejects_invalid_versions() {
        for text in ["", "5", "5.1", "v5.1.0", "5.01.0", " 5.1.0", "5.1.0-", "five", "5.1.0.0"] {
            assert!(Version::parse(text).is_err(), "{text:?}");
        }
        let long = format!("5.1.0-{}", "a".repeat(limits::VERSION));
        assert_eq!(Version::parse(&long).unwrap_err(), VersionError::TooLong(long.len()));
    }

    #[test]
    fn parse_tolerant_accepts_short_versions() {
        for (text, meaning) in [
            ("5", "5.0.0"),
            ("5.1", "5.1.0"),
            (" v5.1.2 ", "5.1.2"),
            ("05.01.00", "5.1.0"),
            ("5.1.2-rc.1", "5.1.2-rc.1"),
            ("5.1.2+amd64", "5.1.2+amd64"),
        ] {
            assert_eq!(Version::parse_tolerant(text).unwrap().to_string(), meaning, "{text:?}");
        }
        for text in ["", "v", "5.1-rc.1", "5+amd64", "5..1", "5.1.2.3", "x.y", "5.-1", "4.19e1"] {
            assert!(Version::parse_tolerant(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn change_between_versions() {
        for (from, to, kind) in [
            ("5.1.0", "5.1.0", VersionChange::Reinstall),
            ("5.1.0+amd64", "5.1.0+multi", VersionChange::Reinstall),
            ("5.1.0-rc.1", "5.1.0", VersionChange::Patch),
            ("5.1.0", "5.1.9", VersionChange::Patch),
            ("5.1.0", "5.2.0", VersionChange::NextMinor),
            ("5.1.0", "5.2.0-rc.0", VersionChange::NextMinor),
            ("5.1.0", "5.3.4", VersionChange::SkipLevel { skipped_minors: 1 }),
            ("5.1.0", "5.5.4", VersionChange::SkipLevel { skipped_minors: 3 }),
            ("4.23.0", "5.0.0", VersionChange::Major),
            ("5.1.0", "5.0.9", VersionChange::Downgrade),
            ("5.1.0", "5.1.0-rc.1", VersionChange::Downgrade),
            ("5.0.0", "4.22.0", VersionChange::Downgrade),
        ] {
            assert_eq!(
                VersionChange::between(&version(from), &version(to)),
                kind,
                "{from} to {to}"
            );
        }
    }

    #[test]
    fn next_minors_includes_renamed_version() {
        for (from, next) in [
            ("5.1.0", "5.2.0"),
            ("4.9.0-rc.1", "4.10.0"),
            ("4.21.3", "4.22.0"),
            ("4.22.3", "4.23.0 5.0.0"),
            ("4.23.1+amd64", "5.1.0"),
            ("5.0.2", "5.1.0"),
        ] {
            let names = version(from).next_minors().map(|next| next.to_string());
            assert_eq!(names.collect::<Vec<_>>().join(" "), next, "{from}");
        }
    }

    #[test]
    fn change_display() {
        let named = [
            VersionChange::Reinstall,
            VersionChange::Patch,
            VersionChange::NextMinor,
            VersionChange::SkipLevel { skipped_minors: 1 },
            VersionChange::SkipLevel { skipped_minors: 2 },
            VersionChange::Major,
            VersionChange::Downgrade,
        ]
        .map(|kind| kind.to_string());
        insta::assert_snapshot!(named.join("\n"), @"
        the same version again
        a patch update
        an update to the next minor version
        a skip-level update that skips one minor version
        a skip-level update that skips 2 minor versions
        an update to another major version
        a downgrade
        ");
    }

    proptest! {
        #[test]
        fn parse_of_any_text_does_not_panic(text in "\\PC{0,40}") {
            let _ = Version::parse(&text);
            let _ = Version::parse_tolerant(&text);
        }

        #[test]
        fn parse_tolerant_accepts_strict_versions(
            major in 0u64..99, minor in 0u64..99, patch in 0u64..999,
            pre in proptest::option::of("(rc|ec|nightly)\\.[1-9][0-9]{0,3}"),
        ) {
            let pre = pre.map(|pre| format!("-{pre}")).unwrap_or_default();
            let text = format!("{major}.{minor}.{patch}{pre}");
            prop_assert_eq!(Version::parse_tolerant(&text).unwrap().to_string(), text);
        }

        #[test]
        fn equal_versions_have_equal_hashes(build in "[a-z0-9]{1,8}") {
            let hash = |version: &Version| {
                let mut hasher = std::hash::DefaultHasher::new();
                version.hash(&mut hasher);
                hasher.finish()
            };
            let (plain, built) = (version("5.1.0"), version(&format!("5.1.0+{build}")));
            prop_assert_eq!(&plain, &built);
            prop_assert_eq!(hash(&plain), hash(&built));
        }
    }

    #[test]
    fn distance_between_versions() {
        for (from, to, distance) in [
            ("5.1.0", "5.1.0", UpdateDistance::Usual),
            ("5.1.0", "5.1.9", UpdateDistance::Usual),
            ("5.1.9", "5.2.0-rc.1", UpdateDistance::Usual),
            ("4.3.0", "5.0.7", UpdateDistance::Usual),
            ("5.0.0", "5.2.0", UpdateDistance::SkipLevel),
            ("5.0.0", "5.3.0", UpdateDistance::TooFar { minors: 3 }),
            ("4.21.0", "5.1.0", UpdateDistance::Major),
            ("3.11.0", "5.0.0", UpdateDistance::Major),
            ("5.1.0", "5.1.0-rc.1", UpdateDistance::Back),
            ("5.0.0", "4.21.0", UpdateDistance::Back),
        ] {
            let [from, to] = [from, to].map(|version| Version::parse(version).unwrap());
            assert_eq!(UpdateDistance::between(&from, &to), distance, "{from} {to}");
        }
    }
}
