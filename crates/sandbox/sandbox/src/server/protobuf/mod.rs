//! Objects as Protocol Buffers, which is how clients in Go write built-in kinds. They read JSON as
//! well, so nothing is ever written in this format here.

mod messages;
#[cfg(test)]
mod tests;
mod wire;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::builtin;
use messages::{Field, Form};
use wire::{Content, Fields};

/// What every object begins with.
const MAGIC: &[u8] = b"k8s\0";

/// Built-in kinds nest less than 20 deep.
const MAX_DEPTH: usize = 64;

/// Why an object cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ProtobufError {
    /// It is not what it says to be.
    #[error("the body is not a Kubernetes Protocol Buffers message")]
    Malformed,
    /// It is of a kind that is only known as JSON.
    #[error("{kind} of {api_version} is not supported as Protocol Buffers")]
    Unknown {
        /// What it says.
        api_version: String,
        /// What it says.
        kind: String,
    },
}

/// The object that these bytes are.
pub(super) fn decode(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let envelope = bytes.strip_prefix(MAGIC).ok_or(ProtobufError::Malformed)?;
    let (mut type_, mut raw): (&[u8], &[u8]) = (&[], &[]);
    for field in Fields::of(envelope) {
        match field? {
            (1, Content::Bytes(bytes)) => type_ = bytes,
            (2, Content::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let (mut api_version, mut kind) = (String::new(), String::new());
    for field in Fields::of(type_) {
        match field? {
            (1, Content::Bytes(bytes)) => api_version = text(bytes)?,
            (2, Content::Bytes(bytes)) => kind = text(bytes)?,
            _ => {}
        }
    }
    let (group, name) = message_name(&api_version, &kind);
    if messages::find(&name).is_none() {
        return Err(ProtobufError::Unknown { api_version, kind });
    }
    let mut object = message(raw, &name, MAX_DEPTH)?;
    object.insert("apiVersion".to_owned(), json!(api_version));
    object.insert("kind".to_owned(), json!(kind));
    Ok(without_what_is_not_set(group, &kind, Value::Object(object)))
}

/// The group of a kind, and the name of its message: `rbac.v1.Role` in the version
/// `rbac.authorization.k8s.io/v1`.
fn message_name<'a>(api_version: &'a str, kind: &str) -> (&'a str, String) {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let package = match group.split('.').next() {
        Some("") | None => "core",
        Some(first) => first,
    };
    match kind {
        // Every version has it.
        "DeleteOptions" => (group, "meta.v1.DeleteOptions".to_owned()),
        _ => (group, format!("{package}.{version}.{kind}")),
    }
}

/// Much is written even when it is not set; the types know what.
fn without_what_is_not_set(group: &str, kind: &str, object: Value) -> Value {
    let Some(known) = builtin::kind(group, kind) else { return object };
    known.read(object.clone()).map_or(object, |read| read.object)
}

fn message(bytes: &[u8], name: &str, depth: usize) -> Result<Map<String, Value>, ProtobufError> {
    let depth = depth.checked_sub(1).ok_or(ProtobufError::Malformed)?;
    let fields = messages::find(name).ok_or(ProtobufError::Malformed)?;
    let mut object = Map::new();
    for field in Fields::of(bytes) {
        let (number, content) = field?;
        // Newer clients know more fields than there are here; the API server forgets them too.
        let Some(field) = fields.get(&number) else { continue };
        add(&mut object, field, content, depth)?;
    }
    Ok(object)
}

fn add(
    object: &mut Map<String, Value>,
    field: &Field,
    content: Content<'_>,
    depth: usize,
) -> Result<(), ProtobufError> {
    let Some(name) = field.name else {
        object.extend(message(bytes(content)?, field.type_, depth)?);
        return Ok(());
    };
    match field.form {
        Form::One => {
            object.insert(name.to_owned(), value(content, field.type_, depth)?);
        }
        Form::List => {
            let list = object.entry(name).or_insert_with(|| json!([]));
            let list = list.as_array_mut().ok_or(ProtobufError::Malformed)?;
            list.extend(values(content, field.type_, depth)?);
        }
        Form::Map => {
            let (key, value) = entry(bytes(content)?, field.type_, depth)?;
            let map = object.entry(name).or_insert_with(|| json!({}));
            map.as_object_mut().ok_or(ProtobufError::Malformed)?.insert(key, value);
        }
    }
    Ok(())
}

/// One item of a list, or several numbers that are written together.
fn values(content: Content<'_>, type_: &str, depth: usize) -> Result<Vec<Value>, ProtobufError> {
    let is_number = matches!(type_, "bool" | "int32" | "int64");
    let Content::Bytes(mut rest) = content else { return Ok(vec![value(content, type_, depth)?]) };
    if !is_number {
        return Ok(vec![value(content, type_, depth)?]);
    }
    let mut values = Vec::new();
    while !rest.is_empty() {
        let number = wire::number(&mut rest)?;
        values.push(value(Content::Number(number), type_, depth)?);
    }
    Ok(values)
}

fn entry(bytes: &[u8], type_: &str, depth: usize) -> Result<(String, Value), ProtobufError> {
    let (mut key, mut found) = (String::new(), None);
    for field in Fields::of(bytes) {
        match field? {
            (1, Content::Bytes(bytes)) => key = text(bytes)?,
            (2, content) => found = Some(value(content, type_, depth)?),
            _ => {}
        }
    }
    // What is empty is not written.
    let empty = match type_ {
        "string" | "bytes" => Content::Bytes(&[]),
        _ => return Ok((key, found.unwrap_or_default())),
    };
    Ok((key, found.map_or_else(|| value(empty, type_, depth), Ok)?))
}

fn value(content: Content<'_>, type_: &str, depth: usize) -> Result<Value, ProtobufError> {
    match (type_, content) {
        ("string", Content::Bytes(bytes)) => text(bytes).map(Value::from),
        ("bytes", Content::Bytes(bytes)) => Ok(json!(STANDARD.encode(bytes))),
        ("bool", Content::Number(number)) => Ok(json!(number != 0)),
        ("int32" | "int64", Content::Number(number)) => Ok(json!(number.cast_signed())),
        ("double", Content::Number(number)) => Ok(json!(f64::from_bits(number))),
        ("Time", Content::Bytes(bytes)) => time(bytes, 0),
        ("MicroTime", Content::Bytes(bytes)) => time(bytes, 6),
        ("Quantity", Content::Bytes(bytes)) => {
            let amount = part(bytes, 1)?.map_or(Ok(String::new()), |it| text(self::bytes(it)?))?;
            Ok(json!(if amount.is_empty() { "0" } else { &amount }))
        }
        ("IntOrString", Content::Bytes(bytes)) => match part(bytes, 1)? {
            Some(Content::Number(1)) => {
                part(bytes, 3)?.map_or(Ok(json!("")), |it| value(it, "string", depth))
            }
            _ => part(bytes, 2)?.map_or(Ok(json!(0)), |it| value(it, "int32", depth)),
        },
        ("Json", Content::Bytes(bytes)) => {
            let raw = part(bytes, 1)?.map_or(Ok(&[][..]), self::bytes)?;
            if raw.is_empty() {
                return Ok(Value::Null);
            }
            serde_json::from_slice(raw).map_err(|_| ProtobufError::Malformed)
        }
        ("Texts", Content::Bytes(bytes)) => {
            let texts = Fields::of(bytes).map(|field| value(field?.1, "string", depth));
            texts.collect::<Result<Vec<_>, _>>().map(Value::from)
        }
        (name, Content::Bytes(bytes)) => message(bytes, name, depth).map(Value::Object),
        (_, Content::Number(_)) => Err(ProtobufError::Malformed),
    }
}

/// The time of a message with seconds and nanoseconds; nothing where there is none.
fn time(bytes: &[u8], digits: usize) -> Result<Value, ProtobufError> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let number = |field| match part(bytes, field)? {
        Some(Content::Number(number)) => Ok(number.cast_signed()),
        None => Ok(0),
        Some(Content::Bytes(_)) => Err(ProtobufError::Malformed),
    };
    let nanoseconds = i32::try_from(number(2)?).map_err(|_| ProtobufError::Malformed)?;
    let time = Timestamp::new(number(1)?, nanoseconds).map_err(|_| ProtobufError::Malformed)?;
    Ok(json!(format!("{time:.digits$}")))
}

/// The last field of that number.
fn part(message: &[u8], wanted: u32) -> Result<Option<Content<'_>>, ProtobufError> {
    let mut found = None;
    for field in Fields::of(message) {
        let (number, content) = field?;
        if number == wanted {
            found = Some(content);
        }
    }
    Ok(found)
}

fn bytes(content: Content<'_>) -> Result<&[u8], ProtobufError> {
    match content {
        Content::Bytes(bytes) => Ok(bytes),
        Content::Number(_) => Err(ProtobufError::Malformed),
    }
}

fn text(bytes: &[u8]) -> Result<String, ProtobufError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| ProtobufError::Malformed)
}
