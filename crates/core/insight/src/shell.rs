//! Texts of others in commands that people copy.

use std::fmt;

/// A text as one word of a shell, whatever is in it.
pub struct Word<'a>(pub &'a str);

impl fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_harmless = |char: char| char.is_ascii_alphanumeric() || "-._:/@+,=%".contains(char);
        if !self.0.is_empty() && self.0.chars().all(is_harmless) {
            return f.write_str(self.0);
        }
        write!(f, "'{}'", self.0.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_it_for_one_word() {
        for (text, word) in [
            ("stable-5.2", "stable-5.2"),
            ("OperatorWillNotRun-team:etcd.v1", "OperatorWillNotRun-team:etcd.v1"),
            ("", "''"),
            ("A;curl x|sh", "'A;curl x|sh'"),
            ("$(id)", "'$(id)'"),
            ("two words", "'two words'"),
            ("it's", r"'it'\''s'"),
        ] {
            assert_eq!(Word(text).to_string(), word);
        }
    }
}
