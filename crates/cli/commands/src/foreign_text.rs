//! Text of clusters and registries, escaped for a terminal.

use std::fmt::{self, Write};

/// Untrusted text on one line. Control characters and characters that change colours or the reading
/// direction are escaped.
pub(crate) struct OneLine<'a>(pub(crate) &'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for char in self.0.chars() {
            match char {
                '\t' | '\n' | '\r' => f.write_char(' ')?,
                steering if steers(steering) => write!(f, "{}", steering.escape_unicode())?,
                plain => f.write_char(plain)?,
            }
        }
        Ok(())
    }
}

/// The lines of an untrusted text.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = OneLine<'_>> {
    text.trim().lines().map(|line| OneLine(line.trim_end()))
}

/// Whether a terminal interprets the character, or does not show it. Names that differ in an
/// invisible character would look equal.
pub(crate) fn steers(char: char) -> bool {
    let separates_lines = matches!(char, '\u{2028}' | '\u{2029}');
    let is_invisible = matches!(
        char,
        '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}'
    );
    let turns_direction = matches!(
        char,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    char.is_control() || separates_lines || turns_direction || is_invisible
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        for (text, shown) in [
            ("plain – Ünïcode 🦀", "plain – Ünïcode 🦀"),
            ("\u{1b}[31mred\u{1b}[0m", r"\u{1b}[31mred\u{1b}[0m"),
            ("\u{1b}]8;;http://evil\u{7}link", r"\u{1b}]8;;http://evil\u{7}link"),
            ("\u{9b}2J", r"\u{9b}2J"),
            ("user\u{202e}gpj.exe", r"user\u{202e}gpj.exe"),
            ("Admin\u{200b}Ack\u{200d}-\u{feff}x", r"Admin\u{200b}Ack\u{200d}-\u{feff}x"),
            ("two\r\nlines\tand a tab", "two  lines and a tab"),
            ("a\u{0}b\u{8}\u{7f}", r"a\u{0}b\u{8}\u{7f}"),
        ] {
            assert_eq!(OneLine(text).to_string(), shown);
        }
    }

    #[test]
    fn lines_are_trimmed() {
        let text = "\n first \r\n\n\u{1b}[2Jsecond\n\n";
        let shown: Vec<String> = lines(text).map(|line| line.to_string()).collect();
        assert_eq!(shown, ["first", "", r"\u{1b}[2Jsecond"]);
    }
}
