//! Which clusters get an answer.

use std::fmt;

use crate::expr::Selector;

use super::condition::{Conditions, Need, simplified};
use super::vector::Vector;

/// Which clusters a query has an answer for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// All of them, whatever they scrape.
    Always,
    /// Those that scrape what is named: all of one of these lists.
    WhileScraped(Vec<Vec<Selector>>),
    /// Only those with certain labels or values in what they scrape; others get nothing.
    Restricted(Vec<Vec<Selector>>),
    /// Only those to which the risk applies: the answer is never 0.
    OnlyMatching,
    /// None.
    Nobody,
    /// It cannot be told.
    Unknown,
}

/// Who gets an answer of a vector that is the result of a query.
pub(super) fn of(vector: &Vector, all: &[&Selector]) -> Coverage {
    let alternatives = simplified(vector.cases.iter().map(|case| case.when.clone()).collect());
    if alternatives.is_empty() {
        return Coverage::Nobody;
    }
    if alternatives.iter().any(Vec::is_empty) {
        return Coverage::Always;
    }
    if vector.cases.iter().all(|case| case.value.is_some_and(|value| value != 0.0)) {
        return Coverage::OnlyMatching;
    }
    let selectors = |conditions: &Conditions| {
        conditions.iter().map(|condition| condition.selector.clone()).collect()
    };
    let plain: Vec<Vec<Selector>> =
        alternatives.iter().filter(|conditions| is_plain(conditions, all)).map(selectors).collect();
    if plain.is_empty() {
        return Coverage::Restricted(alternatives.iter().map(selectors).collect());
    }
    Coverage::WhileScraped(plain)
}

/// Whether the conditions ask for nothing but that something is scraped.
fn is_plain(conditions: &Conditions, all: &[&Selector]) -> bool {
    conditions
        .iter()
        .all(|condition| condition.need == Need::Sample && !is_narrowed(&condition.selector, all))
}

/// Whether the query reads the same metric with other values of the same labels. What all
/// selectors of a metric have in common names the metric; what differs tells clusters apart.
fn is_narrowed(selector: &Selector, all: &[&Selector]) -> bool {
    selector.matchers.iter().any(|matcher| {
        all.iter()
            .filter(|other| other.metric == selector.metric)
            .any(|other| !other.matchers.contains(matcher))
    })
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always => f.write_str("all clusters get a result"),
            Self::WhileScraped(ways) => {
                write!(f, "clusters get a result while they have {}", listed(ways))
            }
            Self::Restricted(ways) => {
                write!(f, "only clusters with certain samples of {} get a result", listed(ways))
            }
            Self::OnlyMatching => f.write_str("clusters that do not match get no result"),
            Self::Nobody => f.write_str("no cluster gets a result"),
            Self::Unknown => f.write_str("unknown which clusters get a result"),
        }
    }
}

fn listed(ways: &[Vec<Selector>]) -> String {
    let way = |selectors: &Vec<Selector>| {
        selectors.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
    };
    let mut ways: Vec<String> = ways.iter().map(way).collect();
    ways.dedup();
    ways.join(", or ")
}
