//! The annotations that say which clusters get a manifest.

/// Before the id of operators that are to leave it out.
pub const EXCLUDE_PREFIX: &str = "exclude.release.openshift.io/";

/// Before the profile of clusters that get it.
pub const INCLUDE_PREFIX: &str = "include.release.openshift.io/";

/// The feature sets that it is for.
pub const FEATURE_SET: &str = "release.openshift.io/feature-set";

/// The feature gates that have to be enabled or, with a dash, must not be.
pub const FEATURE_GATE: &str = "release.openshift.io/feature-gate";

/// The major versions that it is for or, with a dash, is not for.
pub const MAJOR_VERSION: &str = "release.openshift.io/major-version";

/// The capabilities that it belongs to.
pub const CAPABILITY: &str = "capability.openshift.io/name";
