//! Client of update services (Cincinnati protocol).
//!
//! [`query`] builds a query, [`connection`] and [`fetch`] send it, and [`response`] decodes the
//! updates of a cluster. [`fetch_once`] does all of it.

pub mod connection;
pub mod fetch;
pub mod query;
pub mod response;

use std::borrow::Cow;
use std::error::Error;

#[doc(hidden)]
pub use {
    connection as route, query as question, response as answer, response as problem,
    response as release,
};

pub use fetch::{FetchOnceError, FetchedGraph, fetch_once};
#[doc(hidden)]
pub use fetch::{FetchOnceError as AskError, FetchedGraph as Told, fetch_once as ask_once};

/// Bytes of quoted text of a service or a user: enough to recognise it.
const MAX_QUOTED_BYTES: usize = 200;

fn excerpt(text: &str) -> Cow<'_, str> {
    fairway_text::excerpt(text, MAX_QUOTED_BYTES)
}

/// The root cause of an error, truncated.
fn cause(error: &dyn Error) -> String {
    excerpt(&fairway_text::root_cause(error)).into_owned()
}
