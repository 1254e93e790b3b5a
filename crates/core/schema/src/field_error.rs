//! Field errors with the messages of the API server.

use std::fmt;

use serde_json::Value;

use crate::number::in_go_syntax;

/// Path of a field, such as `spec.containers[0].ports`.
#[derive(Clone, Debug, Default)]
pub struct FieldPath(String);

impl FieldPath {
    /// A field of an object.
    pub fn new(field: &str) -> Self {
        Self(field.to_owned())
    }

    /// A field of the object at this path.
    pub fn field(&self, name: &str) -> Self {
        if self.0.is_empty() { Self::new(name) } else { Self(format!("{self}.{name}")) }
    }

    /// An item of the list at this path.
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{self}[{index}]"))
    }

    /// An entry of the map at this path.
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{self}[{key}]"))
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<FieldPath> for String {
    fn from(path: FieldPath) -> Self {
        path.0
    }
}

impl From<&FieldPath> for String {
    fn from(path: &FieldPath) -> Self {
        path.0.clone()
    }
}

/// An error of a field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// Kind of the error.
    pub kind: FieldErrorKind,
    /// Path such as `spec.items[1].name`; empty if the API server names no field.
    pub path: String,
    /// Invalid value, if the message contains it.
    pub value: Value,
    /// Details; empty if the kind is sufficient.
    pub detail: String,
    /// Text of the value in the API server's message, if it differs from the JSON value.
    shown: Option<String>,
}

/// Kinds of field errors, as in `k8s.io/apimachinery/pkg/util/validation/field`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// A value is missing.
    Required,
    /// The value is invalid.
    Invalid,
    /// The value is not in the list of supported values.
    NotSupported,
    /// The referenced object does not exist.
    NotFound,
    /// The value is a duplicate.
    Duplicate,
    /// The string is too long.
    TooLong,
    /// The list or object has too many items.
    TooMany,
    /// The field must not be set.
    Forbidden,
    /// The value has another type.
    TypeInvalid,
}

impl FieldErrorKind {
    /// Reason in `causes` of a Status.
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

    fn contains_value(self) -> bool {
        !matches!(self, Self::Required | Self::TooLong | Self::Forbidden)
    }
}

impl FieldError {
    /// The message without the field, as in `causes` of a Status.
    pub fn message(&self) -> String {
        let text = self.to_string();
        let path = if self.path.is_empty() { "<nil>" } else { &self.path };
        text.strip_prefix(path)
            .and_then(|rest| rest.strip_prefix(": "))
            .map_or(text.clone(), str::to_owned)
    }

    /// A missing value.
    pub fn required(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::of(FieldErrorKind::Required, path, Value::Null, detail)
    }

    /// A field that must not be set.
    pub fn forbidden(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::of(FieldErrorKind::Forbidden, path, Value::Null, detail)
    }

    /// An invalid value.
    pub fn invalid(
        path: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self::of(FieldErrorKind::Invalid, path, value, detail)
    }

    /// An invalid value with the API server's text for it.
    pub fn invalid_as(path: impl Into<String>, shown: String, detail: impl Into<String>) -> Self {
        Self::invalid(path, Value::Null, detail).shown_as(shown)
    }

    /// Sets the API server's text for the value.
    #[must_use]
    pub fn shown_as(self, shown: String) -> Self {
        Self { shown: Some(shown), ..self }
    }

    /// A reference to an object that does not exist.
    pub fn not_found(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::of(FieldErrorKind::NotFound, path, value, "")
    }

    /// A duplicate value.
    pub fn duplicate(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::of(FieldErrorKind::Duplicate, path, value, "")
    }

    /// A list or object with too many items.
    pub fn too_many(path: impl Into<String>, count: usize, limit: i64) -> Self {
        let detail = format!("must have at most {limit} items");
        Self::of(FieldErrorKind::TooMany, path, count, detail)
    }

    /// A string that is too long. The limit counts characters, but the API server's message says
    /// bytes.
    pub fn too_long(path: impl Into<String>, value: &str, limit: i64) -> Self {
        let detail = format!("may not be more than {limit} bytes");
        Self::of(FieldErrorKind::TooLong, path, value, detail)
    }

    /// A value that is not supported.
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

    /// An error of a kind.
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
        if self.kind.contains_value() {
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

/// Writes a value in Go syntax (`%#v`), as the API server does.
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
