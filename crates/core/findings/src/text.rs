//! Truncation and conversion of untrusted texts.

use std::collections::BTreeMap;

/// Marks a truncation.
const ELLIPSIS: &str = "…";

/// Start of a text, truncated to a number of bytes.
pub(crate) fn beginning(text: &str, max: usize) -> String {
    fairway_text::fit(text, max).into_owned()
}

/// End of a text. The last output of a failed program usually has the cause.
pub(crate) fn tail(text: &str, max: usize) -> String {
    let text = text.trim();
    if text.len() <= max {
        return text.to_owned();
    }
    let begin = text.ceil_char_boundary(text.len() - max.saturating_sub(ELLIPSIS.len()));
    format!("{ELLIPSIS}{}", &text[begin..])
}

/// Converts a name to CamelCase: `cloud-credential` to `CloudCredential`.
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

/// Truncates texts and counts them.
#[derive(Debug, Default)]
pub(crate) struct Truncator {
    cut: BTreeMap<(&'static str, usize), usize>,
}

impl Truncator {
    /// Truncates a text.
    pub(crate) fn trim(&mut self, what: &'static str, text: &mut String, max: usize) {
        if text.len() > max {
            *text = beginning(text, max);
            *self.cut.entry((what, max)).or_default() += 1;
        }
    }

    /// Messages about truncated texts.
    pub(crate) fn messages(self) -> impl Iterator<Item = String> {
        self.cut.into_iter().map(|((what, max), count)| match count {
            1 => format!("the {what} is truncated to {max} bytes"),
            _ => format!("the {what} is truncated to {max} bytes in {count} places"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_respects_char_boundaries() {
        assert_eq!(tail(" größer\n", 6), "…er");
        assert_eq!(tail(" größer\n", 8), "größer");
    }

    #[test]
    fn camel_case_of_names() {
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
