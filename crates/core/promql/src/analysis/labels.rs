//! What is known about the labels of a series.

use std::collections::{BTreeMap, BTreeSet};

use crate::expr::{Comparison, Labels, Selector};

/// The labels that a series can have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LabelSet {
    /// A value where it is always the same one; an empty one is no label.
    known: BTreeMap<String, Option<String>>,
    /// Whether there may be other labels.
    open: bool,
}

impl LabelSet {
    /// Of the series that a selector selects.
    pub(super) fn selected(selector: &Selector) -> Self {
        Self { known: equalities(selector), open: true }
    }

    /// Exactly the labels for which a selector names a value.
    pub(super) fn named(selector: &Selector) -> Self {
        Self { known: equalities(selector), open: false }
    }

    /// The value, where it is always the same one.
    pub(super) fn constant(&self, label: &str) -> Option<&str> {
        match self.known.get(label) {
            Some(value) => value.as_deref(),
            None if self.open => None,
            None => Some(""),
        }
    }

    /// The same with another value of a label; `None` for one that varies.
    pub(super) fn with(mut self, label: &str, value: Option<&str>) -> Self {
        self.known.insert(label.to_owned(), value.map(str::to_owned));
        self
    }

    /// What an aggregation or a match leaves of them.
    pub(super) fn keep(&self, labels: &Labels) -> Self {
        match labels {
            Labels::Only(kept) => {
                let value = |label: &String| self.constant(label).map(str::to_owned);
                let known = kept.iter().map(|label| (label.clone(), value(label))).collect();
                Self { known, open: false }
            }
            Labels::Except(dropped) => {
                dropped.iter().fold(self.clone(), |kept, label| kept.with(label, Some("")))
            }
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.known.keys().map(String::as_str)
    }
}

fn equalities(selector: &Selector) -> BTreeMap<String, Option<String>> {
    let equal = selector.matchers.iter().filter(|m| m.comparison == Comparison::Equal);
    equal.map(|matcher| (matcher.label.clone(), Some(matcher.value.clone()))).collect()
}

/// How the labels of two series compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    /// They are the same.
    Surely,
    /// They may be.
    Perhaps,
    /// They are not.
    Never,
}

/// Whether two series are the same as far as these labels go.
pub(super) fn compare(left: &LabelSet, right: &LabelSet, labels: &Labels) -> Match {
    let mut result = Match::Surely;
    for label in compared(left, right, labels) {
        match (left.constant(label), right.constant(label)) {
            (Some(left), Some(right)) if left == right => {}
            (Some(_), Some(_)) => return Match::Never,
            _ => result = Match::Perhaps,
        }
    }
    let open = matches!(labels, Labels::Except(_)) && (left.open || right.open);
    if open { Match::Perhaps } else { result }
}

fn compared<'a>(left: &'a LabelSet, right: &'a LabelSet, labels: &'a Labels) -> BTreeSet<&'a str> {
    match labels {
        Labels::Only(only) => only.iter().map(String::as_str).collect(),
        Labels::Except(except) => {
            let all = left.names().chain(right.names());
            all.filter(|name| !except.iter().any(|dropped| dropped == name)).collect()
        }
    }
}

/// The labels in which series can differ, unless it can be any.
pub(super) fn differing(sets: &[&LabelSet]) -> Option<BTreeSet<String>> {
    if sets.iter().any(|set| set.open) {
        return None;
    }
    let names: BTreeSet<&str> = sets.iter().flat_map(|set| set.names()).collect();
    let differing = names.into_iter().filter(|name| common(sets, name).is_none());
    Some(differing.map(str::to_owned).collect())
}

/// The value that a label has in all of them.
pub(super) fn common<'a>(sets: &[&'a LabelSet], label: &str) -> Option<&'a str> {
    let first = sets.first()?.constant(label)?;
    sets.iter().all(|set| set.constant(label) == Some(first)).then_some(first)
}
