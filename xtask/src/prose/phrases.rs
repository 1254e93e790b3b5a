//! Phrases that the style guide rules out.

use anyhow::{Context as _, Result};
use regex::Regex;

/// A group of phrases.
pub(super) struct Phrase {
    /// The name of the group in lists.
    pub(super) name: &'static str,
    regex: Regex,
    /// Words that make a match legitimate if one of them follows.
    followers: &'static [&'static str],
    /// Whether the phrases are names of constants.
    pub(super) is_name: bool,
}

impl Phrase {
    /// The number of matches in a text.
    pub(super) fn count(&self, text: &str) -> usize {
        self.regex.find_iter(text).filter(|found| !self.is_legitimate(&text[found.end()..])).count()
    }

    fn is_legitimate(&self, rest: &str) -> bool {
        let next = rest.trim_start().split(|it: char| !it.is_alphanumeric()).next();
        next.is_some_and(|next| self.followers.contains(&next))
    }
}

/// The group of phrases in names of constants.
const NAMES: &str = "riddle superlatives";

type Group = (&'static str, &'static str, &'static [&'static str]);

/// Name, regular expression, and words that make a match legitimate.
const GROUPS: [Group; 10] = [
    ("impersonal persons", r"(?i)\b(nobody|somebody|whoever|anybody|everybody|whomever)\b", &[]),
    (
        "stands/speaks against",
        r"(?i)\b(stands?|stood|speaks?|spoke) (against|in (the|its|their) way)\b",
        &[],
    ),
    (
        "what comes of / is to be",
        r"(?i)\bwhat (comes|came|becomes|became) of\b|\bwhat (there )?is to (be|say)\b",
        &[],
    ),
    (
        "is told / is said / is asked",
        r"(?i)\b(is|are|was|were|be) (told|said|asked|waited|looked) (about|for|at|of|to|by|in|whether|why|how|with|when|where)\b|\b(is|are) told\b",
        &[],
    ),
    ("goes on", r"(?i)\b(goes|go|went) on\b", &["to"]),
    ("mend", r"(?i)\bmend(s|ed|ing)?\b", &[]),
    ("take for", r"(?i)\b(takes?|took|taken) (it|them|this|that|a \w+|the \w+) for\b", &[]),
    (
        "sees to it / is no news / in vain / at hand",
        r"(?i)\bsees? to it\b|\bis no news\b|\bin vain\b|\bat hand\b|\bword for word\b",
        &[],
    ),
    (
        "who-clauses as nouns",
        r"(?i)(?:^|[.:;(] ?|// ?|/// ?|//! ?)Who(?:m)? ",
        &["is", "are", "can", "may", "should", "does", ""],
    ),
    (NAMES, r"\b(MOST|LONGEST|FAREWELL|BREATHER|PATIENCE|DOZE|HASTE)_?[A-Z_]*\b", &[]),
];

/// All groups.
pub(super) fn phrases() -> Result<Vec<Phrase>> {
    let phrase = |(name, regex, followers): Group| {
        let regex = Regex::new(regex).with_context(|| format!("the phrases {name:?}"))?;
        Ok(Phrase { name, regex, followers, is_name: name == NAMES })
    };
    GROUPS.into_iter().map(phrase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<&'static str> {
        let phrases = phrases().expect("regular expressions");
        phrases.iter().filter(|it| it.count(text) > 0).map(|it| it.name).collect()
    }

    #[test]
    fn phrases_are_found_in_any_case() {
        assert_eq!(names("Nobody waits"), ["impersonal persons"]);
        assert_eq!(names("/// Who wrote it"), ["who-clauses as nouns"]);
        assert_eq!(
            names("the rollout goes on, and it is told when"),
            ["is told / is said / is asked", "goes on"]
        );
        assert_eq!(names("const PATIENCE: Duration"), ["riddle superlatives"]);
    }

    #[test]
    fn phrases_have_legitimate_continuations() {
        assert_eq!(names("it goes on to the next; // Who is allowed"), [] as [&str; 0]);
        assert_eq!(names("the operator retries the manifest"), [] as [&str; 0]);
    }
}
