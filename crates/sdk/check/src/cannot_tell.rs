//! Reasons why a check has no result.

use std::time::Duration;

use crate::cluster::MAX_OBJECTS;

/// Why a check has no result. Administrators of the cluster read it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotTell {
    /// The cluster does not serve the resource.
    #[error("the cluster does not serve {0}")]
    NotServed(String),
    /// The check is not permitted to read the resource.
    #[error("the check is not permitted to read {what}: {words}")]
    Forbidden {
        /// Resource.
        what: String,
        /// Message of the API server.
        words: String,
    },
    /// The resource is not readable after several attempts.
    #[error("cannot read {what}: {words}")]
    Unreadable {
        /// Resource.
        what: String,
        /// Error of the last attempt.
        words: String,
    },
    /// The number of objects exceeds the limit.
    #[error("the cluster has more than {MAX_OBJECTS} {0}")]
    TooMany(String),
    /// The check reached its memory limit.
    #[error("the check exceeded its memory limit of {} MiB", .0 >> 20)]
    OutOfMemory(u64),
    /// A manifest of the release is not readable.
    #[error("cannot read manifest {file} of the release: {problem}")]
    Manifest {
        /// File of the manifest.
        file: String,
        /// Error.
        problem: String,
    },
    /// The check does not support updates between these versions.
    #[error("{0}")]
    VersionSkew(String),
    /// The check timed out.
    #[error("the check timed out after {} seconds", .0.as_secs())]
    TimedOut(Duration),
    /// The check panicked.
    #[error("the check failed: {0}")]
    Panicked(String),
    /// A reason of the check itself.
    #[error("{0}")]
    Because(String),
}

impl CannotTell {
    /// A reason of the check itself, as a sentence without a full stop.
    pub fn because(reason: impl Into<String>) -> Self {
        Self::Because(reason.into())
    }

    /// Whether the cluster does not serve the resource.
    pub fn is_not_served(&self) -> bool {
        matches!(self, Self::NotServed(_))
    }
}

/// For checks that support clusters without the resource.
pub trait IfServed<T> {
    /// `None` if the cluster does not serve the resource.
    fn if_served(self) -> Result<Option<T>, CannotTell>;
}

impl<T> IfServed<T> for Result<T, CannotTell> {
    fn if_served(self) -> Result<Option<T>, CannotTell> {
        match self {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.is_not_served() => Ok(None),
            Err(error) => Err(error),
        }
    }
}
