//! Lists in messages.

use std::fmt::Display;

/// Maximum number of listed items.
const MAX_ITEMS: usize = 100;

/// Bytes of a list, so that a condition fits into its object.
const MAX_LIST_BYTES: usize = 32 << 10;

/// Joins the items that fit, and counts the others.
pub(super) fn list<T: Display>(items: &[T], separator: &str) -> String {
    let mut bytes = 0;
    let fits = |item: &String| {
        bytes += item.len() + separator.len();
        bytes <= MAX_LIST_BYTES
    };
    let listed = items.iter().take(MAX_ITEMS).map(ToString::to_string).take_while(fits);
    let listed: Vec<String> = listed.collect();
    let more = items.len() - listed.len();
    let listed = listed.join(separator);
    match more {
        0 => listed,
        more => format!("{listed}{separator}and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_with_too_many_or_too_long_items_is_cut() {
        let numbers: Vec<usize> = (0..MAX_ITEMS + 7).collect();
        assert!(list(&numbers, ", ").ends_with("98, 99, and 7 more"));
        assert_eq!(list(&numbers[..2], ", "), "0, 1");
        let long = vec!["x".repeat(MAX_LIST_BYTES / 3); 4];
        let text = list(&long, ", ");
        assert!(text.len() < MAX_LIST_BYTES && text.ends_with("x, and 2 more"));
    }
}
