//! Declarations of the maximum cluster version.

use std::collections::BTreeMap;
use std::fmt;

use fairway_api::Version;
use fairway_text::excerpt;
use serde::{Serialize, Serializer};

use super::{
    AUTHOR_PROPERTIES_ANNOTATION, MAXIMUM_ANNOTATION, MinorVersion, PROPERTIES_ANNOTATION,
    properties,
};

/// Source of a declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeclarationSource {
    /// Annotation of the ClusterServiceVersion with this key.
    Annotation(&'static str),
    /// Bundle in the catalog with this name.
    Catalog(String),
}

impl fmt::Display for DeclarationSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Annotation(key) => write!(f, "annotation {key}"),
            Self::Catalog(name) => write!(f, "catalog {name}"),
        }
    }
}

impl Serialize for DeclarationSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Maximum cluster version that an operator declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MaximumVersion {
    /// No declaration.
    Missing,
    /// A maximum version and its source.
    Maximum(MinorVersion, DeclarationSource),
    /// An invalid declaration.
    Invalid(InvalidDeclaration),
}

/// Reason why a declaration is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDeclaration {
    /// A value is invalid.
    #[error("{error}")]
    Malformed {
        /// Source of the value.
        origin: DeclarationSource,
        /// The error.
        error: MaximumError,
    },
    /// Two sources have different values.
    #[error("{}", contradiction(one, other))]
    Contradiction {
        /// Value of the first source.
        one: (MinorVersion, DeclarationSource),
        /// Value of the other source.
        other: (MinorVersion, DeclarationSource),
    },
}

fn contradiction(
    one: &(MinorVersion, DeclarationSource),
    other: &(MinorVersion, DeclarationSource),
) -> String {
    let ((one, here), (other, there)) = (one, other);
    if here == there {
        format!("the {here} declares both {one} and {other}")
    } else {
        format!("the {here} declares {one}, but the {there} declares {other}")
    }
}

impl MaximumVersion {
    /// Reads the annotations of a ClusterServiceVersion. All sources must have the same value.
    pub fn read(annotations: &BTreeMap<String, String>) -> Self {
        type Read = fn(&str) -> Result<Option<MinorVersion>, MaximumError>;
        let forms: [(&'static str, Read); 3] = [
            (MAXIMUM_ANNOTATION, |text| parse_maximum(text).map(Some)),
            (PROPERTIES_ANNOTATION, properties::maximum_in_object),
            (AUTHOR_PROPERTIES_ANNOTATION, properties::maximum_in_list),
        ];
        let found = forms.into_iter().filter_map(|(key, read)| {
            let read = read(annotations.get(key)?).transpose()?;
            Some((DeclarationSource::Annotation(key), read))
        });
        Self::combined(found)
    }

    /// Combines the values of several sources.
    pub(super) fn combined(
        found: impl IntoIterator<Item = (DeclarationSource, Result<MinorVersion, MaximumError>)>,
    ) -> Self {
        let mut first: Option<(MinorVersion, DeclarationSource)> = None;
        for (origin, read) in found {
            match (read, &first) {
                (Err(error), _) => {
                    return Self::Invalid(InvalidDeclaration::Malformed { origin, error });
                }
                (Ok(maximum), None) => first = Some((maximum, origin)),
                (Ok(maximum), Some(before)) if before.0 != maximum => {
                    let (one, other) = (before.clone(), (maximum, origin));
                    return Self::Invalid(InvalidDeclaration::Contradiction { one, other });
                }
                (Ok(_), Some(_)) => {}
            }
        }
        first.map_or(Self::Missing, |(maximum, origin)| Self::Maximum(maximum, origin))
    }

    /// The maximum version, if it is valid.
    pub fn maximum(&self) -> Option<MinorVersion> {
        match self {
            Self::Maximum(maximum, _) => Some(*maximum),
            Self::Missing | Self::Invalid(_) => None,
        }
    }
}

/// Characters quoted of an invalid value.
const MAX_QUOTED_CHARS: usize = 64;

/// Bytes of a parse error.
const MAX_ERROR_BYTES: usize = 200;

/// Reason why a maximum version is invalid, with OLM's messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MaximumError {
    /// The properties are not a list of types and values.
    #[error("failed to unmarshal properties annotation: {0}")]
    Unreadable(String),
    /// The property is repeated.
    #[error(r#"defining more than one "olm.maxOpenShiftVersion" property is not allowed"#)]
    Repeated,
    /// The value is empty.
    #[error(r#"value cannot be "" (an empty string)"#)]
    Empty,
    /// The value is not a version.
    #[error("failed to parse {value:?} as semver: {why}")]
    NotAVersion {
        /// The value.
        value: String,
        /// Parse error.
        why: String,
    },
    /// The value has a patch version or a pre-release.
    #[error(
        "property olm.maxOpenShiftVersion must specify only <major>.<minor> version, got invalid value {0}"
    )]
    NotAMinor(String),
}

/// Parses the text of an annotation, or a JSON value with its quotes. Numbers are parsed as text,
/// because 4.10 is not 4.1.
pub(super) fn parse_maximum(raw: &str) -> Result<MinorVersion, MaximumError> {
    let value = raw.trim_matches('"');
    if value.is_empty() {
        return Err(MaximumError::Empty);
    }
    let version = Version::parse_tolerant(value).map_err(|error| MaximumError::NotAVersion {
        value: value.chars().take(MAX_QUOTED_CHARS).collect(),
        why: excerpt(&why(&error), MAX_ERROR_BYTES).into_owned(),
    })?;
    if version.patch() != 0 || !version.pre_release().is_empty() {
        return Err(MaximumError::NotAMinor(
            excerpt(&version.to_string(), MAX_QUOTED_CHARS).into_owned(),
        ));
    }
    Ok(MinorVersion::from_version(&version))
}

/// The cause of a version error, without the value, which the message already contains.
fn why(error: &fairway_api::version::VersionError) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(annotations: &[(&str, &str)]) -> MaximumVersion {
        let annotations = annotations.iter().map(|(key, value)| ((*key).into(), (*value).into()));
        MaximumVersion::read(&annotations.collect())
    }

    const PROJECTED: &str = r#"{"properties":[{"type":"olm.maxOpenShiftVersion","value":"4.8"}]}"#;
    const AUTHORED: &str = r#"[{"type":"olm.maxOpenShiftVersion","value":4.10}]"#;

    #[test]
    fn all_annotations_are_read() {
        let maximum = |major, minor, key| {
            MaximumVersion::Maximum(
                MinorVersion::new(major, minor),
                DeclarationSource::Annotation(key),
            )
        };
        assert_eq!(read(&[]), MaximumVersion::Missing);
        assert_eq!(read(&[("olm.maxOpenShiftVersion", "4.8")]), MaximumVersion::Missing);
        assert_eq!(read(&[(MAXIMUM_ANNOTATION, "4.8")]), maximum(4, 8, MAXIMUM_ANNOTATION));
        assert_eq!(
            read(&[(PROPERTIES_ANNOTATION, PROJECTED)]),
            maximum(4, 8, PROPERTIES_ANNOTATION)
        );
        assert_eq!(
            read(&[(AUTHOR_PROPERTIES_ANNOTATION, AUTHORED)]),
            maximum(4, 10, AUTHOR_PROPERTIES_ANNOTATION)
        );
    }

    #[test]
    fn annotations_must_agree() {
        let same = read(&[(MAXIMUM_ANNOTATION, "v4.8.0"), (PROPERTIES_ANNOTATION, PROJECTED)]);
        assert_eq!(same.maximum(), Some(MinorVersion::new(4, 8)));
        let renamed = r#"[{"type":"olm.maxOpenShiftVersion","value":"5.0"}]"#;
        let same = read(&[(MAXIMUM_ANNOTATION, "4.23"), (AUTHOR_PROPERTIES_ANNOTATION, renamed)]);
        assert_eq!(same.maximum(), Some(MinorVersion::new(5, 0)));

        let differ =
            read(&[(PROPERTIES_ANNOTATION, PROJECTED), (AUTHOR_PROPERTIES_ANNOTATION, AUTHORED)]);
        let MaximumVersion::Invalid(why) = differ else { panic!("{differ:?}") };
        insta::assert_snapshot!(why, @"the annotation operatorframework.io/properties declares 4.8, but the annotation olm.properties declares 4.10");

        let malformed = read(&[(MAXIMUM_ANNOTATION, "4.x"), (PROPERTIES_ANNOTATION, PROJECTED)]);
        assert!(matches!(malformed, MaximumVersion::Invalid(InvalidDeclaration::Malformed { .. })));
    }

    proptest! {
        #[test]
        fn any_annotations_do_not_panic(
            one in "\\PC{0,60}", two in "[\\[\\]{}\",:0-9a-z. ]{0,60}", three in "\\PC{0,60}",
        ) {
            let _ = read(&[
                (MAXIMUM_ANNOTATION, &one),
                (PROPERTIES_ANNOTATION, &two),
                (AUTHOR_PROPERTIES_ANNOTATION, &three),
            ]);
        }
    }

    #[test]
    fn parse_matches_olm() {
        for (raw, expected) in [
            (r#""4.8""#, "4.8"),
            ("4.8", "4.8"),
            (r#""4.8.0""#, "4.8"),
            (r#""v4.8""#, "4.8"),
            (r#""4.8.0+b""#, "4.8"),
            ("1.1.0+build", "1.1"),
            (" 4.8 ", "4.8"),
            ("04.08", "4.8"),
            ("4.10", "4.10"),
            (r#""4""#, "4.0"),
        ] {
            assert_eq!(parse_maximum(raw).unwrap().to_string(), expected, "{raw}");
        }
    }

    #[test]
    fn parse_of_invalid_maximum_fails() {
        let texts = |raw: &str| parse_maximum(raw).unwrap_err().to_string();
        let all = [
            "",
            r#""""#,
            r#""4.8.1""#,
            r#""4.8.0-rc.1""#,
            r#""4.8+b""#,
            r#""4.x""#,
            "null",
            "{}",
            "4.1e1",
            "a-b-c",
            "4.8.0.0",
        ];
        let all: Vec<String> = all.iter().map(|raw| format!("{raw}: {}", texts(raw))).collect();
        insta::assert_snapshot!(all.join("\n"));
    }

    proptest! {
        #[test]
        fn any_property_value_does_not_panic(raw in "\\PC{0,80}") {
            let _ = parse_maximum(&raw);
        }

        #[test]
        fn minor_versions_round_trip(major in 0u64..50, minor in 0u64..100) {
            let text = format!("{major}.{minor}");
            prop_assert_eq!(parse_maximum(&text).unwrap().to_string(), text);
        }
    }
}
