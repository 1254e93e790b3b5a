//! What can go wrong, as data: whoever speaks HTTP makes the answer from it.

use std::sync::Arc;

use serde_json::Value;

use super::Key;

/// Why an object was not written or removed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StoreError {
    /// There is no such object.
    #[error("{key} not found")]
    NotFound {
        /// What is missing.
        key: Key,
    },
    /// There is such an object already.
    #[error("{key} already exists")]
    AlreadyExists {
        /// What is there.
        key: Key,
        /// It as it is.
        current: Arc<Value>,
    },
    /// It is not the version that was expected.
    #[error(
        "the object has been modified; please apply your changes to the latest version and try again"
    )]
    Conflict {
        /// What was to be written.
        key: Key,
        /// The resource version that it was expected to have.
        expected: String,
        /// It as it is.
        current: Arc<Value>,
    },
    /// It is another object of the same name.
    #[error(
        "the UID in the precondition ({expected}) does not match the UID in record ({actual}). The object might have been deleted and then recreated"
    )]
    OtherUid {
        /// What was to be removed.
        key: Key,
        /// The UID that it was expected to have.
        expected: String,
        /// The UID that it has.
        actual: String,
    },
}

/// Why a list or a watch cannot begin. The texts are those of the API server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// 410: how things were then is forgotten.
    #[error("The resourceVersion for the provided list is too old.")]
    ListExpired {
        /// The revision that was asked for.
        requested: u64,
        /// The oldest that can be had.
        oldest: u64,
    },
    /// 410: how things were when the list began is forgotten.
    #[error(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."
    )]
    ContinueExpired {
        /// `metadata.continue` of the answer: goes on with how things are now.
        token: String,
    },
    /// 410, as the one event of the watch: what happened since then is forgotten.
    #[error("too old resource version: {requested} ({oldest})")]
    WatchExpired {
        /// The revision that was asked for.
        requested: u64,
        /// The oldest that a watch can begin at.
        oldest: u64,
    },
    /// 504: it has not happened yet.
    #[error("Too large resource version: {requested}, current: {current}")]
    TooLarge {
        /// The revision that was asked for.
        requested: u64,
        /// The newest one.
        current: u64,
    },
    /// 400: the token is none of ours.
    #[error("invalid continue token: {problem}")]
    InvalidContinue {
        /// What is wrong with it.
        problem: String,
    },
}

/// Why the parameters of a list or a watch make no sense. The texts are those of the API server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// 400: a resource version that is no number.
    #[error("invalid resource version: {value:?}")]
    ResourceVersion {
        /// The parameter's value.
        value: String,
    },
    /// 400: `continue` fixes the version already.
    #[error("specifying resource version is not allowed when using continue")]
    VersionWithContinue,
    /// 422: `resourceVersionMatch` where it means nothing.
    #[error("{detail}")]
    MatchForbidden {
        /// Why.
        detail: &'static str,
    },
    /// 422: `resourceVersionMatch` that is no known word.
    #[error("Unsupported value: {value:?}: supported values: \"Exact\", \"NotOlderThan\", \"\"")]
    MatchUnknown {
        /// The parameter's value.
        value: String,
    },
}
