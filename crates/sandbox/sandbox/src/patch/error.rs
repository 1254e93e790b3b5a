//! Why a patch cannot be applied.

use super::bounds::{MAX_COPIED_BYTES, MAX_DEPTH, MAX_OPERATIONS};

/// Why a patch cannot be applied.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PatchError {
    /// It is no patch of its kind.
    #[error("malformed patch: {0}")]
    Malformed(&'static str),
    /// It nests too deeply.
    #[error("the patch is nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// It has too many operations.
    #[error(
        "Request entity too large: The allowed maximum operations in a JSON patch is \
         {MAX_OPERATIONS}, got {0}"
    )]
    TooManyOperations(usize),
    /// One operation of a JSON patch fails.
    #[error("operation {index} ({operation} {path:?}): {why}")]
    Operation {
        /// Which one, from 0.
        index: usize,
        /// What it does.
        operation: String,
        /// Where.
        path: String,
        /// What is wrong.
        why: OperationError,
    },
    /// A directive of a strategic merge patch, or an item in one of its lists, is wrong.
    #[error("{path}: {why}")]
    Directive {
        /// The field, from the object.
        path: String,
        /// What is wrong.
        why: DirectiveError,
    },
    /// Custom resources know no strategic merge patch.
    #[error(
        "the body of the request was in an unknown format - accepted media types include: \
         application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )]
    StrategicOnCustomResource,
}

/// Why an operation of a JSON patch fails.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OperationError {
    /// The operation is none of the six.
    #[error("unknown operation")]
    Unknown,
    /// A path is missing, empty or does not begin with a slash.
    #[error("{0:?} must be a path that starts with a slash")]
    NoPath(&'static str),
    /// A path leads nowhere.
    #[error("{0:?} does not exist")]
    Missing(String),
    /// An index lies beyond the list, or is no number.
    #[error("{0:?} is not an index of the list")]
    NoIndex(String),
    /// A value is to be moved into itself.
    #[error("a value cannot be moved into itself")]
    IntoItself,
    /// The tested value is another one.
    #[error("the value differs from the expected value")]
    Different,
    /// The copies are too large.
    #[error("the operations copy more than {MAX_COPIED_BYTES} bytes")]
    TooMuchCopied,
    /// The operations move too much.
    #[error("the operations move too many values")]
    TooMuchMoved,
    /// The result is too deep.
    #[error("the object would be nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
}

/// What is wrong with a directive of a strategic merge patch.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DirectiveError {
    /// `$patch` says something unknown.
    #[error("$patch is {0}; expected \"replace\" or \"delete\"")]
    Unknown(String),
    /// `$retainKeys` is no list of names, or leaves out a field of the patch.
    #[error("$retainKeys must be a list with the names of all other fields of the patch")]
    RetainKeys,
    /// A directive needs a list.
    #[error("{0} must be a list")]
    NotAList(&'static str),
    /// The field is no list.
    #[error("values can be deleted only from lists")]
    NotInAList,
    /// An item does not say which one it is.
    #[error("an item has no {0:?}, which identifies it")]
    NoKey(String),
    /// The items do not belong into one list.
    #[error("the items of the list have different types")]
    MixedItems,
    /// `$setElementOrder` contradicts the patch.
    #[error("the order of the items contradicts $setElementOrder")]
    Order,
}

impl PatchError {
    /// The HTTP status with which the API server answers.
    ///
    /// It calls most faults of a strategic merge patch its own (500).
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

    /// The same error, seen from the object that has it in this field.
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
