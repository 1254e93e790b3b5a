//! Formatting of texts from API servers, registries and users: excerpts, lines, error chains.
//!
//! * [`excerpt`], [`fit`] and [`one_line`] limit the length of a text.
//! * [`place`] and [`without_secrets`] print a URL without credentials.
//! * [`chain`] prints an error with its causes, [`root_cause`] the innermost one.

use std::borrow::Cow;
use std::error::Error;

use url::{Position, Url};

/// Mark of an omitted rest.
const CUT: &str = "…";

/// The first bytes of a text, with `…` if something is omitted.
pub fn excerpt(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}{CUT}", text[..text.floor_char_boundary(bytes)].trim_end()))
}

/// A text of at most so many bytes, including the `…` for an omitted rest.
pub fn fit(text: &str, max_bytes: usize) -> Cow<'_, str> {
    if text.len() <= max_bytes {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(max_bytes.saturating_sub(CUT.len()));
    Cow::Owned(format!("{}{CUT}", &text[..end]))
}

/// A number with its noun, such as `1 node` or `3 nodes`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A text as one line of at most so many bytes, for a message or a list.
pub fn one_line(text: &str, bytes: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    excerpt(&line, bytes).into_owned()
}

/// Maximum bytes of an address.
const MAX_ADDRESS_BYTES: usize = 200;

/// A URL without query, fragment and credentials, of limited length.
pub fn place(url: &Url) -> String {
    excerpt(&without_secrets(url), MAX_ADDRESS_BYTES).into_owned()
}

/// A URL without query, fragment and credentials.
pub fn without_secrets(url: &Url) -> String {
    let (scheme, rest) =
        (&url[..Position::BeforeUsername], &url[Position::BeforeHost..Position::AfterPath]);
    format!("{scheme}{rest}")
}

/// An error and its causes in one text.
pub fn chain(error: &dyn Error) -> String {
    causes(error).join(": ")
}

/// The messages from an error to its root cause. A message that an outer error contains is omitted.
pub fn causes(error: &dyn Error) -> Vec<String> {
    let mut messages = vec![error.to_string()];
    let mut source = error.source();
    while let Some(cause) = source {
        let message = cause.to_string();
        if !messages.iter().any(|before| before.contains(&message)) {
            messages.push(message);
        }
        source = cause.source();
    }
    messages
}

/// The innermost source of an error.
pub fn root<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut root = error;
    while let Some(source) = root.source() {
        root = source;
    }
    root
}

/// The message of the root cause of an error.
pub fn root_cause(error: &dyn Error) -> String {
    error.source().map_or_else(|| error.to_string(), |source| root(source).to_string())
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
    fn excerpt_of_long_text_ends_with_mark() {
        assert_eq!(excerpt("short", 5), "short");
        assert_eq!(excerpt("two words", 4), "two…");
        assert_eq!(excerpt("ääää", 3), "ä…");
        assert_eq!(excerpt("", 0), "");
    }

    #[test]
    fn fit_of_long_text_counts_the_mark() {
        assert_eq!(fit("größer", 100), "größer");
        assert_eq!(fit("größer", 6), "gr…");
        assert_eq!(fit("größer", 0), "…");
    }

    #[test]
    fn counted_of_one_is_singular() {
        assert_eq!([0, 1, 2].map(|n| counted(n, "node")), ["0 nodes", "1 node", "2 nodes"]);
    }

    #[test]
    fn one_line_joins_whitespace() {
        assert_eq!(one_line(" a\n\tb  c \r\n", 100), "a b c");
        assert_eq!(one_line("a\nb\nc", 3), "a b…");
    }

    #[test]
    fn place_omits_secrets() {
        let url = Url::parse("https://user:secret@example.com:8443/graph?id=secret#x").unwrap();
        assert_eq!(place(&url), "https://example.com:8443/graph");
    }

    #[test]
    fn chain_omits_repeated_messages() {
        let error = failure(&["cannot read x: no such file", "no such file", "code 2"]);
        assert_eq!(chain(&error), "cannot read x: no such file: code 2");
        assert_eq!(root_cause(&error), "code 2");
        assert_eq!(chain(&failure(&["alone"])), "alone");
        assert_eq!(root_cause(&failure(&["alone"])), "alone");
        assert_eq!(causes(&failure(&["a: c", "b", "c"])), ["a: c", "b"]);
    }
}
