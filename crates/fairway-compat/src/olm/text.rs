//! Lists of things that others have named.

use std::fmt::Display;

/// Things that a list names: more, nobody reads.
const MOST: usize = 100;

/// The things, and how many more there are.
pub(super) fn list<T: Display>(things: &[T], separator: &str) -> String {
    let named: Vec<String> = things.iter().take(MOST).map(ToString::to_string).collect();
    let named = named.join(separator);
    match things.len().saturating_sub(MOST) {
        0 => named,
        more => format!("{named}{separator}and {more} more"),
    }
}

/// As much of a text as fits into that many bytes, with a sign where something is missing.
pub(super) fn excerpt(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    format!("{}…", text[..text.floor_char_boundary(most)].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_and_texts_are_cut() {
        let numbers: Vec<usize> = (0..MOST + 7).collect();
        assert!(list(&numbers, ", ").ends_with("98, 99, and 7 more"));
        assert_eq!(list(&numbers[..2], ", "), "0, 1");
        assert_eq!((excerpt("äöü", 4), excerpt("äöü", 6)), ("äö…".to_owned(), "äöü".to_owned()));
    }
}
