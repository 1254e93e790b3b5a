//! JSON patch (RFC 6902).

use serde_json::{Map, Value};

use super::PatchError;
use super::error::OperationError;
use super::{MAX_COPIED_BYTES, MAX_DEPTH, MAX_MOVED_BYTES, MAX_OPERATIONS, measure};

type Operation = Map<String, Value>;

pub(super) fn apply(patch: &Value, object: &Value) -> Result<Value, PatchError> {
    let operations = match patch {
        Value::Null => return Ok(object.clone()),
        Value::Array(operations) => operations,
        _ => return Err(PatchError::Malformed("a JSON patch must be a list of operations")),
    };
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::TooManyOperations(operations.len()));
    }
    let operations: Option<Vec<&Operation>> = operations.iter().map(Value::as_object).collect();
    let operations = operations.ok_or(PatchError::Malformed("an operation must be an object"))?;

    let mut document = PatchedDocument { root: object.clone(), copied: 0, moved: 0 };
    for (index, operation) in operations.into_iter().enumerate() {
        document.apply(operation).map_err(|why| operation_error(index, operation, why))?;
    }
    Ok(document.root)
}

fn operation_error(index: usize, operation: &Operation, why: OperationError) -> PatchError {
    let text = |field| operation.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    PatchError::Operation { index, operation: text("op"), path: text("path"), why }
}

/// The patched document, and the totals of copies and moves.
struct PatchedDocument {
    root: Value,
    copied: usize,
    moved: usize,
}

impl PatchedDocument {
    fn apply(&mut self, operation: &Operation) -> Result<(), OperationError> {
        let path = JsonPointer::parse(operation, "path")?;
        let value = || operation.get("value").cloned().unwrap_or_default();
        match operation.get("op").and_then(Value::as_str) {
            Some("add") => self.add(&path, value()),
            Some("remove") => self.remove(&path).map(drop),
            Some("replace") => self.replace(&path, value()),
            Some("move") => self.move_from(&JsonPointer::parse(operation, "from")?, &path),
            Some("copy") => self.copy_from(&JsonPointer::parse(operation, "from")?, &path),
            Some("test") => self.test(&path, &value()),
            _ => Err(OperationError::Unknown),
        }
    }

    fn add(&mut self, path: &JsonPointer, value: Value) -> Result<(), OperationError> {
        path.check_depth(&value)?;
        match self.parent_mut(path)? {
            Value::Object(map) => {
                map.insert(path.last.clone(), value);
            }
            Value::Array(items) => {
                let index = insertion_index(&path.last, items.len())?;
                items.insert(index, value);
            }
            _ => return Err(path.missing()),
        }
        Ok(())
    }

    fn remove(&mut self, path: &JsonPointer) -> Result<Value, OperationError> {
        match self.parent_mut(path)? {
            Value::Object(map) => map.remove(&path.last).ok_or_else(|| path.missing()),
            Value::Array(items) => Ok(items.remove(index(&path.last, items.len())?)),
            _ => Err(path.missing()),
        }
    }

    fn replace(&mut self, path: &JsonPointer, value: Value) -> Result<(), OperationError> {
        path.check_depth(&value)?;
        *child_mut(self.parent_mut(path)?, &path.last)? = value;
        Ok(())
    }

    fn move_from(&mut self, from: &JsonPointer, path: &JsonPointer) -> Result<(), OperationError> {
        if path.is_inside(from) {
            return Err(OperationError::IntoItself);
        }
        let value = self.remove(from)?;
        self.moved += measure(&value).bytes;
        if self.moved > MAX_MOVED_BYTES {
            return Err(OperationError::TooMuchMoved);
        }
        self.add(path, value)
    }

    fn copy_from(&mut self, from: &JsonPointer, path: &JsonPointer) -> Result<(), OperationError> {
        let copied = self.copied;
        let value = child_mut(self.parent_mut(from)?, &from.last)?;
        let copied = copied + measure(value).bytes;
        if copied > MAX_COPIED_BYTES {
            return Err(OperationError::TooMuchCopied);
        }
        let value = value.clone();
        self.copied = copied;
        self.add(path, value)
    }

    /// Tests a value. A missing field equals null.
    fn test(&mut self, path: &JsonPointer, expected: &Value) -> Result<(), OperationError> {
        let found = match self.parent_mut(path)? {
            Value::Object(map) => map.get(&path.last).unwrap_or(&Value::Null),
            other => child_mut(other, &path.last)?,
        };
        if found == expected { Ok(()) } else { Err(OperationError::Different) }
    }

    fn parent_mut(&mut self, path: &JsonPointer) -> Result<&mut Value, OperationError> {
        path.parents.iter().try_fold(&mut self.root, |value, part| child_mut(value, part))
    }
}

/// A JSON pointer.
struct JsonPointer {
    parents: Vec<String>,
    last: String,
}

impl JsonPointer {
    fn parse(operation: &Operation, field: &'static str) -> Result<Self, OperationError> {
        let path = operation.get(field).and_then(Value::as_str);
        let path =
            path.and_then(|path| path.strip_prefix('/')).ok_or(OperationError::NoPath(field))?;
        let mut parents: Vec<String> = path.split('/').map(unescape).collect();
        let last = parents.pop().unwrap_or_default();
        Ok(Self { parents, last })
    }

    fn is_inside(&self, outer: &Self) -> bool {
        let mut mine = self.parents.iter();
        outer.parents.iter().chain([&outer.last]).all(|part| mine.next() == Some(part))
    }

    fn check_depth(&self, value: &Value) -> Result<(), OperationError> {
        let depth = self.parents.len() + 1 + measure(value).depth;
        if depth > MAX_DEPTH { Err(OperationError::TooDeep) } else { Ok(()) }
    }

    fn missing(&self) -> OperationError {
        OperationError::Missing(self.last.clone())
    }
}

fn unescape(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

fn child_mut<'v>(value: &'v mut Value, part: &str) -> Result<&'v mut Value, OperationError> {
    match value {
        Value::Object(map) => {
            map.get_mut(part).ok_or_else(|| OperationError::Missing(part.to_owned()))
        }
        Value::Array(items) => {
            let index = index(part, items.len())?;
            Ok(&mut items[index])
        }
        _ => Err(OperationError::Missing(part.to_owned())),
    }
}

/// Index of an existing item. Negative numbers count from the end.
fn index(part: &str, len: usize) -> Result<usize, OperationError> {
    position(part, len)
        .filter(|index| *index < len)
        .ok_or_else(|| OperationError::NoIndex(part.to_owned()))
}

/// Index for an insertion. `-` and -1 append.
fn insertion_index(part: &str, len: usize) -> Result<usize, OperationError> {
    if part == "-" {
        return Ok(len);
    }
    position(part, len + 1)
        .filter(|index| *index <= len)
        .ok_or_else(|| OperationError::NoIndex(part.to_owned()))
}

fn position(part: &str, count: usize) -> Option<usize> {
    let number: isize = part.parse().ok()?;
    if number < 0 { count.checked_sub(number.unsigned_abs()) } else { usize::try_from(number).ok() }
}
