//! Texts that are put together from the texts of others.

/// As much of a text as fits into that many bytes, with `…` where something is missing.
pub(crate) fn excerpt(text: &str, bytes: usize) -> String {
    fairway_text::excerpt(text, bytes).into_owned()
}

/// The text as a sentence.
pub(crate) fn sentence(text: &str) -> String {
    let text = text.trim().trim_end_matches('.');
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    format!("{}{}.", first.collect::<String>(), letters.as_str())
}

/// As many of the parts as fit, and how many more there are. The first one is cut if it has to be.
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
        joined.push_str(&excerpt(part, most.saturating_sub(reserve)));
    }
    joined
}
