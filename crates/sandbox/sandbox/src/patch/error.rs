//! Errors of patches.

use super::{MAX_COPIED_BYTES, MAX_DEPTH, MAX_OPERATIONS};

/// Why a patch fails.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PatchError {
    /// It is not a patch of its type.
    #[error("malformed patch: {0}")]
    Malformed(&'static str),
    /// It is nested too deeply.
    #[error("the patch is nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// It has too many operations.
    #[error(
        "Request entity too large: The allowed maximum operations in a JSON patch is \
         {MAX_OPERATIONS}, got {0}"
    )]
    TooManyOperations(usize),
    /// An operation of a JSON patch fails.
    #[error("operation {index} ({operation} {path:?}): {why}")]
    Operation {
        /// Index of the operation.
        index: usize,
        /// The operation.
        operation: String,
        /// Its path.
        path: String,
        /// The reason.
        why: OperationError,
    },
    /// A directive or list item of a strategic merge patch is invalid.
    #[error("{path}: {why}")]
    Directive {
        /// The field path.
        path: String,
        /// The reason.
        why: DirectiveError,
    },
    /// Custom resources do not support strategic merge patches.
    #[error(
        "the body of the request was in an unknown format - accepted media types include: \
         application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )]
    StrategicOnCustomResource,
}

/// Why an operation of a JSON patch fails.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OperationError {
    /// Unknown operation.
    #[error("unknown operation")]
    Unknown,
    /// Missing or invalid path.
    #[error("{0:?} must be a path that starts with a slash")]
    NoPath(&'static str),
    /// The path does not exist.
    #[error("{0:?} does not exist")]
    Missing(String),
    /// Invalid list index.
    #[error("{0:?} is not an index of the list")]
    NoIndex(String),
    /// A value cannot be moved into itself.
    #[error("a value cannot be moved into itself")]
    IntoItself,
    /// The tested value differs.
    #[error("the value differs from the expected value")]
    Different,
    /// The copies exceed the limit.
    #[error("the operations copy more than {MAX_COPIED_BYTES} bytes")]
    TooMuchCopied,
    /// The moves exceed the limit.
    #[error("the operations move too many values")]
    TooMuchMoved,
    /// The result is nested too deeply.
    #[error("the object would be nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
}

/// Why a directive is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DirectiveError {
    /// Unknown `$patch`.
    #[error("$patch is {0}; expected \"replace\" or \"delete\"")]
    Unknown(String),
    /// `$retainKeys` is not a list of names, or omits a field of the patch.
    #[error("$retainKeys must be a list with the names of all other fields of the patch")]
    RetainKeys,
    /// A list is required.
    #[error("{0} must be a list")]
    NotAList(&'static str),
    /// The field is not a list.
    #[error("values can be deleted only from lists")]
    NotInAList,
    /// An item lacks its key.
    #[error("an item has no {0:?}, which identifies it")]
    NoKey(String),
    /// The items have different types.
    #[error("the items of the list have different types")]
    MixedItems,
    /// `$setElementOrder` contradicts the patch.
    #[error("the order of the items contradicts $setElementOrder")]
    Order,
}

impl PatchError {
    /// The HTTP status.
    ///
    /// The API server reports most errors of strategic merge patches as 500.
    pub fn code(&self) -> u16 {
        match self {
            Self::Malformed(_) | Self::TooDeep => 400,
            Self::TooManyOperations(_) => 413,
            Self::StrategicOnCustomResource => 415,
            Self::Operation { .. } => 422,
            Self::Directive { why, .. } => match why {
                DirectiveError::RetainKeys => 400,
                DirectiveError::NotInAList => 422,
                _ => 500,
            },
        }
    }

    /// Prefixes the path with a field.
    pub(super) fn inside(self, field: &str) -> Self {
        match self {
            Self::Directive { path, why } => {
                let separator = if path.is_empty() || path.starts_with('[') { "" } else { "." };
                Self::Directive { path: format!("{field}{separator}{path}"), why }
            }
            other => other,
        }
    }
}

impl From<DirectiveError> for PatchError {
    fn from(why: DirectiveError) -> Self {
        Self::Directive { path: String::new(), why }
    }
}
