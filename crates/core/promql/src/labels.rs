//! Labels of a series.

use std::fmt;
use std::sync::Arc;

use crate::expr::GroupingLabels;

/// Label with the metric name.
pub(crate) const METRIC: &str = "__name__";

/// Labels and values of a series, sorted by name. A label with an empty value is missing. Clones
/// share their data.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelSet(Arc<[(Arc<str>, Arc<str>)]>);

impl LabelSet {
    /// Value of a label; empty if it is missing.
    pub fn get(&self, name: &str) -> &str {
        let found = self.0.binary_search_by(|(label, _)| (**label).cmp(name));
        found.map_or("", |index| &self.0[index].1)
    }

    /// Metric name; empty if an operation dropped it.
    pub fn metric(&self) -> &str {
        self.get(METRIC)
    }

    /// Labels and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(label, value)| (&**label, &**value))
    }

    /// Sets a label; an empty value removes it.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let others = self.0.iter().filter(|(label, _)| **label != *name).cloned();
        others.chain([(name.into(), value.into())]).collect()
    }

    /// The labels that a label modifier selects.
    pub(crate) fn keep(&self, kept: &GroupingLabels) -> Self {
        match kept {
            GroupingLabels::Only(names) => {
                self.filter(|label| names.iter().any(|name| name == label))
            }
            GroupingLabels::Except(names) => {
                self.filter(|label| names.iter().all(|name| name != label))
            }
        }
    }

    /// PromQL syntax, truncated for messages.
    pub(crate) fn brief(&self) -> String {
        truncated(&self.to_string())
    }

    /// The labels without the metric name, which operations drop.
    pub(crate) fn without_metric(&self) -> Self {
        if self.metric().is_empty() { self.clone() } else { self.filter(|label| label != METRIC) }
    }

    fn filter(&self, keeps: impl Fn(&str) -> bool) -> Self {
        self.0.iter().filter(|(label, _)| keeps(label)).cloned().collect()
    }
}

/// For a repeated label, the last value wins.
impl FromIterator<(Arc<str>, Arc<str>)> for LabelSet {
    fn from_iter<T: IntoIterator<Item = (Arc<str>, Arc<str>)>>(labels: T) -> Self {
        let labels: std::collections::BTreeMap<_, _> = labels.into_iter().collect();
        Self(labels.into_iter().filter(|(_, value)| !value.is_empty()).collect())
    }
}

impl<const N: usize> From<[(&str, &str); N]> for LabelSet {
    fn from(labels: [(&str, &str); N]) -> Self {
        labels.into_iter().map(|(label, value)| (label.into(), value.into())).collect()
    }
}

/// PromQL syntax.
impl fmt::Display for LabelSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.metric())?;
        let labels = self.iter().filter(|(label, _)| *label != METRIC);
        let labels: Vec<String> =
            labels.map(|(label, value)| format!("{label}={value:?}")).collect();
        if labels.is_empty() && !self.metric().is_empty() {
            return Ok(());
        }
        write!(f, "{{{}}}", labels.join(","))
    }
}

/// Truncates a text for messages.
pub(crate) fn truncated(text: &str) -> String {
    const MAX_BYTES: usize = 200;
    fairway_text::excerpt(text, MAX_BYTES).into_owned()
}

/// Whether all versions of Prometheus accept a label name.
pub(crate) fn is_label_name(name: &str) -> bool {
    is_name(name, |character| character == '_')
}

/// Whether all versions of Prometheus accept a metric name.
pub(crate) fn is_metric_name(name: &str) -> bool {
    is_name(name, |character| matches!(character, '_' | ':'))
}

fn is_name(name: &str, also: impl Fn(char) -> bool) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || also(first))
        && name.chars().all(|character| character.is_ascii_alphanumeric() || also(character))
}
