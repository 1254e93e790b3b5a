//! Texts of update services, made fit to be shown.

use std::borrow::Cow;
use std::error::Error;

pub(crate) use fairway_text::place;

/// Bytes of a text from outside that are quoted: enough to recognise it.
const QUOTED: usize = 200;

/// The beginning of a text.
pub(crate) fn excerpt(text: &str) -> Cow<'_, str> {
    fairway_text::excerpt(text, QUOTED)
}

/// The first cause of an error.
pub(crate) fn cause(error: &dyn Error) -> String {
    excerpt(&fairway_text::root_cause(error)).into_owned()
}
