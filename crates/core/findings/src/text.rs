//! Texts of others, made to fit.

use std::collections::BTreeMap;

/// What stands where something was cut off.
const CUT: &str = "…";

/// The beginning of a text, at most so many bytes with the sign where it was cut.
pub(crate) fn beginning(text: &str, most: usize) -> String {
    fairway_text::fit(text, most).into_owned()
}

/// The end of a text: what a program says last is why it failed.
pub(crate) fn tail(text: &str, most: usize) -> String {
    let text = text.trim();
    if text.len() <= most {
        return text.to_owned();
    }
    let begin = text.ceil_char_boundary(text.len() - most.saturating_sub(CUT.len()));
    format!("{CUT}{}", &text[begin..])
}

/// A name as one word such as the API takes for a reason: `cloud-credential` is `CloudCredential`.
pub fn camel_case(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    let capital = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    let joined: String = words.map(capital).collect();
    if joined.starts_with(|first: char| first.is_ascii_alphabetic()) {
        joined
    } else {
        format!("Check{joined}")
    }
}

/// Cuts texts, and tells which.
#[derive(Debug, Default)]
pub(crate) struct Scissors {
    cut: BTreeMap<(&'static str, usize), usize>,
}

impl Scissors {
    /// Makes a text fit.
    pub(crate) fn trim(&mut self, what: &'static str, text: &mut String, most: usize) {
        if text.len() > most {
            *text = beginning(text, most);
            *self.cut.entry((what, most)).or_default() += 1;
        }
    }

    /// What was cut, for people to read.
    pub(crate) fn told(self) -> impl Iterator<Item = String> {
        self.cut.into_iter().map(|((what, most), count)| match count {
            1 => format!("the {what} is truncated to {most} bytes"),
            _ => format!("the {what} is truncated to {most} bytes in {count} places"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_letters() {
        assert_eq!(tail(" größer\n", 6), "…er");
        assert_eq!(tail(" größer\n", 8), "größer");
    }

    #[test]
    fn names_become_one_word() {
        for (name, word) in [
            ("cloud-credential", "CloudCredential"),
            ("dns", "Dns"),
            ("openshift-apiserver.v2", "OpenshiftApiserverV2"),
            ("3scale", "Check3scale"),
            ("", "Check"),
            ("ä", "Check"),
        ] {
            assert_eq!(camel_case(name), word);
        }
    }
}
