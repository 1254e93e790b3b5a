//! What keeps a hostile patch from exhausting the process.

use serde_json::Value;

use super::PatchError;

/// As the API server has it.
pub(super) const MAX_OPERATIONS: usize = 10_000;
/// As the API server has it: what all copies of a JSON patch weigh together.
pub(super) const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;
/// What all moves weigh together. Moving is cheap, but what is moved has to be measured.
pub(super) const MAX_MOVED_BYTES: usize = 64 * 1024 * 1024;
/// As deep as everything else may be that comes from outside; recursion stays within it.
pub(super) const MAX_DEPTH: usize = 100;

/// How much a value is.
#[derive(Clone, Copy, Default)]
pub(super) struct Size {
    /// About as many bytes as it has in JSON.
    pub(super) bytes: usize,
    /// How many objects and lists lie around its innermost value.
    pub(super) depth: usize,
}

/// Measures a value; one that is too deep only as far as that shows.
pub(super) fn measure(value: &Value) -> Size {
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

pub(super) fn check_depth(patch: &Value) -> Result<(), PatchError> {
    if measure(patch).depth > MAX_DEPTH { Err(PatchError::TooDeep) } else { Ok(()) }
}
