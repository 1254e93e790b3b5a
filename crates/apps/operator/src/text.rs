//! Quotes of texts from API servers, registries and components, limited in length.

use std::borrow::Cow;
use std::error::Error;

/// Maximum bytes of a quote that only has to be recognised.
const MAX_EXCERPT_BYTES: usize = 200;

/// The beginning of a text.
pub(crate) fn excerpt(text: &str) -> Cow<'_, str> {
    fairway_text::excerpt(text, MAX_EXCERPT_BYTES)
}

/// Maximum bytes of an explanation.
const MAX_LINE_BYTES: usize = 1024;

/// A text as one line, for a message or a list.
pub(crate) fn one_line(text: &str) -> String {
    fairway_text::one_line(text, MAX_LINE_BYTES)
}

/// An error and its sources as one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    one_line(&fairway_text::chain(error))
}

/// The innermost source of an error; the outer errors only add context that the caller has.
pub(crate) fn cause(error: &dyn Error) -> String {
    excerpt(&fairway_text::root_cause(error)).into_owned()
}
