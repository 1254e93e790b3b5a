//! How findings name what they are about.

pub(crate) use fairway_text::counted;
use fairway_text::one_line;

/// Objects that a message names: as many as people read; the rest is counted.
pub(crate) const NAMED: usize = 5;

/// Bytes of what somebody else says that are quoted: enough to recognise it.
const QUOTED: usize = 200;

/// A list for a sentence, such as `a, b and 3 more`.
pub(crate) fn listed<S: AsRef<str>>(items: &[S]) -> String {
    let named: Vec<&str> = items.iter().take(NAMED).map(AsRef::as_ref).collect();
    match items.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Such as `1 node is` or `3 nodes are`.
pub(crate) fn are(count: usize, one: &str) -> String {
    format!("{} {}", counted(count, one), if count == 1 { "is" } else { "are" })
}

/// Names, each with what is said about it.
pub(crate) fn explained(found: &[(String, String)]) -> String {
    listed(&found.iter().map(|(name, said)| format!("{name} ({said})")).collect::<Vec<_>>())
}

/// What somebody says about itself, or that it says nothing.
pub(crate) fn said(message: Option<&str>) -> String {
    quoted(message.filter(|message| !message.is_empty()).unwrap_or("no message"))
}

/// The beginning of what somebody else says, in one line, as part of a sentence.
pub(crate) fn quoted(text: &str) -> String {
    one_line(text, QUOTED).trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_are_named_and_the_rest_is_counted() {
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b", "c", "d", "e"]), "a, b, c, d, e");
        assert_eq!(listed(&["a", "b", "c", "d", "e", "f"]), "a, b, c, d, e and 1 more");
    }

    #[test]
    fn everybody_is_named_with_what_it_says() {
        let found = [("a", Some("no disk.")), ("b", Some("")), ("c", None)]
            .map(|(name, message)| (name.to_owned(), said(message)));
        assert_eq!(explained(&found), "a (no disk), b (no message), c (no message)");
    }

    #[test]
    fn what_others_say_is_short_and_one_line() {
        assert_eq!(quoted("one\n  two."), "one two");
        assert_eq!(quoted(&"ä".repeat(200)).chars().count(), 101);
    }
}
