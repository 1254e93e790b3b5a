//! Texts from outside, made fit to be shown.

use std::borrow::Cow;
use std::error::Error;

use url::{Position, Url};

/// What stands where something was cut off.
const CUT: &str = "…";

/// As much of a text as fits into so many bytes, and `…` where something is missing.
pub fn excerpt(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}{CUT}", text[..text.floor_char_boundary(bytes)].trim_end()))
}

/// A text as one line of at most so many bytes, so that it fits into a sentence or a list.
pub fn one_line(text: &str, bytes: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    excerpt(&line, bytes).into_owned()
}

/// Bytes of an address that are shown.
const ADDRESS: usize = 200;

/// An address without query and fragment, and without user and password: all may be secret.
pub fn place(url: &Url) -> String {
    let (scheme, rest) =
        (&url[..Position::BeforeUsername], &url[Position::BeforeHost..Position::AfterPath]);
    excerpt(&format!("{scheme}{rest}"), ADDRESS).into_owned()
}

/// An error and its causes. Some errors contain the text of their cause, which is not repeated.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let why = cause.to_string();
        if !text.contains(&why) {
            text = format!("{text}: {why}");
        }
        source = cause.source();
    }
    text
}

/// The first cause of an error.
pub fn root_cause(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Failure {
        text: &'static str,
        source: Option<Box<Self>>,
    }

    fn failure(texts: &[&'static str]) -> Failure {
        let (text, rest) = texts.split_first().expect("a text");
        let source = (!rest.is_empty()).then(|| Box::new(failure(rest)));
        Failure { text, source }
    }

    #[test]
    fn a_text_that_is_cut_says_so_and_stays_valid() {
        assert_eq!(excerpt("short", 5), "short");
        assert_eq!(excerpt("two words", 4), "two…");
        assert_eq!(excerpt("ääää", 3), "ä…");
        assert_eq!(excerpt("", 0), "");
    }

    #[test]
    fn any_white_space_becomes_one_blank() {
        assert_eq!(one_line(" a\n\tb  c \r\n", 100), "a b c");
        assert_eq!(one_line("a\nb\nc", 3), "a b…");
    }

    #[test]
    fn an_address_is_shown_without_secrets() {
        let url = Url::parse("https://user:secret@example.com:8443/graph?id=secret#x").unwrap();
        assert_eq!(place(&url), "https://example.com:8443/graph");
    }

    #[test]
    fn causes_are_named_once() {
        let error = failure(&["cannot read x: no such file", "no such file", "code 2"]);
        assert_eq!(chain(&error), "cannot read x: no such file: code 2");
        assert_eq!(root_cause(&error), "code 2");
        assert_eq!(chain(&failure(&["alone"])), "alone");
    }
}
