//! What is wrong with a field, in the words of the API server.

use std::fmt;

use serde_json::Value;

use crate::number::in_go_syntax;

/// The place of a field, such as `spec.containers[0].ports`.
#[derive(Clone, Debug, Default)]
pub struct Path(String);

impl Path {
    /// A field of an object.
    pub fn new(field: &str) -> Self {
        Self(field.to_owned())
    }

    /// A field of what is here.
    pub fn field(&self, name: &str) -> Self {
        if self.0.is_empty() { Self::new(name) } else { Self(format!("{self}.{name}")) }
    }

    /// An item of the list that is here.
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{self}[{index}]"))
    }

    /// An entry of the map that is here.
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{self}[{key}]"))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Path> for String {
    fn from(path: Path) -> Self {
        path.0
    }
}

impl From<&Path> for String {
    fn from(path: &Path) -> Self {
        path.0.clone()
    }
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// What sort of fault it is.
    pub kind: FieldErrorKind,
    /// Where, such as `spec.items[1].name`; empty where the API server names no field.
    pub path: String,
    /// The value that is wrong, for those kinds whose message has it.
    pub value: Value,
    /// What is wrong with it, or nothing where the kind says it all.
    pub detail: String,
    /// How the API server writes the value, where it is not as one can tell from the value alone.
    shown: Option<String>,
}

/// The sorts of faults of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// A value is missing.
    Required,
    /// The value is not allowed.
    Invalid,
    /// The value is none of a list of allowed ones.
    NotSupported,
    /// The value names something that is not there.
    NotFound,
    /// The value was there before.
    Duplicate,
    /// The text is too long.
    TooLong,
    /// The list or object is too long.
    TooMany,
    /// The field may not be set.
    Forbidden,
    /// The value is of another type.
    TypeInvalid,
}

impl FieldErrorKind {
    /// The word for it in the `causes` of an answer.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::NotFound => "FieldValueNotFound",
            Self::Duplicate => "FieldValueDuplicate",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::Forbidden => "FieldValueForbidden",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::NotFound => "Not found",
            Self::Duplicate => "Duplicate value",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Forbidden => "Forbidden",
        }
    }

    fn shows_the_value(self) -> bool {
        !matches!(self, Self::Required | Self::TooLong | Self::Forbidden)
    }
}

impl FieldError {
    /// The message without the field, which is how the `causes` of an answer have it.
    pub fn message(&self) -> String {
        let text = self.to_string();
        let path = if self.path.is_empty() { "<nil>" } else { &self.path };
        text.strip_prefix(path)
            .and_then(|rest| rest.strip_prefix(": "))
            .map_or(text.clone(), str::to_owned)
    }

    /// A value is missing.
    pub fn required(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::of(FieldErrorKind::Required, path, Value::Null, detail)
    }

    /// The field may not be set.
    pub fn forbidden(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::of(FieldErrorKind::Forbidden, path, Value::Null, detail)
    }

    /// The value is not allowed.
    pub fn invalid(
        path: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self::of(FieldErrorKind::Invalid, path, value, detail)
    }

    /// An invalid value that the API server writes as `shown`.
    pub fn invalid_as(path: impl Into<String>, shown: String, detail: impl Into<String>) -> Self {
        Self::invalid(path, Value::Null, detail).shown_as(shown)
    }

    /// The same with another way to write the value.
    #[must_use]
    pub fn shown_as(self, shown: String) -> Self {
        Self { shown: Some(shown), ..self }
    }

    /// The value names something that is not there.
    pub fn not_found(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::of(FieldErrorKind::NotFound, path, value, "")
    }

    /// The value was there before.
    pub fn duplicate(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::of(FieldErrorKind::Duplicate, path, value, "")
    }

    /// The list or object is too long.
    pub fn too_many(path: impl Into<String>, count: usize, limit: i64) -> Self {
        let detail = format!("must have at most {limit} items");
        Self::of(FieldErrorKind::TooMany, path, count, detail)
    }

    /// The text is too long. The limit counts characters; the words are the server's.
    pub fn too_long(path: impl Into<String>, value: &str, limit: i64) -> Self {
        let detail = format!("may not be more than {limit} bytes");
        Self::of(FieldErrorKind::TooLong, path, value, detail)
    }

    /// The value is none of those that are.
    pub fn not_supported(
        path: impl Into<String>,
        value: impl Into<Value>,
        supported: &[Value],
    ) -> Self {
        let words = supported.iter().map(|value| match value {
            Value::String(text) => format!("{text:?}"),
            other => format!("{:?}", other.to_string()),
        });
        let detail = format!("supported values: {}", words.collect::<Vec<_>>().join(", "));
        Self::of(FieldErrorKind::NotSupported, path, value, detail)
    }

    /// A fault of that sort.
    pub fn of(
        kind: FieldErrorKind,
        path: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self { kind, path: path.into(), value: value.into(), detail: detail.into(), shown: None }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "<nil>" } else { &self.path };
        write!(f, "{path}: {}", self.kind.title())?;
        if self.kind.shows_the_value() {
            match &self.value {
                _ if self.shown.is_some() => {
                    write!(f, ": {}", self.shown.as_deref().unwrap_or_default())?;
                }
                Value::Null => f.write_str(": \"null\"")?,
                value => {
                    f.write_str(": ")?;
                    go_syntax(value, f)?;
                }
            }
        }
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", self.detail) }
    }
}

impl std::error::Error for FieldError {}

/// The API server prints values as source text of its own language.
fn go_syntax(value: &Value, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match value {
        Value::Null => f.write_str("interface {}(nil)"),
        Value::Bool(flag) => write!(f, "{flag}"),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(number) => f.write_str(&in_go_syntax(number)),
            None => write!(f, "{number}"),
        },
        Value::String(text) => write!(f, "{text:?}"),
        Value::Array(items) => {
            f.write_str("[]interface {}{")?;
            for (index, item) in items.iter().enumerate() {
                f.write_str(if index == 0 { "" } else { ", " })?;
                go_syntax(item, f)?;
            }
            f.write_str("}")
        }
        Value::Object(fields) => {
            f.write_str("map[string]interface {}{")?;
            for (index, (name, field)) in fields.iter().enumerate() {
                write!(f, "{}{name:?}:", if index == 0 { "" } else { ", " })?;
                go_syntax(field, f)?;
            }
            f.write_str("}")
        }
    }
}
