//! Conditions under which a query returns samples, and implications between them.

use std::time::Duration;

use crate::expr::{MatchType, Matcher, Selector};

/// Default lookback delta of Prometheus.
const LOOKBACK_DELTA: Duration = Duration::from_mins(5);

/// Maximum number of alternatives that are simplified; the work is quadratic.
const MAX_ALTERNATIVES: usize = 64;

/// Requirement on the samples of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SampleCondition {
    pub(super) selector: Selector,
    pub(super) need: SampleRequirement,
}

/// Required result of a selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SampleRequirement {
    /// At least one sample.
    Sample,
    /// At least one sample that passes a comparison.
    SomeSample,
    /// No sample.
    NoSample,
}

/// Conditions that must all be met; an empty list is always met.
pub(super) type Conditions = Vec<SampleCondition>;

/// The conjunction of two lists.
pub(super) fn conjunction(left: &[SampleCondition], right: &[SampleCondition]) -> Conditions {
    let mut all = left.to_vec();
    all.extend(right.iter().filter(|condition| !left.contains(condition)).cloned());
    all
}

/// The same conditions, restricted to samples that pass a comparison.
pub(super) fn restricted(conditions: &[SampleCondition]) -> Conditions {
    let guard = |condition: &SampleCondition| match condition.need {
        SampleRequirement::Sample => {
            SampleCondition { need: SampleRequirement::SomeSample, ..condition.clone() }
        }
        SampleRequirement::SomeSample | SampleRequirement::NoSample => condition.clone(),
    };
    conditions.iter().map(guard).collect()
}

/// Whether `premise` implies `conclusion`.
pub(super) fn implies(premise: &[SampleCondition], conclusion: &[SampleCondition]) -> bool {
    conclusion.iter().all(|wanted| premise.iter().any(|given| given.implies(wanted)))
}

impl SampleCondition {
    fn implies(&self, other: &Self) -> bool {
        match (self.need, other.need) {
            (
                SampleRequirement::Sample | SampleRequirement::SomeSample,
                SampleRequirement::Sample,
            ) => is_part_of(&self.selector, &other.selector),
            (SampleRequirement::NoSample, SampleRequirement::NoSample) => {
                is_part_of(&other.selector, &self.selector)
            }
            _ => false,
        }
    }

    /// A simpler form of "this or other"; `None` if there is none.
    fn union_of(&self, other: &Self) -> Option<Conditions> {
        match (self.need, other.need) {
            (SampleRequirement::Sample, SampleRequirement::NoSample)
                if is_part_of(&other.selector, &self.selector) =>
            {
                Some(Vec::new())
            }
            (SampleRequirement::Sample, SampleRequirement::Sample) => {
                let selector = union(&self.selector, &other.selector)?;
                Some(vec![Self { selector, need: SampleRequirement::Sample }])
            }
            _ => None,
        }
    }
}

/// Whether every series of `part` is also selected by `whole`.
fn is_part_of(part: &Selector, whole: &Selector) -> bool {
    part.metric == whole.metric
        && part.when == whole.when
        && part.range.unwrap_or(LOOKBACK_DELTA) <= whole.range.unwrap_or(LOOKBACK_DELTA)
        && whole
            .matchers
            .iter()
            .all(|wanted| part.matchers.iter().any(|given| follows(given, wanted)))
}

fn follows(given: &Matcher, wanted: &Matcher) -> bool {
    let matches = given.comparison == MatchType::Equal && wanted.matches(&given.value);
    given == wanted || (given.label == wanted.label && matches)
}

/// A selector for the union of two that differ in one pair of opposite matchers.
fn union(left: &Selector, right: &Selector) -> Option<Selector> {
    if left.metric != right.metric || left.when != right.when || left.range != right.range {
        return None;
    }
    let only_left: Vec<_> = left.matchers.iter().filter(|m| !right.matchers.contains(m)).collect();
    let only_right: Vec<_> = right.matchers.iter().filter(|m| !left.matchers.contains(m)).collect();
    let ([one], [other]) = (only_left.as_slice(), only_right.as_slice()) else { return None };
    are_opposite(one, other).then(|| {
        let matchers = left.matchers.iter().filter(|matcher| matcher != one).cloned().collect();
        Selector { matchers, ..left.clone() }
    })
}

fn are_opposite(one: &Matcher, other: &Matcher) -> bool {
    use MatchType::{Equal, NotEqual, NotRegexp, Regexp};
    let opposite = matches!(
        (one.comparison, other.comparison),
        (Equal, NotEqual) | (NotEqual, Equal) | (Regexp, NotRegexp) | (NotRegexp, Regexp)
    );
    opposite && one.label == other.label && one.value == other.value
}

/// Simplifies a disjunction: removes alternatives that imply others, and merges opposites.
///
/// For example, `a and b, or not a and b` becomes `b`: merged pairs are added until nothing
/// changes, and alternatives that imply others are dropped.
pub(super) fn simplify(alternatives: Vec<Conditions>) -> Vec<Conditions> {
    let mut simple: Vec<Conditions> = Vec::new();
    let mut pending = alternatives;
    while let Some(next) = pending.pop() {
        if simple.iter().any(|known| implies(&next, known)) || simple.len() >= MAX_ALTERNATIVES {
            continue;
        }
        simple.retain(|known| !implies(known, &next));
        pending.extend(simple.iter().flat_map(|known| merged_pairs(known, &next)));
        simple.push(next);
    }
    simple.reverse();
    simple
}

fn merged_pairs(left: &Conditions, right: &Conditions) -> Vec<Conditions> {
    let mut merged_pairs = Vec::new();
    for one in left {
        for other in right {
            let Some(merged) = one.union_of(other).or_else(|| other.union_of(one)) else {
                continue;
            };
            let rest = |all: &Conditions, without: &SampleCondition| -> Conditions {
                all.iter().filter(|condition| *condition != without).cloned().collect()
            };
            merged_pairs
                .push(conjunction(&merged, &conjunction(&rest(left, one), &rest(right, other))));
        }
    }
    merged_pairs
}
