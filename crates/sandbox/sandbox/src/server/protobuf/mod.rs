//! Decoder for Protocol Buffers, in which Go clients send built-in kinds. Responses are always
//! JSON.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::builtin;

/// Prefix of every object.
const MAGIC: &[u8] = b"k8s\0";

/// Maximum nesting. Built-in kinds nest less than 20 levels.
const MAX_DEPTH: usize = 64;
const MESSAGE_TABLE: &str = include_str!("messages.txt");

/// Why an object cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ProtobufError {
    /// It is not a valid message.
    #[error("the body is not a Kubernetes Protocol Buffers message")]
    Malformed,
    /// The kind has no message definition.
    #[error("{kind} of {api_version} is not supported as Protocol Buffers")]
    Unknown {
        /// The API version.
        api_version: String,
        /// The kind.
        kind: String,
    },
}

/// Decodes an object.
pub(super) fn decode(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let envelope = bytes.strip_prefix(MAGIC).ok_or(ProtobufError::Malformed)?;
    let (mut type_, mut raw): (&[u8], &[u8]) = (&[], &[]);
    for field in MessageFields::new(envelope) {
        match field? {
            (1, FieldContent::Bytes(bytes)) => type_ = bytes,
            (2, FieldContent::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let (mut api_version, mut kind) = (String::new(), String::new());
    for field in MessageFields::new(type_) {
        match field? {
            (1, FieldContent::Bytes(bytes)) => api_version = text(bytes)?,
            (2, FieldContent::Bytes(bytes)) => kind = text(bytes)?,
            _ => {}
        }
    }
    let (group, name) = message_name(&api_version, &kind);
    if find_message(&name).is_none() {
        return Err(ProtobufError::Unknown { api_version, kind });
    }
    let mut object = message(raw, &name, MAX_DEPTH)?;
    object.insert("apiVersion".to_owned(), json!(api_version));
    object.insert("kind".to_owned(), json!(kind));
    Ok(without_unset_fields(group, &kind, Value::Object(object)))
}

/// The group of a kind and the name of its message: `rbac.v1.Role` for
/// `rbac.authorization.k8s.io/v1`.
fn message_name<'a>(api_version: &'a str, kind: &str) -> (&'a str, String) {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let package = match group.split('.').next() {
        Some("") | None => "core",
        Some(first) => first,
    };
    match kind {
        // It is the same message in all versions.
        "DeleteOptions" => (group, "meta.v1.DeleteOptions".to_owned()),
        _ => (group, format!("{package}.{version}.{kind}")),
    }
}

/// Removes unset fields, for which the encoding has empty values. The types define which these are.
fn without_unset_fields(group: &str, kind: &str, object: Value) -> Value {
    let Some(known) = builtin::kind(group, kind) else { return object };
    known.read(object.clone()).map_or(object, |read| read.object)
}

fn message(bytes: &[u8], name: &str, depth: usize) -> Result<Map<String, Value>, ProtobufError> {
    let depth = depth.checked_sub(1).ok_or(ProtobufError::Malformed)?;
    let fields = find_message(name).ok_or(ProtobufError::Malformed)?;
    let mut object = Map::new();
    for field in MessageFields::new(bytes) {
        let (number, content) = field?;
        // Unknown fields of newer clients are dropped, as in the API server.
        let Some(field) = fields.get(&number) else { continue };
        add(&mut object, field, content, depth)?;
    }
    Ok(object)
}

fn add(
    object: &mut Map<String, Value>,
    field: &MessageField,
    content: FieldContent<'_>,
    depth: usize,
) -> Result<(), ProtobufError> {
    let Some(name) = field.name else {
        object.extend(message(bytes(content)?, field.type_, depth)?);
        return Ok(());
    };
    match field.cardinality {
        Cardinality::One => {
            object.insert(name.to_owned(), value(content, field.type_, depth)?);
        }
        Cardinality::List => {
            let list = object.entry(name).or_insert_with(|| json!([]));
            let list = list.as_array_mut().ok_or(ProtobufError::Malformed)?;
            list.extend(values(content, field.type_, depth)?);
        }
        Cardinality::Map => {
            let (key, value) = entry(bytes(content)?, field.type_, depth)?;
            let map = object.entry(name).or_insert_with(|| json!({}));
            map.as_object_mut().ok_or(ProtobufError::Malformed)?.insert(key, value);
        }
    }
    Ok(())
}

/// One element of a list, or packed numbers.
fn values(
    content: FieldContent<'_>,
    type_: &str,
    depth: usize,
) -> Result<Vec<Value>, ProtobufError> {
    let is_number = matches!(type_, "bool" | "int32" | "int64");
    let FieldContent::Bytes(mut rest) = content else {
        return Ok(vec![value(content, type_, depth)?]);
    };
    if !is_number {
        return Ok(vec![value(content, type_, depth)?]);
    }
    let mut values = Vec::new();
    while !rest.is_empty() {
        let number = read_varint(&mut rest)?;
        values.push(value(FieldContent::Number(number), type_, depth)?);
    }
    Ok(values)
}

fn entry(bytes: &[u8], type_: &str, depth: usize) -> Result<(String, Value), ProtobufError> {
    let (mut key, mut found) = (String::new(), None);
    for field in MessageFields::new(bytes) {
        match field? {
            (1, FieldContent::Bytes(bytes)) => key = text(bytes)?,
            (2, content) => found = Some(value(content, type_, depth)?),
            _ => {}
        }
    }
    // Empty values are not encoded.
    let empty = match type_ {
        "string" | "bytes" => FieldContent::Bytes(&[]),
        _ => return Ok((key, found.unwrap_or_default())),
    };
    Ok((key, found.map_or_else(|| value(empty, type_, depth), Ok)?))
}

fn value(content: FieldContent<'_>, type_: &str, depth: usize) -> Result<Value, ProtobufError> {
    match (type_, content) {
        ("string", FieldContent::Bytes(bytes)) => text(bytes).map(Value::from),
        ("bytes", FieldContent::Bytes(bytes)) => Ok(json!(STANDARD.encode(bytes))),
        ("bool", FieldContent::Number(number)) => Ok(json!(number != 0)),
        ("int32" | "int64", FieldContent::Number(number)) => Ok(json!(number.cast_signed())),
        ("double", FieldContent::Number(number)) => Ok(json!(f64::from_bits(number))),
        ("Time", FieldContent::Bytes(bytes)) => time(bytes, 0),
        ("MicroTime", FieldContent::Bytes(bytes)) => time(bytes, 6),
        ("Quantity", FieldContent::Bytes(bytes)) => {
            let amount = part(bytes, 1)?.map_or(Ok(String::new()), |it| text(self::bytes(it)?))?;
            Ok(json!(if amount.is_empty() { "0" } else { &amount }))
        }
        ("IntOrString", FieldContent::Bytes(bytes)) => match part(bytes, 1)? {
            Some(FieldContent::Number(1)) => {
                part(bytes, 3)?.map_or(Ok(json!("")), |it| value(it, "string", depth))
            }
            _ => part(bytes, 2)?.map_or(Ok(json!(0)), |it| value(it, "int32", depth)),
        },
        ("Json", FieldContent::Bytes(bytes)) => {
            let raw = part(bytes, 1)?.map_or(Ok(&[][..]), self::bytes)?;
            if raw.is_empty() {
                return Ok(Value::Null);
            }
            serde_json::from_slice(raw).map_err(|_| ProtobufError::Malformed)
        }
        ("Texts", FieldContent::Bytes(bytes)) => {
            let texts = MessageFields::new(bytes).map(|field| value(field?.1, "string", depth));
            texts.collect::<Result<Vec<_>, _>>().map(Value::from)
        }
        (name, FieldContent::Bytes(bytes)) => message(bytes, name, depth).map(Value::Object),
        (_, FieldContent::Number(_)) => Err(ProtobufError::Malformed),
    }
}

/// A timestamp of seconds and nanoseconds; null if it is empty.
fn time(bytes: &[u8], digits: usize) -> Result<Value, ProtobufError> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let number = |field| match part(bytes, field)? {
        Some(FieldContent::Number(number)) => Ok(number.cast_signed()),
        None => Ok(0),
        Some(FieldContent::Bytes(_)) => Err(ProtobufError::Malformed),
    };
    let nanoseconds = i32::try_from(number(2)?).map_err(|_| ProtobufError::Malformed)?;
    let time = Timestamp::new(number(1)?, nanoseconds).map_err(|_| ProtobufError::Malformed)?;
    Ok(json!(format!("{time:.digits$}")))
}

/// The last field with this number.
fn part(message: &[u8], wanted: u32) -> Result<Option<FieldContent<'_>>, ProtobufError> {
    let mut found = None;
    for field in MessageFields::new(message) {
        let (number, content) = field?;
        if number == wanted {
            found = Some(content);
        }
    }
    Ok(found)
}

fn bytes(content: FieldContent<'_>) -> Result<&[u8], ProtobufError> {
    match content {
        FieldContent::Bytes(bytes) => Ok(bytes),
        FieldContent::Number(_) => Err(ProtobufError::Malformed),
    }
}

fn text(bytes: &[u8]) -> Result<String, ProtobufError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| ProtobufError::Malformed)
}

/// The fields of a message, by number.
type Message = HashMap<u32, MessageField>;

/// A field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MessageField {
    /// `None` for embedded messages, whose fields are inlined in JSON.
    name: Option<&'static str>,
    cardinality: Cardinality,
    /// The type of the value or element.
    type_: &'static str,
}

/// The cardinality of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cardinality {
    One,
    List,
    Map,
}

/// The message of that name.
fn find_message(name: &str) -> Option<&'static Message> {
    static MESSAGES: LazyLock<HashMap<&'static str, Message>> = LazyLock::new(|| {
        let lines = MESSAGE_TABLE.lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(parse_message).collect()
    });
    MESSAGES.get(name)
}

fn parse_message(line: &'static str) -> Option<(&'static str, Message)> {
    let (name, fields) = line.split_once(':')?;
    Some((name, fields.split(',').filter_map(parse_field).collect()))
}

fn parse_field(text: &'static str) -> Option<(u32, MessageField)> {
    let mut words = text.split_whitespace();
    let (number, name, type_) = (words.next()?, words.next()?, words.next()?);
    let (cardinality, type_) = match (type_.strip_prefix('['), type_.strip_prefix('{')) {
        (Some(list), _) => (Cardinality::List, list.strip_suffix(']')?),
        (_, Some(map)) => (Cardinality::Map, map.strip_suffix('}')?),
        _ => (Cardinality::One, type_),
    };
    let name = Some(name).filter(|name| *name != "-");
    Some((number.parse().ok()?, MessageField { name, cardinality, type_ }))
}

/// The content of a field, by wire type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldContent<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Iterator over the fields of a message.
struct MessageFields<'a> {
    rest: &'a [u8],
}

impl<'a> MessageFields<'a> {
    fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn field(&mut self) -> Result<(u32, FieldContent<'a>), ProtobufError> {
        let key = read_varint(&mut self.rest)?;
        let field = u32::try_from(key >> 3).map_err(|_| ProtobufError::Malformed)?;
        let content = match key & 7 {
            0 => FieldContent::Number(read_varint(&mut self.rest)?),
            1 => FieldContent::Number(u64::from_le_bytes(self.fixed()?)),
            2 => {
                let length = read_varint(&mut self.rest)?;
                let length = usize::try_from(length).map_err(|_| ProtobufError::Malformed)?;
                FieldContent::Bytes(self.take(length)?)
            }
            5 => FieldContent::Number(u32::from_le_bytes(self.fixed()?).into()),
            _ => return Err(ProtobufError::Malformed),
        };
        Ok((field, content))
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], ProtobufError> {
        self.take(N)?.try_into().map_err(|_| ProtobufError::Malformed)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], ProtobufError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(ProtobufError::Malformed)?;
        self.rest = rest;
        Ok(taken)
    }
}

impl<'a> Iterator for MessageFields<'a> {
    type Item = Result<(u32, FieldContent<'a>), ProtobufError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// A varint.
fn read_varint(rest: &mut &[u8]) -> Result<u64, ProtobufError> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, others) = rest.split_first().ok_or(ProtobufError::Malformed)?;
        *rest = others;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(ProtobufError::Malformed)
}
