//! What a check finds around itself: environment variables of its container.

/// The run that it is part of.
pub const RUN: &str = "PREFLIGHT_ID";

/// The version of the cluster.
pub const SOURCE_VERSION: &str = "PREFLIGHT_SOURCE_VERSION";

/// The version of the release that the check is from.
pub const TARGET_VERSION: &str = "PREFLIGHT_TARGET_VERSION";

/// The image of that release, by digest.
pub const TARGET_IMAGE: &str = "PREFLIGHT_TARGET_IMAGE";

/// When it has to be done: a time in RFC 3339.
pub const DEADLINE: &str = "PREFLIGHT_DEADLINE";

/// The namespace that its manifest declares: it runs in another one.
pub const NAMESPACE: &str = "PREFLIGHT_NAMESPACE";

/// The directory with the manifests of the release.
pub const MANIFESTS: &str = "PREFLIGHT_MANIFESTS";
