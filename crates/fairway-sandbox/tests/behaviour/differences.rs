//! Where the real cluster of the tests is too old to behave as the sandbox does.
//!
//! The sandbox follows Kubernetes 1.33, the real cluster is 1.20. What they do differently is
//! here and nowhere else, found out by what a server does and not by which one it is.

use serde_json::Value;

/// Whether a server passed over a field that is newer than itself: `suspend` of a Job came with
/// 1.21, `ttlSecondsAfterFinished` counts since 1.21 without being switched on.
pub(crate) fn drops(spec: &Value, field: &str) -> bool {
    spec[field].is_null()
}
