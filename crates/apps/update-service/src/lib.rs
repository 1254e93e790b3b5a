//! The update graph over HTTP.
//!
//! [`source`]s say what there is, one task makes every answer of it, and requests find theirs:
//!
//! * `refresh` looks at the sources and publishes what `assemble` makes of them. Bad new data
//!   never replaces good old data.
//! * `answers` are all that clients can ask for, each a `document` that is ready to be sent.
//! * `http` finds the answer to a request; `listener` has the connections, and their limits.

mod answers;
mod assemble;
mod document;
mod http;
mod listener;
mod metrics;
mod options;
mod refresh;
mod service;
pub mod source;
mod state;
mod status;

pub use answers::Counts;
pub use assemble::{Kind, Quarantined};
pub use fairway_http::{TlsError, TlsFiles};
pub use options::{DEFAULT_PREFIX, Limits, Options};
pub use service::{Service, StartError};
pub use source::{Source, Watched};
pub use status::{GraphStatus, SourceStatus, Status};
