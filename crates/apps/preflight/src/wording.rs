//! Phrases of findings.

pub(crate) use fairway_text::counted;
use fairway_text::one_line;

/// Maximum number of objects that a message names.
pub(crate) const MAX_NAMED: usize = 5;

/// Maximum bytes of a quoted text.
const MAX_QUOTED_BYTES: usize = 200;

/// List for a sentence, such as `a, b and 3 more`.
pub(crate) fn listed<S: AsRef<str>>(items: &[S]) -> String {
    let named: Vec<&str> = items.iter().take(MAX_NAMED).map(AsRef::as_ref).collect();
    match items.len().saturating_sub(MAX_NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Such as `1 node is` or `3 nodes are`.
pub(crate) fn are(count: usize, one: &str) -> String {
    format!("{} {}", counted(count, one), if count == 1 { "is" } else { "are" })
}

/// Names with messages.
pub(crate) fn explained(found: &[(String, String)]) -> String {
    listed(
        &found
            .iter()
            .map(|(name, message_or_none)| format!("{name} ({message_or_none})"))
            .collect::<Vec<_>>(),
    )
}

/// Message of another component, or a placeholder.
pub(crate) fn message_or_none(message: Option<&str>) -> String {
    quoted(message.filter(|message| !message.is_empty()).unwrap_or("no message"))
}

/// Start of a text of another component, in one line, for a sentence.
pub(crate) fn quoted(text: &str) -> String {
    one_line(text, MAX_QUOTED_BYTES).trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_names_some_and_counts_rest() {
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b", "c", "d", "e"]), "a, b, c, d, e");
        assert_eq!(listed(&["a", "b", "c", "d", "e", "f"]), "a, b, c, d, e and 1 more");
    }

    #[test]
    fn explained_has_message_of_each_name() {
        let found = [("a", Some("no disk.")), ("b", Some("")), ("c", None)]
            .map(|(name, message)| (name.to_owned(), message_or_none(message)));
        assert_eq!(explained(&found), "a (no disk), b (no message), c (no message)");
    }

    #[test]
    fn quoted_is_short_and_one_line() {
        assert_eq!(quoted("one\n  two."), "one two");
        assert_eq!(quoted(&"ä".repeat(200)).chars().count(), 101);
    }
}
