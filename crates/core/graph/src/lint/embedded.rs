//! Where a part of a text is in the YAML that the text is written in.

use std::ops::Range;

/// The place of a part of `value` in `written`, which is the same text with the quotes, escapes,
/// line breaks and indentation of YAML. `None` where the two do not go together.
///
/// Both are walked side by side; what only YAML has is stepped over.
pub(super) fn place(written: &str, value: &str, part: Range<usize>) -> Option<Range<usize>> {
    let mut source = written.char_indices().peekable();
    let (mut start, mut end) = (None, None);
    for (at, character) in value.char_indices() {
        let blank = character.is_whitespace();
        let (place, found) = source.find(|(_, found)| {
            *found == character || (blank && found.is_whitespace()) || !is_of_yaml(*found)
        })?;
        if found != character && !(blank && found.is_whitespace()) {
            return None;
        }
        if at >= part.start && start.is_none() {
            start = Some(place);
        }
        if at < part.end.max(part.start + 1) {
            end = Some(place + found.len_utf8());
        }
    }
    let start = start.unwrap_or_else(|| written.trim_end().len());
    Some(start..end.unwrap_or(start).max(start))
}

/// What YAML may have where the value has nothing.
fn is_of_yaml(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\'' | '"' | '\\')
}

#[cfg(test)]
mod tests {
    use super::place;

    fn found<'a>(written: &'a str, value: &str, part: &str) -> Option<&'a str> {
        let start = value.find(part).unwrap();
        place(written, value, start..start + part.len()).map(|place| &written[place])
    }

    #[test]
    fn a_part_is_found_however_the_text_is_written() {
        let value = "group(up{a=\"b\"})\n  or\n0 * gruop(up)\n";
        let block = "group(up{a=\"b\"})\n        or\n      0 * gruop(up)\n";
        assert_eq!(found(block, value, "gruop"), Some("gruop"));
        assert_eq!(found(block, value, "or"), Some("or"));
        let quoted = r#""group(up{a=\"b\"})\n  or\n0 * gruop(up)\n""#;
        assert_eq!(found(quoted, "group(up{a=\"b\"})", "b"), Some("b"));
        assert_eq!(found("'it''s up'", "it's up", "up"), Some("up"));
        assert_eq!(found("one\n  two three", "one two three", "two three"), Some("two three"));
    }

    #[test]
    fn what_does_not_go_together_has_no_place() {
        assert_eq!(found(r#""a\u0062c""#, "abc", "c"), None);
        assert_eq!(found("other", "text", "t"), None);
    }

    #[test]
    fn the_end_of_a_text_is_after_its_last_word() {
        assert_eq!(place("group(up) or\n", "group(up) or\n", 12..13), Some(12..13));
        assert_eq!(place("a +", "a +", 3..3), Some(3..3));
    }
}
