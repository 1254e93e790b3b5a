//! Serves `/metrics` to authorized clients.
//!
//! A client authenticates with a bearer token, or with a certificate that the TLS configuration of
//! the listener trusts. The API server verifies tokens (`TokenReview`), and decides whether their user
//! may `get` the non-resource URL `/metrics` (`SubjectAccessReview`), as for controllers that use
//! controller-runtime. Decisions are cached for a short time. If the API server does not respond,
//! the client gets 503: no error makes metrics readable.
//!
//! | module | content |
//! | --- | --- |
//! | `handler` | responses to scrapes, and a cache of the rendered metrics |
//! | `reviewer` | reviews by the API server, limited for each peer |
//! | `cache` | cached decisions |

mod cache;
mod handler;
mod reviewer;

pub use handler::{MetricsAuth, MetricsHandler, ScrapeRequest};
