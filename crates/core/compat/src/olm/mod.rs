//! OLM operators and the maximum cluster version that they support.
//!
//! Inputs are ClusterServiceVersions, catalogs and cluster versions. They are not trusted.
//! [`OlmOperator`] reads an operator and its [`MaximumVersion`]. [`OlmPolicy::verdict`] determines
//! whether it supports a target. [`OlmCheck`] combines all operators of a cluster into the
//! condition `Upgradeable` and a risk report.
//!
//! | module | content |
//! | --- | --- |
//! | `operator` | installed operators |
//! | `declaration`, `properties` | the declared maximum version, and its annotations |
//! | `versions` | minor versions of a cluster |
//! | `policy` | verdicts, and the policy for operators without a valid declaration |
//! | `check` | check of all operators of a cluster: condition `Upgradeable` and risk report |
//! | `report` | the risk report: one risk for each operator, with its affected targets |
//! | [`catalog`] | current declarations of catalogs, and versions that support a target |
//! | [`apis`] | APIs that operators use and a target does not serve |
//! | [`install`] | admission of new operators |
//! | `text` | lists in messages |

pub mod apis;
pub mod catalog;
mod check;
mod declaration;
pub mod install;
mod operator;
mod policy;
mod properties;
mod report;
mod text;
mod versions;

pub use catalog::is_object_name;
pub use check::{CheckFailure, CheckResult, OlmCheck, UpgradeableCondition};
pub use declaration::{DeclarationSource, InvalidDeclaration, MaximumError, MaximumVersion};
pub use operator::{OlmOperator, is_copied};
pub use policy::{InvalidPolicy, MissingPolicy, OlmPolicy, OperatorVerdict};
pub use properties::MAX_OPENSHIFT_VERSION;
pub use versions::{ClusterVersions, MinorVersion};

/// Annotation of a ClusterServiceVersion with the maximum version.
pub const MAXIMUM_ANNOTATION: &str = "operators.coreos.com/maxOpenShiftVersion";

/// Annotation in which OLM stores the properties of an installed bundle.
pub const PROPERTIES_ANNOTATION: &str = "operatorframework.io/properties";

/// Annotation in which authors set properties of a bundle.
pub const AUTHOR_PROPERTIES_ANNOTATION: &str = "olm.properties";
