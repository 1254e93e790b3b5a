//! The labels of a series.

use std::fmt;
use std::sync::Arc;

use crate::expr::Labels;

/// The label that holds the name of the metric.
pub(crate) const METRIC: &str = "__name__";

/// The labels of a series and their values, in the order of their names. A label without a value
/// is no label. Copies are cheap.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelSet(Arc<[(Arc<str>, Arc<str>)]>);

impl LabelSet {
    /// The value of a label; empty where it is missing.
    pub fn get(&self, name: &str) -> &str {
        let found = self.0.binary_search_by(|(label, _)| (**label).cmp(name));
        found.map_or("", |index| &self.0[index].1)
    }

    /// The name of the metric; empty where a calculation dropped it.
    pub fn metric(&self) -> &str {
        self.get(METRIC)
    }

    /// The labels and their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(label, value)| (&**label, &**value))
    }

    /// The same with one label changed, or without it where the value is empty.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let others = self.0.iter().filter(|(label, _)| **label != *name).cloned();
        others.chain([(name.into(), value.into())]).collect()
    }

    /// The labels that are meant, and no others.
    pub(crate) fn keep(&self, kept: &Labels) -> Self {
        match kept {
            Labels::Only(names) => self.filter(|label| names.iter().any(|name| name == label)),
            Labels::Except(names) => self.filter(|label| names.iter().all(|name| name != label)),
        }
    }

    /// As in a query, as far as it fits into a message.
    pub(crate) fn brief(&self) -> String {
        shortened(&self.to_string())
    }

    /// What a calculation leaves: its result is not the metric any more.
    pub(crate) fn without_metric(&self) -> Self {
        if self.metric().is_empty() { self.clone() } else { self.filter(|label| label != METRIC) }
    }

    fn filter(&self, keeps: impl Fn(&str) -> bool) -> Self {
        self.0.iter().filter(|(label, _)| keeps(label)).cloned().collect()
    }
}

/// The last one counts where a label is given twice.
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

/// As in a query.
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

/// Labels may be as long as their authors liked; a message should not.
pub(crate) fn shortened(text: &str) -> String {
    const MAX_BYTES: usize = 200;
    fairway_text::excerpt(text, MAX_BYTES).into_owned()
}

/// Whether this can be the name of a label in every Prometheus.
pub(crate) fn is_label_name(name: &str) -> bool {
    is_name(name, |character| character == '_')
}

/// Whether this can be the name of a metric in every Prometheus.
pub(crate) fn is_metric_name(name: &str) -> bool {
    is_name(name, |character| matches!(character, '_' | ':'))
}

fn is_name(name: &str, also: impl Fn(char) -> bool) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || also(first))
        && name.chars().all(|character| character.is_ascii_alphanumeric() || also(character))
}
