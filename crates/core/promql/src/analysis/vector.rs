//! What a part of a query can yield.

use std::collections::BTreeSet;

use crate::expr::{Labels, Selector};

use super::condition::{Condition, Conditions, Need};
use super::labels::{LabelSet, Match, compare, differing};

/// The parts of a query multiply; beyond this nothing is said about it.
const MAX_CASES: usize = 64;

/// What an expression yields.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// A number, where it is known.
    Number(Option<f64>),
    /// Series.
    Vector(Vector),
    /// A text.
    Text,
}

/// The series that an expression can yield.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Vector {
    pub(super) cases: Vec<Case>,
    pub(super) bound: Bound,
}

/// Some series, if the conditions are met.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    /// The value of each, where it is known.
    pub(super) value: Option<f64>,
    pub(super) labels: LabelSet,
    pub(super) when: Conditions,
}

/// At most how many series there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// One for each combination of values of these labels; without labels, one.
    OnePer(BTreeSet<String>),
    /// Any number.
    Many,
}

impl Default for Bound {
    fn default() -> Self {
        Self::ONE
    }
}

impl Bound {
    pub(super) const ONE: Self = Self::OnePer(BTreeSet::new());

    /// Of series of which no two have the same labels.
    pub(super) fn of(cases: &[Case]) -> Self {
        let labels: Vec<&LabelSet> = cases.iter().map(|case| &case.labels).collect();
        differing(&labels).map_or(Self::Many, Self::OnePer)
    }

    /// The larger of the two.
    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::OnePer(left), Self::OnePer(right)) => Self::OnePer(&left | &right),
            _ => Self::Many,
        }
    }

    /// The smaller of the two.
    pub(super) fn and(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::OnePer(left), Self::OnePer(right)) if right.len() < left.len() => other,
            (Self::Many, _) => other,
            _ => self,
        }
    }
}

impl Vector {
    /// What a selector selects.
    pub(super) fn selected(selector: &Selector) -> Self {
        let when = vec![Condition { selector: selector.clone(), need: Need::Sample }];
        let labels = LabelSet::selected(selector);
        Self { cases: vec![Case { value: None, labels, when }], bound: Bound::Many }
    }

    /// One series without labels, whatever there is in the cluster.
    pub(super) fn constant(value: Option<f64>) -> Self {
        let case = Case { value, labels: LabelSet::default(), when: Vec::new() };
        Self { cases: vec![case], bound: Bound::ONE }
    }

    /// As many series as the labels allow.
    pub(super) fn of(cases: Vec<Case>) -> Self {
        let mut distinct: Vec<Case> = Vec::new();
        for case in cases {
            if !distinct.contains(&case) {
                distinct.push(case);
            }
        }
        let bound = Bound::of(&distinct);
        Self { cases: distinct, bound }
    }

    /// No more series than that.
    pub(super) fn bounded(self, bound: Bound) -> Self {
        Self { bound: self.bound.and(bound), cases: self.cases }
    }

    /// The same with other values.
    pub(super) fn map(self, value: impl Fn(Option<f64>) -> Option<f64>) -> Self {
        let mapped = |case: Case| Case { value: value(case.value), ..case };
        Self { cases: self.cases.into_iter().map(mapped).collect(), bound: self.bound }
    }

    /// Whether there can be too many cases to go on.
    pub(super) fn is_too_large(&self) -> bool {
        self.cases.len() > MAX_CASES
    }

    /// How the series of this and another vector belong together: the same for all of them, or
    /// perhaps.
    pub(super) fn compare(&self, other: &Self, labels: &Labels) -> Match {
        let mut matches = self.cases.iter().flat_map(|left| {
            other.cases.iter().map(|right| compare(&left.labels, &right.labels, labels))
        });
        let first = matches.next().unwrap_or(Match::Never);
        if matches.all(|found| found == first) { first } else { Match::Perhaps }
    }
}
