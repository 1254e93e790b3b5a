//! Texts that are put together from the texts of others.

/// As much of a text as fits into that many bytes, with a sign where something is missing.
pub(crate) fn excerpt(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    format!("{}…", text[..text.floor_char_boundary(most)].trim_end())
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
