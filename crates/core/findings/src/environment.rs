//! Environment variables of check containers.

/// ID of the run.
pub const RUN: &str = "PREFLIGHT_ID";

/// Version of the cluster.
pub const SOURCE_VERSION: &str = "PREFLIGHT_SOURCE_VERSION";

/// Version of the target release.
pub const TARGET_VERSION: &str = "PREFLIGHT_TARGET_VERSION";

/// Image of the target release, by digest.
pub const TARGET_IMAGE: &str = "PREFLIGHT_TARGET_IMAGE";

/// Deadline of the check, in RFC 3339.
pub const DEADLINE: &str = "PREFLIGHT_DEADLINE";

/// Namespace of the check's manifest. The check runs in another one.
pub const NAMESPACE: &str = "PREFLIGHT_NAMESPACE";

/// Directory with the manifests of the release.
pub const MANIFESTS: &str = "PREFLIGHT_MANIFESTS";

/// Built-in checks that a preflight run skips, because the operator runs them: a comma-separated
/// list.
pub const SKIPPED_CHECKS: &str = "FAIRWAY_PREFLIGHT_SKIPPED_CHECKS";
