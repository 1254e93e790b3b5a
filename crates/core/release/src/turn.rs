//! What the name of a manifest's file says about its turn.

use std::fmt;

/// What `0000_50_network-operator_02_role.yaml` says: level 50, component `network-operator`. Both
/// are texts: `5` is not `05`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn<'a> {
    pub(crate) level: &'a str,
    pub(crate) component: &'a str,
}

impl<'a> Turn<'a> {
    pub(crate) fn of(file: &'a str) -> Option<Self> {
        let mut parts = file.strip_prefix("0000_")?.splitn(3, '_');
        let (level, component, _rest) = (parts.next()?, parts.next()?, parts.next()?);
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let is_word =
            |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric());
        let found = is_number(level) && component.split('-').all(is_word);
        found.then_some(Self { level, component })
    }
}

impl fmt::Display for Turn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.level, self.component)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_say_whose_turn_it_is() {
        for (file, turn) in [
            ("0000_50_network-operator_02_role.yaml", Some(("50", "network-operator"))),
            ("0000_7_a_", Some(("7", "a"))),
            ("0000_007_A-b-9_x", Some(("007", "A-b-9"))),
            ("0000_50_a", None),
            ("0000_50_a.yaml", None),
            ("0000_50_a-_b", None),
            ("0000_50_-a_b", None),
            ("0000_50_a--b_c", None),
            ("0000_50__b", None),
            ("0000_5x_a_b", None),
            ("0000__a_b", None),
            ("0001_50_a_b", None),
            ("0000_٥_a_b", None),
            ("", None),
        ] {
            let found = Turn::of(file).map(|turn| (turn.level, turn.component));
            assert_eq!(found, turn, "{file}");
        }
    }
}
