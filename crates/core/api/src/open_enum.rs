//! Enumerations that other people may extend.
//!
//! A closed Rust enum would make a whole ClusterVersion unreadable because of one word that a
//! newer API introduced. An open one keeps the word and lets the code that must decide see that
//! it does not know it.

/// Declares an enum of known words plus `Other`, which carries any other word unchanged.
///
/// The generated CRD still lists the known words only, so an API server refuses the others.
macro_rules! open_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $( $(#[$variant_meta:meta])* $variant:ident = $word:literal, )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $( $(#[$variant_meta])* $variant, )+
            /// A word that this crate does not know.
            Other(String),
        }

        impl $name {
            /// The words that this crate knows.
            pub const KNOWN: &[&str] = &[$( $word ),+];

            /// The word as it stands on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $( Self::$variant => $word, )+
                    Self::Other(word) => word,
                }
            }

            /// Whether this crate knows the word.
            pub fn is_known(&self) -> bool {
                !matches!(self, Self::Other(_))
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $( $word => Self::$variant, )+
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                Ok(Self::from(&*word))
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": Self::KNOWN })
            }
        }
    };
}

pub(crate) use open_enum;

#[cfg(test)]
mod tests {
    use crate::cluster_version::UpdateState;

    #[test]
    fn known_words_become_variants_and_unknown_ones_survive() {
        for (json, state) in [
            (r#""Completed""#, UpdateState::Completed),
            (r#""Partial""#, UpdateState::Partial),
            (r#""Paused""#, UpdateState::Other("Paused".into())),
            (r#""completed""#, UpdateState::Other("completed".into())),
            (r#""""#, UpdateState::Other(String::new())),
        ] {
            let read: UpdateState = serde_json::from_str(json).unwrap();
            assert_eq!(read, state);
            assert_eq!(serde_json::to_string(&read).unwrap(), json);
        }
    }

    #[test]
    fn only_words_are_accepted() {
        assert!(serde_json::from_str::<UpdateState>("1").is_err());
        assert!(serde_json::from_str::<UpdateState>("null").is_err());
    }
}
