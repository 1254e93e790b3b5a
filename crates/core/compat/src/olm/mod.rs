//! Operators that OLM has installed, and up to which version of the platform they run.
//!
//! What goes in is what the cluster says: annotations of ClusterServiceVersions, catalogs, and the
//! versions of the platform. Nothing of it is trusted, and nothing makes it panic.
//!
//! * [`Declaration`] is what an operator declares, and [`Origin`] where; [`Operator`] is the operator.
//! * [`Policy::verdict`] says whether it runs on a target.
//! * [`Guard`] puts that together for a cluster: the condition `Upgradeable` and the risk report.
//! * [`catalog`] knows what operators declare by now, and other versions of them.
//! * [`apis`] says which APIs it would miss.
//! * [`install`] says whether an operator may be installed.

pub mod apis;
pub mod catalog;
mod cluster;
mod condition;
mod declaration;
mod guard;
pub mod install;
mod maximum;
mod object_name;
mod operator;
mod policy;
mod properties;
mod report;
mod stream;
mod text;

pub use cluster::ClusterVersions;
pub use condition::{Hindrance, Upgradeable};
pub use declaration::{Declaration, Invalid, Origin};
pub use guard::{Guard, Published};
pub use maximum::MaximumError;
pub use object_name::is_object_name;
pub use operator::{Operator, is_copied};
pub use policy::{InvalidPolicy, MissingPolicy, Policy, Verdict};
pub use properties::MAX_OPENSHIFT_VERSION;
pub use stream::Stream;

/// The annotation of a ClusterServiceVersion that names the maximum version.
pub const MAXIMUM_ANNOTATION: &str = "operators.coreos.com/maxOpenShiftVersion";

/// The annotation in which OLM keeps the properties that a bundle had when it was installed.
pub const PROPERTIES_ANNOTATION: &str = "operatorframework.io/properties";

/// The annotation in which authors give properties to a bundle.
pub const AUTHOR_PROPERTIES_ANNOTATION: &str = "olm.properties";
