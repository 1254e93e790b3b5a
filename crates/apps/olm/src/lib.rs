//! The OLM guard: reports which installed operators do not support which platform versions, and
//! refuses the installation of operators that do not support the running version.
//!
//! [`run`] starts all of it. Every replica serves the webhook; the leader writes the
//! ClusterOperator and the certificate. The report is a function of the watched objects and the
//! time. The guard writes it when it changes and when another client changes the ClusterOperator,
//! and only in clusters with a ClusterVersion. [`fairway_compat::olm`] has the compatibility rules.
//!
//! | module | content |
//! | --- | --- |
//! | `guard` | start and shutdown: endpoint, leader election, tasks of the leader |
//! | `watches` | watched objects, by metadata where that is enough, and stale watches |
//! | `catalogs` | packages of catalogs, whose declarations override those of installed operators |
//! | `needs` | APIs that installed operators use |
//! | `observed` | the Kubernetes version, and requests for removed APIs |
//! | `report` | the ClusterOperator: desired status, writes, contention |
//! | `webhook` | configuration of the admission webhook, and its reviews |
//! | `certificate` | CA and certificate of the webhook, and their rotation |
//! | `endpoint` | HTTP endpoints: webhook and metrics, and probes |
//! | `metrics`, `settings` | metrics and settings |
//! | `request` | timeout of requests, and texts of their errors |

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

pub use fairway_metrics::MetricsAuth;
pub use guard::{GuardError, run, run_on};
pub use settings::{CertificateSettings, Settings, StalenessTimeouts, WebhookAddress};
