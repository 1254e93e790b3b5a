//! The OLM guard: it tells the platform which installed operators do not run on which versions, and
//! keeps operators from being installed on a platform that they do not run on.
//!
//! [`run`] is all of it. `sight` is what it sees of the cluster, `catalogs` what catalogs say by now, `needs` what operators use,
//! and `observed` what they were seen to ask for; `report` writes the
//! ClusterOperator, `webhook` answers for installations, and `certificate` makes and renews what
//! the webhook proves itself with. What is decided about operators is decided in
//! [`fairway_compat::olm`].

mod catalogs;
mod certificate;
mod endpoint;
mod error_text;
mod guard;
mod metrics;
mod needs;
mod observed;
mod report;
mod request;
mod settings;
mod sight;
mod webhook;

pub use guard::{GuardError, run, run_on};
pub use settings::{CertificateSettings, Patience, Reach, Settings};
