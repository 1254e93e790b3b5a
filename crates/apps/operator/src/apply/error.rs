//! Errors of applying an object, and their reasons in conditions.

use fairway_api::reason::{Reason, rollout};
use fairway_apply::WriteError;
use kube::core::GroupVersionKind;
use kube::runtime::watcher;

use super::prepare::PrepareError;

/// Errors of applying an object.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The write failed.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The watch of its kind failed.
    #[error("cannot watch objects of its kind: {0}")]
    Unwatched(String),
    /// The API server does not serve its kind.
    #[error("the API server does not serve {} in {}", .0.kind, .0.api_version())]
    UnknownKind(GroupVersionKind),
    /// The manifest is invalid.
    #[error(transparent)]
    Manifest(#[from] PrepareError),
}

impl ApplyError {
    /// The reason of the condition, and the cause in words; the cause may be empty.
    pub fn reason(&self) -> (&'static str, &'static str) {
        let (reason, cause) = match self {
            Self::Write(WriteError::Api(error)) => of_api(error),
            Self::Write(WriteError::NoAnswer) | Self::Unwatched(_) => DOWN,
            Self::Write(WriteError::Overtaken) => CONFLICT,
            Self::UnknownKind(_) => (
                &rollout::UPDATE_PAYLOAD_RESOURCE_TYPE_MISSING,
                "the server does not recognize this resource, check extension API servers",
            ),
            Self::Manifest(_) | Self::Write(WriteError::LostLease(_)) => OTHER,
        };
        (reason.code, cause)
    }

    /// Whether a retry cannot succeed before something else changes.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Manifest(_) | Self::Write(WriteError::LostLease(_)))
    }
}

type Class = (&'static Reason, &'static str);

const DOWN: Class = (&rollout::UPDATE_PAYLOAD_CLUSTER_DOWN, "the server is down or not responding");
const CONFLICT: Class =
    (&rollout::UPDATE_PAYLOAD_RESOURCE_CONFLICT, "someone else is updating this resource");
const OTHER: Class = (&rollout::UPDATE_PAYLOAD_FAILED, "");

fn of_api(error: &kube::Error) -> Class {
    match error {
        kube::Error::Api(status) => of_status(&status.reason, status.code),
        kube::Error::HyperError(_) | kube::Error::Service(_) | kube::Error::ReadEvents(_) => DOWN,
        _ => OTHER,
    }
}

/// Classifies a status. Proxies and some servers respond with a code only.
fn of_status(reason: &str, code: u16) -> Class {
    match (reason, code) {
        ("NotFound" | "AlreadyExists", _) | ("", 404) => {
            (&rollout::UPDATE_PAYLOAD_RESOURCE_NOT_FOUND, "resource may have been deleted")
        }
        ("Conflict", _) | ("", 409) => CONFLICT,
        ("ServerTimeout" | "TooManyRequests", _) | ("", 429) => (
            &rollout::UPDATE_PAYLOAD_CLUSTER_OVERLOADED,
            "the server is overloaded and is not accepting updates",
        ),
        ("Timeout" | "ServiceUnavailable", _) | ("", 502..=504) => DOWN,
        ("InternalError", _) | ("", 500) => {
            (&rollout::UPDATE_PAYLOAD_CLUSTER_ERROR, "the server is reporting an internal error")
        }
        ("Invalid", _) | ("", 422) => (
            &rollout::UPDATE_PAYLOAD_RESOURCE_INVALID,
            "the object is invalid, possibly due to local cluster configuration",
        ),
        ("Unauthorized", _) | ("", 401) => {
            (&rollout::UPDATE_PAYLOAD_CLUSTER_UNAUTHORIZED, "could not authenticate to the server")
        }
        ("Forbidden", _) | ("", 403) => (
            &rollout::UPDATE_PAYLOAD_RESOURCE_FORBIDDEN,
            "the server has forbidden updates to this resource",
        ),
        _ => OTHER,
    }
}

/// Whether a watch failed because the API server does not serve the kind.
pub(super) fn is_gone(error: &watcher::Error) -> bool {
    use watcher::Error::{InitialListFailed, WatchStartFailed};
    let (InitialListFailed(error) | WatchStartFailed(error)) = error else { return false };
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn error(reason: &str, code: u16) -> ApplyError {
        let status = Status { reason: reason.to_owned(), code, ..Status::default() };
        WriteError::Api(kube::Error::Api(Box::new(status))).into()
    }

    #[test]
    fn reason_of_each_error() {
        for (reason, code, expected) in [
            ("NotFound", 404, "UpdatePayloadResourceNotFound"),
            ("AlreadyExists", 409, "UpdatePayloadResourceNotFound"),
            ("Conflict", 409, "UpdatePayloadResourceConflict"),
            ("Timeout", 504, "UpdatePayloadClusterDown"),
            ("ServiceUnavailable", 503, "UpdatePayloadClusterDown"),
            ("", 502, "UpdatePayloadClusterDown"),
            ("InternalError", 500, "UpdatePayloadClusterError"),
            ("ServerTimeout", 500, "UpdatePayloadClusterOverloaded"),
            ("TooManyRequests", 429, "UpdatePayloadClusterOverloaded"),
            ("Invalid", 422, "UpdatePayloadResourceInvalid"),
            ("Unauthorized", 401, "UpdatePayloadClusterUnauthorized"),
            ("Forbidden", 403, "UpdatePayloadResourceForbidden"),
            ("BadRequest", 400, "UpdatePayloadFailed"),
        ] {
            assert_eq!(error(reason, code).reason().0, expected, "{reason} {code}");
        }
        assert_eq!(ApplyError::from(WriteError::NoAnswer).reason().0, "UpdatePayloadClusterDown");
        let kind = GroupVersionKind::gvk("example.com", "v1", "Widget");
        let unknown = ApplyError::UnknownKind(kind);
        assert_eq!(unknown.reason().0, "UpdatePayloadResourceTypeMissing");
        insta::assert_snapshot!(unknown, @"the API server does not serve Widget in example.com/v1");
    }
}
