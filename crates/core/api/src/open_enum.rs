//! Enumerations that accept unknown values.
//!
//! With a closed enum, one unknown value of a newer API would make a whole ClusterVersion
//! unreadable. An open enum preserves the value, and code can detect that it is unknown.

/// Declares an enum with known values and `Other` for any other value.
///
/// The generated CRD contains the known values only, so an API server rejects others.
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
            /// An unknown value.
            Other(String),
        }

        impl $name {
            /// The known values.
            pub const KNOWN: &[&str] = &[$( $word ),+];

            /// The value in the API.
            pub fn as_str(&self) -> &str {
                match self {
                    $( Self::$variant => $word, )+
                    Self::Other(word) => word,
                }
            }

            /// Whether the value is known.
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
    fn unknown_values_round_trip() {
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
    fn other_types_are_rejected() {
        assert!(serde_json::from_str::<UpdateState>("1").is_err());
        assert!(serde_json::from_str::<UpdateState>("null").is_err());
    }
}
