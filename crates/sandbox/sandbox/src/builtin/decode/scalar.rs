//! Scalars, in the notation of the API server.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Number, Value};

use super::types::{GoType, short};
use super::{DecodeError, FieldPath};
use crate::builtin::quantity::Quantity;

/// Decodes a scalar; refuses values of another type.
pub(super) fn decode(
    value: &Value,
    content: &GoType,
    at: &FieldPath,
) -> Result<Value, DecodeError> {
    let read = match (content, value) {
        (GoType::Text | GoType::IntOrString, Value::String(_))
        | (GoType::Bool, Value::Bool(_))
        | (GoType::Float, Value::Number(_)) => Some(value.clone()),
        (GoType::Int64, Value::Number(number)) => number.as_i64().map(Value::from),
        (GoType::Int32 | GoType::IntOrString, Value::Number(number)) => {
            int32(number).map(Value::from)
        }
        (GoType::Bytes, Value::String(text)) => return bytes(text),
        (GoType::Quantity | GoType::Amount, Value::String(text)) => return quantity(text, content),
        (GoType::Quantity | GoType::Amount, Value::Number(number)) => {
            return quantity(&number.to_string(), content);
        }
        (GoType::Time, Value::String(text)) => return time(text),
        (GoType::MicroTime, Value::String(text)) => return micro_time(text),
        _ => None,
    };
    read.ok_or_else(|| wrong_type(value, content, at))
}

/// Whether the JSON type of a value fits a type.
pub(super) fn matches_json_type(value: &Value, content: &GoType) -> bool {
    match value {
        Value::Object(_) => matches!(content, GoType::Struct(_) | GoType::Map(_) | GoType::Any),
        Value::Array(_) => matches!(content, GoType::List(_) | GoType::Any),
        Value::Bool(_) => matches!(content, GoType::Bool | GoType::Any),
        _ => {
            !matches!(content, GoType::Struct(_) | GoType::Map(_) | GoType::List(_) | GoType::Bool)
        }
    }
}

fn int32(number: &Number) -> Option<i32> {
    number.as_i64().and_then(|number| number.try_into().ok())
}

fn bytes(text: &str) -> Result<Value, DecodeError> {
    let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    match STANDARD.decode(&text) {
        Ok(bytes) => Ok(STANDARD.encode(bytes).into()),
        Err(error) => {
            let at = match error {
                base64::DecodeError::InvalidByte(at, _)
                | base64::DecodeError::InvalidLastSymbol(at, _) => at,
                base64::DecodeError::InvalidLength(_) | base64::DecodeError::InvalidPadding => {
                    text.len() / 4 * 4
                }
            };
            Err(DecodeError(format!("illegal base64 data at input byte {at}")))
        }
    }
}

fn quantity(text: &str, content: &GoType) -> Result<Value, DecodeError> {
    match Quantity::parse(text.trim()) {
        Ok(quantity) if *content == GoType::Amount => {
            Ok(quantity.to_thousandths().to_string().into())
        }
        Ok(quantity) => Ok(quantity.to_string().into()),
        Err(error) => Err(DecodeError(error.to_string())),
    }
}

fn time(text: &str) -> Result<Value, DecodeError> {
    let time = text.parse::<Timestamp>().ok();
    let time = time.ok_or_else(|| invalid_time(text, "2006-01-02T15:04:05Z07:00"))?;
    Ok(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into())
}

/// Go's layout requires exactly six digits.
fn micro_time(text: &str) -> Result<Value, DecodeError> {
    let digits =
        text.split_once('.').map(|(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count());
    let time = text.parse::<Timestamp>().ok().filter(|_| digits == Some(6));
    let time = time.ok_or_else(|| invalid_time(text, "2006-01-02T15:04:05.000000Z07:00"))?;
    Ok(time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string().into())
}

fn invalid_time(text: &str, form: &str) -> DecodeError {
    DecodeError(format!("parsing time {text:?} as {form:?}: cannot parse {text:?} as \"2006\""))
}

fn wrong_type(value: &Value, content: &GoType, at: &FieldPath) -> DecodeError {
    let form = match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(number) if matches!(content, GoType::Int32 | GoType::Int64) => {
            format!("number {number}")
        }
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(_) => "array".to_owned(),
        Value::Object(_) => "object".to_owned(),
    };
    let declaration = match content {
        // IntOrString has its own UnmarshalJSON, whose errors have no field path.
        GoType::IntOrString => "Go value".to_owned(),
        _ => at.declaration(),
    };
    DecodeError(format!(
        "json: cannot unmarshal {form} into {declaration} of type {}",
        name(content)
    ))
}

/// The name of a type in Go, as in the API server's messages.
fn name(content: &GoType) -> String {
    match content {
        GoType::Text | GoType::Quantity | GoType::Amount | GoType::Time | GoType::MicroTime => {
            "string".to_owned()
        }
        GoType::Int32 | GoType::IntOrString => "int32".to_owned(),
        GoType::Int64 => "int64".to_owned(),
        GoType::Float => "float64".to_owned(),
        GoType::Bool => "bool".to_owned(),
        GoType::Bytes => "[]uint8".to_owned(),
        GoType::Any => "interface {}".to_owned(),
        GoType::List(inner) => format!("[]{}", name(inner)),
        GoType::Map(inner) => format!("map[string]{}", name(inner)),
        GoType::Struct(full) => format!("v1.{}", short(full)),
        GoType::OneOf(choices) => choices.first().map_or_else(String::new, name),
    }
}
