//! Lists of things that others have named.

use std::fmt::Display;

/// Things that a list names: more, nobody reads.
const MOST: usize = 100;

/// Bytes of a list: a condition has to fit into an object, beside others.
const MOST_BYTES: usize = 32 << 10;

/// The things, and how many more there are.
pub(super) fn list<T: Display>(things: &[T], separator: &str) -> String {
    let mut bytes = 0;
    let has_room = |thing: &String| {
        bytes += thing.len() + separator.len();
        bytes <= MOST_BYTES
    };
    let named = things.iter().take(MOST).map(ToString::to_string).take_while(has_room);
    let named: Vec<String> = named.collect();
    let more = things.len() - named.len();
    let named = named.join(separator);
    match more {
        0 => named,
        more => format!("{named}{separator}and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_with_too_many_or_too_long_items_is_cut() {
        let numbers: Vec<usize> = (0..MOST + 7).collect();
        assert!(list(&numbers, ", ").ends_with("98, 99, and 7 more"));
        assert_eq!(list(&numbers[..2], ", "), "0, 1");
        let long = vec!["x".repeat(MOST_BYTES / 3); 4];
        let told = list(&long, ", ");
        assert!(told.len() < MOST_BYTES && told.ends_with("x, and 2 more"));
    }
}
