//! The OLM guard: reports which installed operators do not support which platform versions, and
//! refuses the installation of operators that do not support the running version.
//!
//! [`run`] starts all of it. `watches` has the watched objects, `catalogs` the packages, `needs` the
//! APIs that operators use, and `observed` their requests for removed APIs. `report` writes the
//! ClusterOperator, `webhook` reviews installations, and `certificate` maintains the webhook
//! certificate. [`fairway_compat::olm`] has the compatibility rules.

mod catalogs;
mod certificate;
mod endpoint;
mod guard;
mod metrics;
mod needs;
mod observed;
mod report;
mod request;
mod settings;
mod watches;
mod webhook;

#[doc(hidden)]
pub use self::{StalenessTimeouts as Patience, WebhookAddress as Reach};
pub use guard::{GuardError, run, run_on};
pub use settings::{CertificateSettings, Settings, StalenessTimeouts, WebhookAddress};
