//! Abstract values: vectors of possible series with their labels and conditions.

use std::collections::{BTreeMap, BTreeSet};

use super::condition::{Conditions, SampleCondition, SampleRequirement};
use crate::expr::{GroupingLabels, MatchType, Selector};

/// Limit of abstract series: operators multiply them.
const MAX_CASES: usize = 64;

/// Abstract value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AbstractValue {
    /// A scalar; `None` if it is unknown.
    Number(Option<f64>),
    /// A vector.
    Vector(AbstractVector),
    /// A string.
    Text,
}

/// The series that an expression can return.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AbstractVector {
    pub(super) cases: Vec<AbstractSeries>,
    pub(super) bound: SeriesBound,
}

/// Series that exist if the conditions are met.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AbstractSeries {
    /// The value; `None` if it is unknown.
    pub(super) value: Option<f64>,
    pub(super) labels: AbstractLabels,
    pub(super) when: Conditions,
}

/// Upper bound of the number of series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SeriesBound {
    /// One for each combination of the values of these labels; without labels, one.
    OnePer(BTreeSet<String>),
    /// Any number.
    Many,
}

impl Default for SeriesBound {
    fn default() -> Self {
        Self::ONE
    }
}

impl SeriesBound {
    pub(super) const ONE: Self = Self::OnePer(BTreeSet::new());

    /// The bound of series with distinct labels.
    pub(super) fn new(cases: &[AbstractSeries]) -> Self {
        let labels: Vec<&AbstractLabels> = cases.iter().map(|case| &case.labels).collect();
        differing(&labels).map_or(Self::Many, Self::OnePer)
    }

    /// The bound of a union.
    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::OnePer(left), Self::OnePer(right)) => Self::OnePer(&left | &right),
            _ => Self::Many,
        }
    }

    /// The smaller bound.
    pub(super) fn and(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::OnePer(left), Self::OnePer(right)) if right.len() < left.len() => other,
            (Self::Many, _) => other,
            _ => self,
        }
    }
}

impl AbstractVector {
    /// The result of a selector.
    pub(super) fn selected(selector: &Selector) -> Self {
        let when =
            vec![SampleCondition { selector: selector.clone(), need: SampleRequirement::Sample }];
        let labels = AbstractLabels::selected(selector);
        Self { cases: vec![AbstractSeries { value: None, labels, when }], bound: SeriesBound::Many }
    }

    /// One series without labels and conditions.
    pub(super) fn constant(value: Option<f64>) -> Self {
        let case = AbstractSeries { value, labels: AbstractLabels::default(), when: Vec::new() };
        Self { cases: vec![case], bound: SeriesBound::ONE }
    }

    /// A vector without duplicates, bounded by its labels.
    pub(super) fn new(cases: Vec<AbstractSeries>) -> Self {
        let mut distinct: Vec<AbstractSeries> = Vec::new();
        for case in cases {
            if !distinct.contains(&case) {
                distinct.push(case);
            }
        }
        let bound = SeriesBound::new(&distinct);
        Self { cases: distinct, bound }
    }

    /// Adds an upper bound.
    pub(super) fn bounded(self, bound: SeriesBound) -> Self {
        Self { bound: self.bound.and(bound), cases: self.cases }
    }

    /// Maps the values.
    pub(super) fn map(self, value: impl Fn(Option<f64>) -> Option<f64>) -> Self {
        let mapped = |case: AbstractSeries| AbstractSeries { value: value(case.value), ..case };
        Self { cases: self.cases.into_iter().map(mapped).collect(), bound: self.bound }
    }

    /// Whether the analysis must stop.
    pub(super) fn is_too_large(&self) -> bool {
        self.cases.len() > MAX_CASES
    }

    /// Whether the series of two vectors match: the common result of all pairs, otherwise possible.
    pub(super) fn compare(&self, other: &Self, labels: &GroupingLabels) -> LabelMatch {
        let mut matches = self.cases.iter().flat_map(|left| {
            other.cases.iter().map(|right| compare(&left.labels, &right.labels, labels))
        });
        let first = matches.next().unwrap_or(LabelMatch::Never);
        if matches.all(|found| found == first) { first } else { LabelMatch::Possible }
    }
}

/// Known labels of an abstract series.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AbstractLabels {
    /// Constant values; `None` for labels that vary. An empty value is a missing label.
    known: BTreeMap<String, Option<String>>,
    /// Whether the series may have other labels.
    open: bool,
}

impl AbstractLabels {
    /// Labels of the series that a selector selects.
    pub(super) fn selected(selector: &Selector) -> Self {
        Self { known: equalities(selector), open: true }
    }

    /// Exactly the labels for which a selector has equality matchers.
    pub(super) fn named(selector: &Selector) -> Self {
        Self { known: equalities(selector), open: false }
    }

    /// The constant value of a label.
    pub(super) fn constant(&self, label: &str) -> Option<&str> {
        match self.known.get(label) {
            Some(value) => value.as_deref(),
            None if self.open => None,
            None => Some(""),
        }
    }

    /// Sets a label; `None` for a value that varies.
    pub(super) fn with(mut self, label: &str, value: Option<&str>) -> Self {
        self.known.insert(label.to_owned(), value.map(str::to_owned));
        self
    }

    /// The labels that a label modifier keeps.
    pub(super) fn keep(&self, labels: &GroupingLabels) -> Self {
        match labels {
            GroupingLabels::Only(filter_comparison) => {
                let value = |label: &String| self.constant(label).map(str::to_owned);
                let known =
                    filter_comparison.iter().map(|label| (label.clone(), value(label))).collect();
                Self { known, open: false }
            }
            GroupingLabels::Except(dropped) => {
                dropped.iter().fold(self.clone(), |filter_comparison, label| {
                    filter_comparison.with(label, Some(""))
                })
            }
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.known.keys().map(String::as_str)
    }
}

fn equalities(selector: &Selector) -> BTreeMap<String, Option<String>> {
    let equal = selector.matchers.iter().filter(|m| m.comparison == MatchType::Equal);
    equal.map(|matcher| (matcher.label.clone(), Some(matcher.value.clone()))).collect()
}

/// Whether the labels of two series match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LabelMatch {
    /// The labels match.
    Always,
    /// The labels may match.
    Possible,
    /// The labels do not match.
    Never,
}

/// Compares the labels that a label modifier selects.
pub(super) fn compare(
    left: &AbstractLabels,
    right: &AbstractLabels,
    labels: &GroupingLabels,
) -> LabelMatch {
    let mut result = LabelMatch::Always;
    for label in compared(left, right, labels) {
        match (left.constant(label), right.constant(label)) {
            (Some(left), Some(right)) if left == right => {}
            (Some(_), Some(_)) => return LabelMatch::Never,
            _ => result = LabelMatch::Possible,
        }
    }
    let open = matches!(labels, GroupingLabels::Except(_)) && (left.open || right.open);
    if open { LabelMatch::Possible } else { result }
}

fn compared<'a>(
    left: &'a AbstractLabels,
    right: &'a AbstractLabels,
    labels: &'a GroupingLabels,
) -> BTreeSet<&'a str> {
    match labels {
        GroupingLabels::Only(only) => only.iter().map(String::as_str).collect(),
        GroupingLabels::Except(except) => {
            let all = left.names().chain(right.names());
            all.filter(|name| !except.iter().any(|dropped| dropped == name)).collect()
        }
    }
}

/// The labels that distinguish series; `None` if any label may.
pub(super) fn differing(set_operation: &[&AbstractLabels]) -> Option<BTreeSet<String>> {
    if set_operation.iter().any(|set| set.open) {
        return None;
    }
    let names: BTreeSet<&str> = set_operation.iter().flat_map(|set| set.names()).collect();
    let differing = names.into_iter().filter(|name| common(set_operation, name).is_none());
    Some(differing.map(str::to_owned).collect())
}

/// The value of a label that all sets share.
pub(super) fn common<'a>(set_operation: &[&'a AbstractLabels], label: &str) -> Option<&'a str> {
    let first = set_operation.first()?.constant(label)?;
    set_operation.iter().all(|set| set.constant(label) == Some(first)).then_some(first)
}
