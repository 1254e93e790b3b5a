//! Patches without field ownership: JSON patch (RFC 6902), merge patch (RFC 7386) and strategic
//! merge patch.
//!
//! Each returns the patched object. Errors have the HTTP status of the API server. The result is
//! validated elsewhere.

mod error;
mod json;
mod strategic;
mod strategic_list;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::schema::Schema;

pub use error::{DirectiveError, OperationError, PatchError};

/// Limit of the API server.
const MAX_OPERATIONS: usize = 10_000;

/// Limit of the API server for the total size of copies.
const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

/// Limit for the total size of moved values, which have to be measured.
const MAX_MOVED_BYTES: usize = 64 * 1024 * 1024;

/// Maximum nesting, which bounds recursion.
const MAX_DEPTH: usize = 100;

/// Applies a JSON patch atomically.
///
/// As in the API server, a missing `value` is null, negative indices count from the end, and the
/// root cannot be addressed.
pub fn json(patch: &Value, object: &Value) -> Result<Value, PatchError> {
    json::apply(patch, object)
}

/// Applies a merge patch.
pub fn merge(patch: &Value, object: &Value) -> Result<Value, PatchError> {
    if !patch.is_object() {
        return Err(PatchError::Malformed("a merge patch must be an object"));
    }
    check_depth(patch)?;
    let mut object = object.clone();
    json_patch::merge(&mut object, patch);
    Ok(object)
}

/// Applies a strategic merge patch to a built-in object.
///
/// The API refuses it for custom resources with [`PatchError::StrategicOnCustomResource`].
pub fn strategic(patch: &Value, object: &Value, schema: &Schema) -> Result<Value, PatchError> {
    check_depth(patch)?;
    match (patch, object) {
        (Value::Null, _) => Ok(object.clone()),
        (Value::Object(patch), Value::Object(object)) => {
            Ok(strategic::merge(object.clone(), patch, schema)?.into())
        }
        _ => Err(PatchError::Malformed("a strategic merge patch must be an object")),
    }
}

/// Size and nesting of a value.
#[derive(Clone, Copy, Default)]
struct Size {
    /// Approximate size in JSON.
    bytes: usize,
    /// Nesting depth.
    depth: usize,
}

/// Measures a value, no deeper than the limit.
fn measure(value: &Value) -> Size {
    measure_within(value, MAX_DEPTH)
}

fn measure_within(value: &Value, levels: usize) -> Size {
    let container = |inner: &mut dyn Iterator<Item = Size>| {
        let inner = inner.fold(Size::default(), |sum, size| Size {
            bytes: sum.bytes + size.bytes + 1,
            depth: sum.depth.max(size.depth),
        });
        Size { bytes: inner.bytes + 2, depth: inner.depth + 1 }
    };
    let Some(below) = levels.checked_sub(1) else {
        return Size { bytes: 0, depth: usize::from(value.is_object() || value.is_array()) };
    };
    match value {
        Value::Object(map) => container(&mut map.iter().map(|(key, value)| {
            let size = measure_within(value, below);
            Size { bytes: size.bytes + key.len() + 3, ..size }
        })),
        Value::Array(items) => container(&mut items.iter().map(|item| measure_within(item, below))),
        Value::String(text) => Size { bytes: text.len() + 2, depth: 0 },
        Value::Number(_) | Value::Bool(_) | Value::Null => Size { bytes: 4, depth: 0 },
    }
}

fn check_depth(patch: &Value) -> Result<(), PatchError> {
    if measure(patch).depth > MAX_DEPTH { Err(PatchError::TooDeep) } else { Ok(()) }
}
