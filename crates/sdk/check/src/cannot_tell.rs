//! Why a check has no answer.

use std::time::Duration;

use crate::cluster::MOST_OBJECTS;

/// Why a check has no answer. Whoever reads it is an administrator of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotTell {
    /// The cluster does not have such objects.
    #[error("the cluster does not serve {0}")]
    NotServed(String),
    /// The check may not read it.
    #[error("the check is not permitted to read {what}: {words}")]
    Forbidden {
        /// What.
        what: String,
        /// The words of the API server.
        words: String,
    },
    /// It was tried several times, in vain.
    #[error("cannot read {what}: {words}")]
    Unreadable {
        /// What.
        what: String,
        /// Why not.
        words: String,
    },
    /// There is more of it than a check looks at.
    #[error("the cluster has more than {MOST_OBJECTS} {0}")]
    TooMany(String),
    /// The check needs more memory than it has, and would be killed.
    #[error("the check exceeded its memory limit of {} MiB", .0 >> 20)]
    OutOfMemory(u64),
    /// A manifest of the release cannot be read.
    #[error("cannot read manifest {file} of the release: {problem}")]
    Manifest {
        /// Its file.
        file: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The versions are too far apart to be compared.
    #[error("{0}")]
    VersionSkew(String),
    /// It did not come to an end in time.
    #[error("the check timed out after {} seconds", .0.as_secs())]
    TimedOut(Duration),
    /// It panicked.
    #[error("the check failed: {0}")]
    Panicked(String),
    /// Whatever the check says.
    #[error("{0}")]
    Because(String),
}

impl CannotTell {
    /// For a reason that only the check knows, as a sentence without a full stop.
    pub fn because(reason: impl Into<String>) -> Self {
        Self::Because(reason.into())
    }

    /// Whether it is because the cluster does not have such objects.
    pub fn is_not_served(&self) -> bool {
        matches!(self, Self::NotServed(_))
    }
}

/// For checks to which it is an answer that the cluster does not have such objects.
pub trait IfServed<T> {
    /// `None` where the cluster does not serve what was asked for.
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
