//! Under which conditions a query yields something, and what follows from what.

use std::time::Duration;

use crate::expr::{Comparison, Matcher, Selector};

/// A series that was scraped within this time still has a sample: Prometheus's default.
const LOOKBACK: Duration = Duration::from_mins(5);

/// More alternatives than this are not compared with each other any more.
const MAX_ALTERNATIVES: usize = 64;

/// What has to be so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) selector: Selector,
    pub(super) need: Need,
}

/// What a selector has to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// A sample.
    Sample,
    /// A sample that some comparison lets through.
    SomeSample,
    /// No sample.
    NoSample,
}

/// All of these have to be so; nothing has to where it is empty.
pub(super) type Conditions = Vec<Condition>;

/// Both.
pub(super) fn both(left: &[Condition], right: &[Condition]) -> Conditions {
    let mut all = left.to_vec();
    all.extend(right.iter().filter(|condition| !left.contains(condition)).cloned());
    all
}

/// The same, but only for some samples.
pub(super) fn guarded(conditions: &[Condition]) -> Conditions {
    let guard = |condition: &Condition| match condition.need {
        Need::Sample => Condition { need: Need::SomeSample, ..condition.clone() },
        Need::SomeSample | Need::NoSample => condition.clone(),
    };
    conditions.iter().map(guard).collect()
}

/// Whether one set of conditions follows from another.
pub(super) fn implies(premise: &[Condition], conclusion: &[Condition]) -> bool {
    conclusion.iter().all(|wanted| premise.iter().any(|given| given.implies(wanted)))
}

impl Condition {
    fn implies(&self, other: &Self) -> bool {
        match (self.need, other.need) {
            (Need::Sample | Need::SomeSample, Need::Sample) => {
                is_part_of(&self.selector, &other.selector)
            }
            (Need::NoSample, Need::NoSample) => is_part_of(&other.selector, &self.selector),
            _ => false,
        }
    }

    /// What is left to be needed where one of the two is so; `None` where they do not add up.
    fn either(&self, other: &Self) -> Option<Conditions> {
        match (self.need, other.need) {
            (Need::Sample, Need::NoSample) if is_part_of(&other.selector, &self.selector) => {
                Some(Vec::new())
            }
            (Need::Sample, Need::Sample) => {
                let selector = union(&self.selector, &other.selector)?;
                Some(vec![Self { selector, need: Need::Sample }])
            }
            _ => None,
        }
    }
}

/// Whether every series that the one selects is selected by the other.
fn is_part_of(part: &Selector, whole: &Selector) -> bool {
    part.metric == whole.metric
        && part.when == whole.when
        && part.range.unwrap_or(LOOKBACK) <= whole.range.unwrap_or(LOOKBACK)
        && whole
            .matchers
            .iter()
            .all(|wanted| part.matchers.iter().any(|given| follows(given, wanted)))
}

fn follows(given: &Matcher, wanted: &Matcher) -> bool {
    let fits = given.comparison == Comparison::Equal && wanted.fits(&given.value);
    given == wanted || (given.label == wanted.label && fits)
}

/// One selector for both, where they differ in a comparison and its opposite.
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
    use Comparison::{DoesNotMatch, Equal, Matches, NotEqual};
    let opposite = matches!(
        (one.comparison, other.comparison),
        (Equal, NotEqual) | (NotEqual, Equal) | (Matches, DoesNotMatch) | (DoesNotMatch, Matches)
    );
    opposite && one.label == other.label && one.value == other.value
}

/// The same alternatives, without those that follow from others, and with opposites joined.
///
/// `a and b, or not a and b` is `b`: whatever two alternatives add up to is added until nothing
/// new comes of it, and what implies something else is dropped.
pub(super) fn simplified(alternatives: Vec<Conditions>) -> Vec<Conditions> {
    let mut simple: Vec<Conditions> = Vec::new();
    let mut waiting = alternatives;
    while let Some(next) = waiting.pop() {
        if simple.iter().any(|known| implies(&next, known)) || simple.len() >= MAX_ALTERNATIVES {
            continue;
        }
        simple.retain(|known| !implies(known, &next));
        waiting.extend(simple.iter().flat_map(|known| sums(known, &next)));
        simple.push(next);
    }
    simple.reverse();
    simple
}

fn sums(left: &Conditions, right: &Conditions) -> Vec<Conditions> {
    let mut sums = Vec::new();
    for one in left {
        for other in right {
            let Some(sum) = one.either(other).or_else(|| other.either(one)) else { continue };
            let rest = |all: &Conditions, without: &Condition| -> Conditions {
                all.iter().filter(|condition| *condition != without).cloned().collect()
            };
            sums.push(both(&sum, &both(&rest(left, one), &rest(right, other))));
        }
    }
    sums
}
