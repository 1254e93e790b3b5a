//! The three kinds of patches that have nothing to do with ownership: JSON patch (RFC 6902), merge
//! patch (RFC 7386) and strategic merge patch.
//!
//! Each takes the object as it is and returns it as it shall be. Errors carry the status with which
//! the API server answers; whether the result is still a valid object is not decided here.

mod bounds;
mod error;
mod json;
mod strategic;
mod strategic_list;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::schema::Schema;
pub use error::{DirectiveError, OperationError, PatchError};

/// Applies a JSON patch: all of its operations, or none.
///
/// As the API server does it: a missing `value` is null, negative indices count from the end, and
/// the object as a whole (the empty path) cannot be addressed.
pub fn json(patch: &Value, object: &Value) -> Result<Value, PatchError> {
    json::apply(patch, object)
}

/// Applies a merge patch.
pub fn merge(patch: &Value, object: &Value) -> Result<Value, PatchError> {
    if !patch.is_object() {
        return Err(PatchError::Malformed("a merge patch must be an object"));
    }
    bounds::check_depth(patch)?;
    let mut object = object.clone();
    json_patch::merge(&mut object, patch);
    Ok(object)
}

/// Applies a strategic merge patch to an object of a built-in kind.
///
/// Custom resources know no such patch; the answer for them is
/// [`PatchError::StrategicOnCustomResource`].
pub fn strategic(patch: &Value, object: &Value, schema: &Schema) -> Result<Value, PatchError> {
    bounds::check_depth(patch)?;
    match (patch, object) {
        (Value::Null, _) => Ok(object.clone()),
        (Value::Object(patch), Value::Object(object)) => {
            Ok(strategic::merge(object.clone(), patch, schema)?.into())
        }
        _ => Err(PatchError::Malformed("a strategic merge patch must be an object")),
    }
}
