//! What an operator declares about the maximum version, and where.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

use super::{
    AUTHOR_PROPERTIES_ANNOTATION, MAXIMUM_ANNOTATION, MaximumError, PROPERTIES_ANNOTATION, Stream,
    maximum, properties,
};

/// Where a maximum version is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In an annotation of the ClusterServiceVersion, by its key.
    Annotation(&'static str),
    /// In a bundle of a catalog, by the name of the catalog.
    Catalog(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Annotation(key) => write!(f, "annotation {key}"),
            Self::Catalog(name) => write!(f, "catalog {name}"),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What an operator declares about the maximum version of the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declaration {
    /// Nothing.
    Missing,
    /// That it runs up to this version, and where it says so.
    Maximum(Stream, Origin),
    /// Something that means nothing.
    Invalid(Invalid),
}

/// Why a declaration means nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// It cannot be read.
    #[error("{error}")]
    Malformed {
        /// Where it is.
        origin: Origin,
        /// What is wrong with it.
        error: MaximumError,
    },
    /// Two places say different things.
    #[error("{}", contradiction(one, other))]
    Contradiction {
        /// What the first says.
        one: (Stream, Origin),
        /// What another says.
        other: (Stream, Origin),
    },
}

fn contradiction(one: &(Stream, Origin), other: &(Stream, Origin)) -> String {
    let ((one, here), (other, there)) = (one, other);
    if here == there {
        format!("the {here} declares both {one} and {other}")
    } else {
        format!("the {here} declares {one}, but the {there} declares {other}")
    }
}

impl Declaration {
    /// Reads the annotations of a ClusterServiceVersion. Every form counts, and all of them have to
    /// say the same.
    pub fn read(annotations: &BTreeMap<String, String>) -> Self {
        type Read = fn(&str) -> Result<Option<Stream>, MaximumError>;
        let forms: [(&'static str, Read); 3] = [
            (MAXIMUM_ANNOTATION, |text| maximum::parse(text).map(Some)),
            (PROPERTIES_ANNOTATION, properties::maximum_in_object),
            (AUTHOR_PROPERTIES_ANNOTATION, properties::maximum_in_list),
        ];
        let found = forms.into_iter().filter_map(|(key, read)| {
            let read = read(annotations.get(key)?).transpose()?;
            Some((Origin::Annotation(key), read))
        });
        Self::agreed(found)
    }

    /// What several places say together.
    pub(super) fn agreed(
        found: impl IntoIterator<Item = (Origin, Result<Stream, MaximumError>)>,
    ) -> Self {
        let mut first: Option<(Stream, Origin)> = None;
        for (origin, read) in found {
            match (read, &first) {
                (Err(error), _) => return Self::Invalid(Invalid::Malformed { origin, error }),
                (Ok(maximum), None) => first = Some((maximum, origin)),
                (Ok(maximum), Some(before)) if before.0 != maximum => {
                    let (one, other) = (before.clone(), (maximum, origin));
                    return Self::Invalid(Invalid::Contradiction { one, other });
                }
                (Ok(_), Some(_)) => {}
            }
        }
        first.map_or(Self::Missing, |(maximum, origin)| Self::Maximum(maximum, origin))
    }

    /// The maximum version, where there is a usable one.
    pub fn maximum(&self) -> Option<Stream> {
        match self {
            Self::Maximum(maximum, _) => Some(*maximum),
            Self::Missing | Self::Invalid(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(annotations: &[(&str, &str)]) -> Declaration {
        let annotations = annotations.iter().map(|(key, value)| ((*key).into(), (*value).into()));
        Declaration::read(&annotations.collect())
    }

    const PROJECTED: &str = r#"{"properties":[{"type":"olm.maxOpenShiftVersion","value":"4.8"}]}"#;
    const AUTHORED: &str = r#"[{"type":"olm.maxOpenShiftVersion","value":4.10}]"#;

    #[test]
    fn every_form_is_read() {
        let maximum = |major, minor, key| {
            Declaration::Maximum(Stream::new(major, minor), Origin::Annotation(key))
        };
        assert_eq!(read(&[]), Declaration::Missing);
        assert_eq!(read(&[("olm.maxOpenShiftVersion", "4.8")]), Declaration::Missing);
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
    fn several_forms_have_to_say_the_same() {
        let same = read(&[(MAXIMUM_ANNOTATION, "v4.8.0"), (PROPERTIES_ANNOTATION, PROJECTED)]);
        assert_eq!(same.maximum(), Some(Stream::new(4, 8)));
        let renamed = r#"[{"type":"olm.maxOpenShiftVersion","value":"5.0"}]"#;
        let same = read(&[(MAXIMUM_ANNOTATION, "4.23"), (AUTHOR_PROPERTIES_ANNOTATION, renamed)]);
        assert_eq!(same.maximum(), Some(Stream::new(5, 0)));

        let differ =
            read(&[(PROPERTIES_ANNOTATION, PROJECTED), (AUTHOR_PROPERTIES_ANNOTATION, AUTHORED)]);
        let Declaration::Invalid(why) = differ else { panic!("{differ:?}") };
        insta::assert_snapshot!(why, @"the annotation operatorframework.io/properties declares 4.8, but the annotation olm.properties declares 4.10");

        let malformed = read(&[(MAXIMUM_ANNOTATION, "4.x"), (PROPERTIES_ANNOTATION, PROJECTED)]);
        assert!(matches!(malformed, Declaration::Invalid(Invalid::Malformed { .. })));
    }

    proptest! {
        #[test]
        fn no_annotations_make_it_panic(
            one in "\\PC{0,60}", two in "[\\[\\]{}\",:0-9a-z. ]{0,60}", three in "\\PC{0,60}",
        ) {
            let _ = read(&[
                (MAXIMUM_ANNOTATION, &one),
                (PROPERTIES_ANNOTATION, &two),
                (AUTHOR_PROPERTIES_ANNOTATION, &three),
            ]);
        }
    }
}
