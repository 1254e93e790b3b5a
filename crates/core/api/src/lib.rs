//! The update API: types of ClusterVersion and ClusterOperator.
//!
//! This crate is pure: it uses no network, client or clock.
//!
//! * [`ClusterVersion`] and [`ClusterOperator`] are the two kinds. Every structure keeps the fields
//!   that it does not know ([`UnknownFields`]), and every enumeration its unknown values, so
//!   objects of a newer API survive a round trip. Reading is lenient; the schema in the CRDs is
//!   strict.
//! * [`Conditions`] sets conditions. It keeps the transition time of an unchanged status, takes
//!   `now` as an argument, and rounds times to the precision of the API.
//! * [`reason`] declares every condition type and reason once, with its meaning and remediation.
//!   The reference page is generated from it.
//! * [`Version`] compares by SemVer precedence, [`VersionChange`] is the kind of change between two
//!   versions, and [`UpdateDistance`] decides how far an update may go.
//! * [`crds::all`] generates the CRDs from the types. `deploy/crds` has the result, which the test
//!   command compares.
//!
//! | module | content |
//! | --- | --- |
//! | [`cluster_version`] | spec and status of ClusterVersion, conditional updates and their risks |
//! | [`cluster_operator`] | ClusterOperator: status of a component |
//! | [`condition`] | conditions and their transition rules |
//! | [`reason`] | condition types and reasons, and their reference page |
//! | [`version`] | versions, changes between them, and the distance of an update |
//! | [`risk_name`] | names of risks, and those that are reserved |
//! | [`image`] | comparison of image references by content |
//! | [`limits`] | limits of the API, in the schema and for writers of a status |
//! | [`read`] | parser for YAML and JSON files, with limits and with positions in errors |
//! | [`validate`] | validation of a parsed ClusterVersion |
//! | [`crds`], `schema` | generation of the CRDs, and shared fragments of their schema |
//! | `open_enum` | enumerations with unknown values |

pub mod cluster_operator;
pub mod cluster_version;
pub mod condition;
pub mod crds;
pub mod image;
pub mod limits;
mod open_enum;
pub mod read;
pub mod reason;
pub mod risk_name;
mod schema;
pub mod validate;
pub mod version;

pub use cluster_operator::{ClusterOperator, ClusterOperatorSpec, ClusterOperatorStatus};
pub use cluster_version::{ClusterVersion, ClusterVersionSpec, ClusterVersionStatus};
pub use condition::{Condition, ConditionStatus, Conditions, OperatorCondition};
pub use version::{UpdateDistance, Version, VersionChange};

/// API group and version of both kinds.
pub const API_VERSION: &str = "config.openshift.io/v1";

/// Name of the only ClusterVersion of a cluster.
pub const CLUSTER_VERSION_NAME: &str = "version";

/// Unknown fields, which are preserved, so that an older Fairway does not drop fields of a newer
/// API.
pub type UnknownFields = std::collections::BTreeMap<String, serde_json::Value>;
