//! Payloads of real OpenShift releases, for clusters in which their components do not run.
//!
//! [`RealPayload`] is a release in the directory of `FAIRWAY_PAYLOADS`. [`prepare_cluster`] creates the
//! objects that an installer creates before the operator starts. [`StubComponents`] reports for the
//! components.

mod components;
mod payload;
mod preparation;
mod presence;

pub use components::StubComponents;
pub use payload::{RealPayload, default_filter};
pub use preparation::{MissingKind, prepare_cluster};
pub use presence::{missing_objects, unserved_kinds};
