//! The value of a maximum version, read as OLM reads it.

use fairway_api::Version;
use fairway_text::excerpt;

use super::Stream;

/// Characters quoted of a value that is none.
const QUOTED: usize = 64;

/// Bytes of what the parser says that are kept.
const MAX_COMPLAINT: usize = 200;

/// Why a declared maximum version cannot be used, in the words that OLM has for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MaximumError {
    /// The properties are not a list of types and values.
    #[error("failed to unmarshal properties annotation: {0}")]
    Unreadable(String),
    /// It is declared several times in one place.
    #[error(r#"defining more than one "olm.maxOpenShiftVersion" property is not allowed"#)]
    Repeated,
    /// There is nothing in it.
    #[error(r#"value cannot be "" (an empty string)"#)]
    Empty,
    /// It is no version.
    #[error("failed to parse {value:?} as semver: {why}")]
    NotAVersion {
        /// What it is.
        value: String,
        /// What the parser says about it.
        why: String,
    },
    /// It names a patch or a pre-release: operators support minor versions.
    #[error(
        "property olm.maxOpenShiftVersion must specify only <major>.<minor> version, got invalid value {0}"
    )]
    NotAMinor(String),
}

/// Reads a value: the text of an annotation, or of a JSON value with its quotes. A number is its
/// text, for 4.10 is not 4.1.
pub(super) fn parse(raw: &str) -> Result<Stream, MaximumError> {
    let value = raw.trim_matches('"');
    if value.is_empty() {
        return Err(MaximumError::Empty);
    }
    let version = Version::parse_tolerant(value).map_err(|error| MaximumError::NotAVersion {
        value: value.chars().take(QUOTED).collect(),
        why: excerpt(&why(&error), MAX_COMPLAINT).into_owned(),
    })?;
    if version.patch() != 0 || !version.pre_release().is_empty() {
        return Err(MaximumError::NotAMinor(excerpt(&version.to_string(), QUOTED).into_owned()));
    }
    Ok(Stream::of(&version))
}

/// The value is quoted already, so only what is wrong with it is repeated.
fn why(error: &fairway_api::version::VersionError) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_are_read_as_olm_reads_them() {
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
            assert_eq!(parse(raw).unwrap().to_string(), expected, "{raw}");
        }
    }

    #[test]
    fn what_is_no_minor_version_is_said_to_be_none() {
        let told = |raw: &str| parse(raw).unwrap_err().to_string();
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
        let all: Vec<String> = all.iter().map(|raw| format!("{raw}: {}", told(raw))).collect();
        insta::assert_snapshot!(all.join("\n"));
    }

    proptest! {
        #[test]
        fn no_value_makes_it_panic(raw in "\\PC{0,80}") {
            let _ = parse(&raw);
        }

        #[test]
        fn every_minor_version_is_read_back(major in 0u64..50, minor in 0u64..100) {
            let text = format!("{major}.{minor}");
            prop_assert_eq!(parse(&text).unwrap().to_string(), text);
        }
    }
}
