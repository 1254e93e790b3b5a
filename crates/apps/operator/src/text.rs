//! Texts from outside, made fit to be shown.

use std::borrow::Cow;
use std::error::Error;

/// Bytes of a text from outside that are quoted: enough to recognise it.
const QUOTED: usize = 200;

/// The beginning of a text.
pub(crate) fn excerpt(text: &str) -> Cow<'_, str> {
    fairway_text::excerpt(text, QUOTED)
}

/// Bytes of an explanation from outside that are passed on.
const EXPLAINED: usize = 1024;

/// An explanation from outside as one line, so that it fits into a sentence or a list.
pub(crate) fn one_line(text: &str) -> String {
    fairway_text::one_line(text, EXPLAINED)
}

/// An error and its causes, in one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    one_line(&fairway_text::chain(error))
}

/// The first cause of an error: what comes before only says that there was one.
pub(crate) fn cause(error: &dyn Error) -> String {
    excerpt(&fairway_text::root_cause(error)).into_owned()
}
