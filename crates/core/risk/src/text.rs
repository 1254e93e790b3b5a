//! Helpers for texts in conditions.

/// Truncates a text to a number of bytes, with `…`.
pub(crate) fn truncate(text: &str, bytes: usize) -> String {
    fairway_text::excerpt(text, bytes).into_owned()
}

/// Capitalizes a text and adds a full stop.
pub(crate) fn sentence(text: &str) -> String {
    let text = text.trim().trim_end_matches('.');
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    format!("{}{}.", first.collect::<String>(), letters.as_str())
}

/// Joins the parts that fit and counts the others. The first part is truncated if necessary.
pub(crate) fn join(parts: &[String], separator: &str, most: usize) -> String {
    let more = |count: usize| format!("{separator}… and {count} more.");
    let reserve = more(parts.len()).len() + "…".len();
    let mut joined = String::new();
    for (index, part) in parts.iter().enumerate() {
        let needed = joined.len() + separator.len() + part.len();
        if index > 0 && needed + reserve > most {
            joined.push_str(&more(parts.len() - index));
            return joined;
        }
        if index > 0 {
            joined.push_str(separator);
        }
        joined.push_str(&truncate(part, most.saturating_sub(reserve)));
    }
    joined
}
