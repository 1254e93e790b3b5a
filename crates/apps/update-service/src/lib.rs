//! The update service: serves the update graph over HTTP (Cincinnati protocol).
//!
//! * [`source`]s provide graph-data and releases.
//! * `refresh` polls the sources and publishes what `published` builds from them. Invalid new data
//!   never replaces valid old data.
//! * `responses` are all responses that clients can request, each a prepared `body`.
//! * `http` looks up the response of a request; `listener` manages connections and their limits.

mod body;
mod http;
mod listener;
mod metrics;
mod options;
mod published;
mod refresh;
mod responses;
mod service;
pub mod source;
mod state;

pub use fairway_http::{TlsError, TlsFiles};
pub use options::{DEFAULT_PREFIX, ServiceLimits, ServiceOptions};
#[doc(hidden)]
pub use options::{ServiceLimits as Limits, ServiceOptions as Options};
#[doc(hidden)]
pub use published::QuarantineKind as Kind;
pub use published::{QuarantineKind, Quarantined};
pub use responses::GraphCounts;
#[doc(hidden)]
pub use responses::GraphCounts as Counts;
pub use service::{Service, StartError};
#[doc(hidden)]
pub use source::PolledSource as Watched;
pub use source::{PolledSource, Source};
#[doc(hidden)]
pub use state::ServiceStatus as Status;
pub use state::{GraphStatus, ServiceStatus, SourceStatus};
