//! The update service: serves the update graph over HTTP (Cincinnati protocol).
//!
//! Data flows one way. [`Source`]s provide graph-data and releases. One task polls each source, and
//! another one builds the graph from both and replaces the shared state as a whole. Every response
//! is serialized and compressed at that time, so a request is a lookup. Invalid new data never
//! replaces valid old data; [`ServiceStatus`] lists the [`Quarantined`] files and releases.
//! [`Service::start`] starts all of it.
//!
//! | module | content |
//! | --- | --- |
//! | [`source`] | sources: directory, tarball, image, registry |
//! | `refresh` | polling of the sources, and publication of the graph |
//! | `published` | the graph from both sources, and data that is rejected |
//! | `responses`, `body` | all responses, serialized and compressed |
//! | `state` | state that requests share, and the status of the service |
//! | `http` | routes, parameters, content negotiation, conditional requests |
//! | `listener` | connections, their limits and their shutdown |
//! | `service`, `options` | start and shutdown, and options |
//! | `metrics` | metrics, with the names of Cincinnati |

mod body;
mod http;
mod listener;
mod metrics;
mod options;
mod published;
mod refresh;
mod responses;
mod saved_state;
mod service;
pub mod source;
mod state;

pub use fairway_http::{TlsError, TlsFiles};
pub use options::{DEFAULT_PREFIX, RemovedBlockPolicy, ServiceLimits, ServiceOptions};
pub use published::{QuarantineKind, Quarantined};
pub use responses::GraphCounts;
pub use service::{Service, StartError};
pub use source::{PolledSource, Source};
pub use state::{GraphStatus, ServiceStatus, SourceStatus};
