//! The update API: what ClusterVersion and ClusterOperator look like on the wire.
//!
//! This crate is pure. It knows the shape of the objects, the words that appear in their
//! conditions, how versions compare, and which of it an API server would refuse; it knows no
//! network, no client and no clock.
//!
//! * [`ClusterVersion`] and [`ClusterOperator`] read whatever a real cluster serves and write it
//!   back without losing a field, known to this crate or not.
//! * [`condition`] keeps the rules of conditions, [`reason`] the words in them.
//! * [`Version`] compares as SemVer does, [`Move`] names what lies between two of them.
//! * [`crds`] makes the CustomResourceDefinitions from the types.
//! * [`image`] tells which images are the same, wherever they are kept.
//! * [`leap`] says how far one update may go.
//! * [`limits`] says how much of everything the API takes.
//! * [`read`] parses files with limits, [`validate`] finds what is wrong in a parsed object.

pub mod cluster_operator;
pub mod cluster_version;
pub mod condition;
pub mod crds;
pub mod image;
pub mod leap;
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
pub use leap::Leap;
pub use version::{Move, Version};

/// The API group of both kinds, with its version.
pub const API_VERSION: &str = "config.openshift.io/v1";

/// The name of the one ClusterVersion of a cluster.
pub const CLUSTER_VERSION_NAME: &str = "version";

/// Fields that this crate does not know. They are kept as they came, so that a newer API's data
/// survives a read and a write by an older Fairway.
pub type UnknownFields = std::collections::BTreeMap<String, serde_json::Value>;
