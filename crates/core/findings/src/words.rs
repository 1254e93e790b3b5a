//! Enumerations that are written as words. A word that nobody knows here is read as the one of them
//! that makes nothing look better than it is.

/// The words of an enumeration, and what an unknown one counts as.
macro_rules! words {
    ($type:ident, unknown $unknown:ident, $($variant:ident = $word:literal),+ $(,)?) => {
        impl $type {
            /// The word for it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "enum": [$($word),+]})
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                Ok(match crate::lenient::text(from)?.as_str() {
                    $($word => Self::$variant,)+
                    _ => Self::$unknown,
                })
            }
        }
    };
}

pub(crate) use words;
