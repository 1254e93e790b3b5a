//! The update API: types of ClusterVersion and ClusterOperator.
//!
//! This crate is pure: it uses no network, client or clock.
//!
//! * [`ClusterVersion`] and [`ClusterOperator`] preserve all fields, known or unknown, in a round
//!   trip.
//! * [`condition`] has the rules of conditions, [`reason`] their types and reasons.
//! * [`Version`] compares by SemVer precedence, [`VersionChange`] is the kind of change between two
//!   versions, [`UpdateDistance`] decides how far an update may go.
//! * [`crds`] generates the CRDs from the types.
//! * [`image`] compares image references.
//! * [`limits`] contains the limits of the API.
//! * [`read`] parses files with limits, [`validate`] validates a parsed object.

pub mod cluster_operator;
pub mod cluster_version;
pub mod condition;
pub mod crds;
pub mod image;
pub mod limits;
mod open_enum;
pub mod read;
pub mod reason;
mod schema;
pub mod validate;
pub mod version;

pub use cluster_operator::{ClusterOperator, ClusterOperatorSpec, ClusterOperatorStatus};
pub use cluster_version::{ClusterVersion, ClusterVersionSpec, ClusterVersionStatus};
pub use condition::{Condition, ConditionStatus, Conditions, OperatorCondition};
pub use version::{UpdateDistance, Version, VersionChange};

#[doc(hidden)]
pub use self::{UpdateDistance as Leap, VersionChange as Move};

#[doc(hidden)]
pub mod leap {
    pub use crate::version::{MAX_SKIPPED_MINORS as MOST_MINORS, UpdateDistance as Leap};
}

/// API group and version of both kinds.
pub const API_VERSION: &str = "config.openshift.io/v1";

/// Name of the only ClusterVersion of a cluster.
pub const CLUSTER_VERSION_NAME: &str = "version";

/// Unknown fields, which are preserved, so that an older Fairway does not drop fields of a newer
/// API.
pub type UnknownFields = std::collections::BTreeMap<String, serde_json::Value>;
