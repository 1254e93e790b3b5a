//! Which characters can be shown.

use std::borrow::Cow;

/// Which characters can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Characters {
    /// All of them.
    Unicode,
    /// Those of ASCII: what we embellish texts with is spelled in them. Words of others stay as they
    /// are, for a name that is spelled otherwise is another name.
    Ascii,
}

impl Characters {
    /// What the variables of the environment say about it, in the order in which they count. Where
    /// nobody says anything, as in most containers, terminals know all characters.
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

    /// What the environment says about it.
    pub(crate) fn of_environment() -> Self {
        let variables = ["LC_ALL", "LC_CTYPE", "LANG"].map(std::env::var);
        Self::of_locale(variables.iter().flatten().map(String::as_str))
    }

    /// The line with what can be shown.
    pub(super) fn shown(self, line: &str) -> Cow<'_, str> {
        if self == Self::Unicode || line.is_ascii() {
            return Cow::Borrowed(line);
        }
        let mut shown = String::with_capacity(line.len());
        for char in line.chars() {
            match char {
                '…' => shown.push_str("..."),
                '–' | '—' | '─' | '•' => shown.push('-'),
                '│' => shown.push('|'),
                '→' => shown.push_str("->"),
                '×' => shown.push('x'),
                '≥' => shown.push_str(">="),
                '‘' | '’' => shown.push('\''),
                '“' | '”' => shown.push('"'),
                other => shown.push(other),
            }
        }
        Cow::Owned(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_says_something_counts() {
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
    fn ornaments_are_spelled_and_names_are_not() {
        let line = "Waiting… – 5.0 → 5.1, as Müller says";
        assert_eq!(Characters::Ascii.shown(line), "Waiting... - 5.0 -> 5.1, as Müller says");
        assert_eq!(Characters::Unicode.shown(line), line);
    }
}
