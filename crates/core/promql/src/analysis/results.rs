//! Results of the analysis: number of series, values and coverage of a query.

use std::collections::BTreeSet;
use std::fmt;

use super::condition::{Conditions, SampleRequirement, simplify};
use super::evaluate::evaluate;
use super::vector::{AbstractValue, AbstractVector, SeriesBound};
use crate::expr::{ExprType, MatchType, Matcher, Selector};
use crate::query::Query;

/// Clusters on which a query returns a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultCoverage {
    /// All clusters.
    Always,
    /// Clusters that scrape all metrics of one of these lists.
    WhileScraped(Vec<Vec<Selector>>),
    /// Only clusters with certain labels or values of these metrics.
    Restricted(Vec<Vec<Selector>>),
    /// Only clusters to which the risk applies: the result is never 0.
    OnlyMatching,
    /// No clusters.
    None,
    /// Unknown.
    Unknown,
}

/// The coverage of the result of a query.
fn coverage(vector: &AbstractVector, all: &[&Selector]) -> ResultCoverage {
    let alternatives = simplify(vector.cases.iter().map(|case| case.when.clone()).collect());
    if alternatives.is_empty() {
        return ResultCoverage::None;
    }
    if alternatives.iter().any(Vec::is_empty) {
        return ResultCoverage::Always;
    }
    if vector.cases.iter().all(|case| case.value.is_some_and(|value| value != 0.0)) {
        return ResultCoverage::OnlyMatching;
    }
    let selectors = |conditions: &Conditions| {
        conditions.iter().map(|condition| condition.selector.clone()).collect()
    };
    let plain: Vec<Vec<Selector>> =
        alternatives.iter().filter(|conditions| is_plain(conditions, all)).map(selectors).collect();
    if plain.is_empty() {
        return ResultCoverage::Restricted(alternatives.iter().map(selectors).collect());
    }
    ResultCoverage::WhileScraped(plain)
}

/// Whether the conditions only require that metrics are scraped.
fn is_plain(conditions: &Conditions, all: &[&Selector]) -> bool {
    conditions.iter().all(|condition| {
        condition.need == SampleRequirement::Sample && !is_narrowed(&condition.selector, all)
    })
}

/// Whether the query also reads the metric with other values of the same labels. Matchers that all
/// selectors of a metric share identify the metric; others distinguish clusters.
fn is_narrowed(selector: &Selector, all: &[&Selector]) -> bool {
    selector.matchers.iter().any(|matcher| {
        all.iter()
            .filter(|other| other.metric == selector.metric)
            .any(|other| !other.matchers.contains(matcher))
    })
}

impl fmt::Display for ResultCoverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always => f.write_str("all clusters get a result"),
            Self::WhileScraped(alternatives) => {
                write!(f, "clusters get a result if they have {}", list_alternatives(alternatives))
            }
            Self::Restricted(alternatives) => {
                write!(
                    f,
                    "only clusters with certain samples of {} get a result",
                    list_alternatives(alternatives)
                )
            }
            Self::OnlyMatching => f.write_str("clusters that do not match get no result"),
            Self::None => f.write_str("no cluster gets a result"),
            Self::Unknown => f.write_str("unknown which clusters get a result"),
        }
    }
}

fn list_alternatives(alternatives: &[Vec<Selector>]) -> String {
    let alternative = |selectors: &Vec<Selector>| {
        selectors.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
    };
    let mut alternatives: Vec<String> = alternatives.iter().map(alternative).collect();
    alternatives.dedup();
    alternatives.join(", or ")
}

/// Possible results of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryAnalysis {
    /// Value type; a risk query must return a vector.
    pub result: ExprType,
    /// Number of series.
    pub series: SeriesCount,
    /// Sample values.
    pub values: SampleValues,
    /// Clusters with a result.
    pub coverage: ResultCoverage,
}

/// Number of series that a query returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeriesCount {
    /// None.
    None,
    /// One or none.
    AtMostOne,
    /// Exactly one.
    ExactlyOne,
    /// One for each combination of the values of these labels.
    OnePer(BTreeSet<String>),
    /// Any number.
    Many,
    /// Unknown.
    Unknown,
}

/// Values that a query returns.
#[derive(Clone, Debug, PartialEq)]
pub enum SampleValues {
    /// Only these values, in ascending order.
    Only(Vec<f64>),
    /// Any value.
    Any,
    /// Unknown.
    Unknown,
}

impl SampleValues {
    /// Known values other than 0 and 1, which are invalid for a risk query.
    #[allow(clippy::float_cmp, reason = "clients compare them like that")]
    pub fn unexpected(&self) -> Vec<f64> {
        match self {
            Self::Only(values) => {
                values.iter().copied().filter(|value| *value != 0.0 && *value != 1.0).collect()
            }
            Self::Any | Self::Unknown => Vec::new(),
        }
    }

    /// Whether the query never returns 1.
    pub fn are_never_one(&self) -> bool {
        matches!(self, Self::Only(values) if values.iter().all(|value| *value == 0.0))
    }
}

/// Determines the possible results of a query.
pub fn analyze(query: &Query) -> QueryAnalysis {
    let result = query.expr().result();
    match evaluate(query.expr()) {
        Ok(AbstractValue::Vector(vector)) => {
            let coverage = coverage(&vector, &query.selectors());
            let series = series(&vector, &coverage);
            QueryAnalysis { result, series, values: values(&vector), coverage }
        }
        Ok(AbstractValue::Number(number)) => QueryAnalysis {
            result,
            series: SeriesCount::None,
            values: number.map_or(SampleValues::Any, |number| SampleValues::Only(vec![number])),
            coverage: ResultCoverage::None,
        },
        Ok(AbstractValue::Text) => QueryAnalysis {
            result,
            series: SeriesCount::None,
            values: SampleValues::Only(Vec::new()),
            coverage: ResultCoverage::None,
        },
        Err(_) => QueryAnalysis {
            result,
            series: SeriesCount::Unknown,
            values: SampleValues::Unknown,
            coverage: ResultCoverage::Unknown,
        },
    }
}

fn series(vector: &AbstractVector, coverage: &ResultCoverage) -> SeriesCount {
    match &vector.bound {
        _ if vector.cases.is_empty() => SeriesCount::None,
        SeriesBound::Many => SeriesCount::Many,
        SeriesBound::OnePer(labels) if !labels.is_empty() => SeriesCount::OnePer(labels.clone()),
        SeriesBound::OnePer(_) if *coverage == ResultCoverage::Always => SeriesCount::ExactlyOne,
        SeriesBound::OnePer(_) => SeriesCount::AtMostOne,
    }
}

fn values(vector: &AbstractVector) -> SampleValues {
    let known: Option<Vec<f64>> = vector.cases.iter().map(|case| case.value).collect();
    known.map_or(SampleValues::Any, |mut values| {
        values.sort_by(f64::total_cmp);
        values.dedup();
        SampleValues::Only(values)
    })
}

impl fmt::Display for QueryAnalysis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { result, series, values, coverage } = self;
        if *result != ExprType::Vector {
            return write!(f, "{result}, which is not a valid result");
        }
        write!(f, "{series} of {values}; {coverage}")
    }
}

impl fmt::Display for SeriesCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("no series"),
            Self::AtMostOne => f.write_str("at most one series"),
            Self::ExactlyOne => f.write_str("one series"),
            Self::OnePer(labels) => {
                let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
                write!(f, "a series for each {}", labels.join(", "))
            }
            Self::Many => f.write_str("any number of series"),
            Self::Unknown => f.write_str("an unknown number of series"),
        }
    }
}

impl fmt::Display for SampleValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Only(values) if values.is_empty() => f.write_str("no value"),
            Self::Only(values) => {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                write!(f, "value {}", values.join(" or "))
            }
            Self::Any => f.write_str("any value"),
            Self::Unknown => f.write_str("unknown value"),
        }
    }
}

/// Matchers with `=` or `!=` and a value that looks like a regular expression, but is compared
/// literally.
pub fn suspicious_matchers(query: &Query) -> Vec<&Matcher> {
    let matchers = query.selectors().into_iter().flat_map(|selector| &selector.matchers);
    matchers.filter(|matcher| is_literal(matcher) && looks_like_regex(&matcher.value)).collect()
}

fn is_literal(matcher: &Matcher) -> bool {
    matches!(matcher.comparison, MatchType::Equal | MatchType::NotEqual)
}

fn looks_like_regex(value: &str) -> bool {
    ["|", ".*", ".+", "[.]", "\\."].iter().any(|sign| value.contains(sign))
}
