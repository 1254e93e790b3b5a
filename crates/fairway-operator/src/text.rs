//! Texts from outside, made fit to be shown.

use std::borrow::Cow;
use std::error::Error;

use url::{Position, Url};

/// Bytes of a text from outside that are quoted: enough to recognise it.
const QUOTED: usize = 200;

/// The beginning of a text.
pub(crate) fn excerpt(text: &str) -> Cow<'_, str> {
    beginning(text, QUOTED)
}

/// As much of a text as fits into so many bytes and a sign that there is more.
pub(crate) fn beginning(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…", &text[..text.floor_char_boundary(bytes)]))
}

/// Bytes of an explanation from outside that are passed on.
const EXPLAINED: usize = 1024;

/// An explanation from outside as one line, so that it fits into a sentence or a list.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() > EXPLAINED {
        line.truncate(line.floor_char_boundary(EXPLAINED));
        line.push('…');
    }
    line
}

/// An address without what follows it, and without who asks: both may be secret.
pub(crate) fn place(url: &Url) -> String {
    let (scheme, rest) =
        (&url[..Position::BeforeUsername], &url[Position::BeforeHost..Position::AfterPath]);
    excerpt(&format!("{scheme}{rest}")).into_owned()
}

/// An error and all that is behind it, in one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        told = format!("{told}: {error}");
        cause = error.source();
    }
    one_line(&told)
}

/// What is behind an error. What is before only says that there was one.
pub(crate) fn cause(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    excerpt(&cause.to_string()).into_owned()
}
