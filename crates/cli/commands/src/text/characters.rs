//! Characters that a terminal can show.

use std::borrow::Cow;

/// Characters that a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Characters {
    /// All characters.
    Unicode,
    /// ASCII. Typographic characters of Fairway's own texts are replaced; names from the cluster
    /// stay as they are, because another spelling is another name.
    Ascii,
}

impl Characters {
    /// Characters of the first locale variable that is set. Without a locale, as in most
    /// containers, terminals show all characters.
    pub(crate) fn of_locale<'a>(variables: impl IntoIterator<Item = &'a str>) -> Self {
        let Some(locale) = variables.into_iter().find(|value| !value.is_empty()) else {
            return Self::Unicode;
        };
        let locale = locale.to_ascii_lowercase();
        if ["utf-8", "utf8"].iter().any(|name| locale.contains(name)) {
            Self::Unicode
        } else {
            Self::Ascii
        }
    }

    /// Characters of the environment.
    pub(crate) fn of_environment() -> Self {
        let variables = ["LC_ALL", "LC_CTYPE", "LANG"].map(std::env::var);
        Self::of_locale(variables.iter().flatten().map(String::as_str))
    }

    /// The line with replaced characters.
    pub(super) fn render(self, line: &str) -> Cow<'_, str> {
        if self == Self::Unicode || line.is_ascii() {
            return Cow::Borrowed(line);
        }
        let mut rendered = String::with_capacity(line.len());
        for char in line.chars() {
            match char {
                '…' => rendered.push_str("..."),
                '–' | '—' | '─' | '•' => rendered.push('-'),
                '│' => rendered.push('|'),
                '→' => rendered.push_str("->"),
                '×' => rendered.push('x'),
                '≥' => rendered.push_str(">="),
                '‘' | '’' => rendered.push('\''),
                '“' | '”' => rendered.push('"'),
                other => rendered.push(other),
            }
        }
        Cow::Owned(rendered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_locale_uses_first_set_variable() {
        for (variables, characters) in [
            ([""; 3], Characters::Unicode),
            (["C", "", "en_GB.UTF-8"], Characters::Ascii),
            (["", "C.UTF-8", "C"], Characters::Unicode),
            (["", "", "de_DE.utf8"], Characters::Unicode),
            (["", "", "POSIX"], Characters::Ascii),
            (["", "", "de_DE.ISO-8859-1"], Characters::Ascii),
        ] {
            assert_eq!(Characters::of_locale(variables), characters, "{variables:?}");
        }
    }

    #[test]
    fn ascii_replaces_only_typographic_characters() {
        let line = "Waiting… – 5.0 → 5.1, as Müller says";
        assert_eq!(Characters::Ascii.render(line), "Waiting... - 5.0 -> 5.1, as Müller says");
        assert_eq!(Characters::Unicode.render(line), line);
    }
}
