//! OLM operators and the maximum cluster version that they support.
//!
//! Inputs are ClusterServiceVersions, catalogs and cluster versions. They are not trusted.
//!
//! * [`MaximumVersion`] is the declared maximum version, [`OlmOperator`] the operator.
//! * [`OlmPolicy::verdict`] determines whether it supports a target.
//! * [`OlmCheck`] combines all operators of a cluster: condition `Upgradeable` and risk report.
//! * [`catalog`] has current declarations and newer versions of operators.
//! * [`apis`] finds APIs that the target does not serve.
//! * [`install`] decides whether an operator may be installed.

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

#[doc(hidden)]
pub use self::{
    CheckFailure as Hindrance, CheckResult as Published, DeclarationSource as Origin,
    InvalidDeclaration as Invalid, MaximumVersion as Declaration, MinorVersion as Stream,
    OlmCheck as Guard, OlmOperator as Operator, OlmPolicy as Policy, OperatorVerdict as Verdict,
    UpgradeableCondition as Upgradeable,
};

/// Annotation of a ClusterServiceVersion with the maximum version.
pub const MAXIMUM_ANNOTATION: &str = "operators.coreos.com/maxOpenShiftVersion";

/// Annotation in which OLM stores the properties of an installed bundle.
pub const PROPERTIES_ANNOTATION: &str = "operatorframework.io/properties";

/// Annotation in which authors set properties of a bundle.
pub const AUTHOR_PROPERTIES_ANNOTATION: &str = "olm.properties";
