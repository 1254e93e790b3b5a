//! Errors of the store as data. The API converts them to a `Status`.

use std::sync::Arc;

use serde_json::Value;

use super::Key;

/// Why a write failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StoreError {
    /// The object does not exist.
    #[error("{key} not found")]
    NotFound {
        /// The key.
        key: Key,
    },
    /// The object exists.
    #[error("{key} already exists")]
    AlreadyExists {
        /// The key.
        key: Key,
        /// The current object.
        current: Arc<Value>,
    },
    /// The object has another resource version.
    #[error(
        "the object has been modified; please apply your changes to the latest version and try again"
    )]
    Conflict {
        /// The key.
        key: Key,
        /// The expected resource version.
        expected: String,
        /// The current object.
        current: Arc<Value>,
    },
}

/// Why a list or watch cannot start, with the messages of the API server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// 410: the requested revision is compacted.
    #[error("The resourceVersion for the provided list is too old.")]
    ListExpired {
        /// The requested revision.
        requested: u64,
        /// The oldest available revision.
        oldest: u64,
    },
    /// 410: the revision of the first page is compacted.
    #[error(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."
    )]
    ContinueExpired {
        /// `metadata.continue` of the response, which continues with current objects.
        token: String,
    },
    /// 410, sent as an event: changes since the requested revision are compacted.
    #[error("too old resource version: {requested} ({oldest})")]
    WatchExpired {
        /// The requested revision.
        requested: u64,
        /// The oldest available revision.
        oldest: u64,
    },
    /// 504: the revision is in the future.
    #[error("Too large resource version: {requested}, current: {current}")]
    TooLarge {
        /// The requested revision.
        requested: u64,
        /// The current revision.
        current: u64,
    },
    /// 400: invalid continue token.
    #[error("invalid continue token: {problem}")]
    InvalidContinue {
        /// The reason.
        problem: String,
    },
}

/// Why the parameters of a list or watch are invalid, with the messages of the API server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// 400: the resource version is not a number.
    #[error("invalid resource version: {value:?}")]
    ResourceVersion {
        /// The value.
        value: String,
    },
    /// 400: resource version together with `continue`.
    #[error("specifying resource version is not allowed when using continue")]
    VersionWithContinue,
    /// 422: `resourceVersionMatch` is not allowed.
    #[error("{detail}")]
    MatchForbidden {
        /// The reason.
        detail: &'static str,
    },
    /// 422: unknown `resourceVersionMatch`.
    #[error("Unsupported value: {value:?}: supported values: \"Exact\", \"NotOlderThan\", \"\"")]
    MatchUnknown {
        /// The value.
        value: String,
    },
}
