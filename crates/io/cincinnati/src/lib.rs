//! Client of update services (Cincinnati protocol).
//!
//! [`fetch_once`] does all of it: it builds the query, sends it, and returns a [`FetchedGraph`].
//! The operator, which fetches repeatedly, calls the steps itself. A response is not trusted: an
//! invalid entry is omitted and reported, and a risk that cannot be assigned withholds its target.
//!
//! | module | content |
//! | --- | --- |
//! | [`query`] | queries: the parameters of a cluster, and the update services |
//! | [`connection`] | proxy settings and CA bundle |
//! | [`fetch`] | HTTP requests, their timeouts and errors |
//! | [`response`] | updates of a cluster in a response |

pub mod connection;
pub mod fetch;
pub mod query;
pub mod response;

use std::borrow::Cow;
use std::error::Error;

pub use fetch::{FetchOnceError, FetchedGraph, fetch_once};

/// Bytes of quoted text of a service or a user: enough to recognise it.
const MAX_QUOTED_BYTES: usize = 200;

fn excerpt(text: &str) -> Cow<'_, str> {
    fairway_text::excerpt(text, MAX_QUOTED_BYTES)
}

/// The root cause of an error, truncated.
fn cause(error: &dyn Error) -> String {
    excerpt(&fairway_text::root_cause(error)).into_owned()
}
