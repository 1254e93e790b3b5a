//! Metadata of untyped objects, generated names and UIDs.

use jiff::Timestamp;
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::{Map, Value};

use super::{ApiResult, StatusError};

/// Alphabet of the API server for generated names, without vowels and ambiguous characters.
const NAME_ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// As in the API server.
const NAME_SUFFIX_LENGTH: usize = 5;

/// Generated names have at most 63 bytes, so that they fit into a label.
const MAX_NAME_PREFIX_LENGTH: usize = 63 - NAME_SUFFIX_LENGTH;

/// A string field of the metadata; empty if missing.
pub(super) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get("metadata").and_then(|metadata| metadata.get(field)?.as_str()).unwrap_or_default()
}

/// The name, or `generateName`.
pub(super) fn given_name(object: &Value) -> &str {
    match text(object, "name") {
        "" => text(object, "generateName"),
        name => name,
    }
}

/// A non-null field of the metadata.
pub(super) fn field<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object.get("metadata")?.get(name).filter(|value| !value.is_null())
}

/// Sets a field of the metadata.
pub(super) fn set(object: &mut Value, name: &str, value: impl Into<Value>) {
    if let Some(metadata) = fields(object) {
        metadata.insert(name.to_owned(), value.into());
    }
}

/// Removes a field of the metadata.
pub(super) fn remove(object: &mut Value, name: &str) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove(name);
    }
}

/// Copies a field of the metadata, or removes it if the source lacks it.
pub(super) fn carry(from: &Value, to: &mut Value, name: &str) {
    match field(from, name) {
        Some(value) => set(to, name, value.clone()),
        None => remove(to, name),
    }
}

/// The finalizers.
pub(super) fn finalizers(object: &Value) -> Vec<&str> {
    let list = field(object, "finalizers").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Whether the object is being deleted.
pub(super) fn is_terminating(object: &Value) -> bool {
    field(object, "deletionTimestamp").is_some()
}

/// RFC 3339 with seconds, as in object metadata.
pub(super) fn time(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn fields(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let metadata = object.as_object_mut()?.entry("metadata").or_insert(Value::Null);
    if !metadata.is_object() {
        *metadata = Value::Object(Map::new());
    }
    metadata.as_object_mut()
}

/// Sets the fields of a new object that clients cannot choose.
pub(super) fn set_creation_fields(object: &mut Value, now: Timestamp) -> ApiResult<()> {
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        remove(object, field);
    }
    set(object, "uid", random_uid()?);
    set(object, "creationTimestamp", time(now));
    Ok(())
}

/// Keeps the server-set fields of the replaced object.
pub(super) fn keep_server_fields(object: &mut Value, old: &Value) {
    for field in ["creationTimestamp", "generation"] {
        carry(old, object, field);
    }
    for name in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if field(object, name).is_none() {
            carry(old, object, name);
        }
    }
    remove(object, "selfLink");
}

/// Whether a terminating object can be removed: no finalizers and no grace period are left.
pub(super) fn is_deletable(object: &Value) -> bool {
    let grace = field(object, "deletionGracePeriodSeconds").and_then(Value::as_i64);
    let spec_finalizers = object.pointer("/spec/finalizers").and_then(Value::as_array);
    is_terminating(object)
        && grace.unwrap_or_default() == 0
        && finalizers(object).is_empty()
        && !(is_namespace(object) && spec_finalizers.is_some_and(|list| !list.is_empty()))
}

/// Whether it is a Namespace, which has finalizers in its spec as well.
fn is_namespace(object: &Value) -> bool {
    let is = |field: &str, word: &str| object.get(field).and_then(Value::as_str) == Some(word);
    is("kind", "Namespace") && is("apiVersion", "v1")
}

/// Sets deletion timestamp and grace period.
pub(super) fn mark_deleted(object: &mut Value, now: Timestamp, grace: i64) {
    let deadline = now.checked_add(jiff::SignedDuration::from_secs(grace)).unwrap_or(now);
    set(object, "deletionTimestamp", time(deadline));
    set(object, "deletionGracePeriodSeconds", grace);
    if let Some(generation) = field(object, "generation").and_then(Value::as_i64)
        && generation > 0
    {
        set(object, "generation", generation + 1);
    }
}

/// Generates a name with this prefix, which is truncated if needed.
pub(super) fn generate_name(prefix: &str) -> ApiResult<String> {
    let prefix = &prefix[..prefix.floor_char_boundary(MAX_NAME_PREFIX_LENGTH)];
    Ok(format!("{prefix}{}", random_suffix()?))
}

/// A random suffix for generated names.
pub(super) fn random_suffix() -> ApiResult<String> {
    let letter = |byte: u8| char::from(NAME_ALPHABET[usize::from(byte) % NAME_ALPHABET.len()]);
    Ok(random_bytes::<NAME_SUFFIX_LENGTH>()?.map(letter).into_iter().collect())
}

/// A random UUID (version 4).
pub(crate) fn random_uid() -> ApiResult<String> {
    let mut bytes = random_bytes::<16>()?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let number = u128::from_be_bytes(bytes);
    let hex = format!("{number:032x}");
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    Ok(parts.join("-"))
}

fn random_bytes<const N: usize>() -> ApiResult<[u8; N]> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| {
        StatusError::internal("cannot read random numbers from the operating system")
    })?;
    Ok(bytes)
}
