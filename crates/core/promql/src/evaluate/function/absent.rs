//! `absent` and `absent_over_time`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::expr::{Comparison, Expr, Selector};
use crate::labels::{LabelSet, METRIC};

use super::super::value::Element;
use super::super::{Evaluation, EvaluationError};

impl Evaluation<'_> {
    pub(super) fn absent(&mut self, of: &Expr) -> Result<Vec<Element>, EvaluationError> {
        let found = self.vector(of)?;
        Ok(if found.is_empty() { vec![absence(of)] } else { Vec::new() })
    }

    pub(super) fn absent_over_time(&mut self, of: &Expr) -> Result<Vec<Element>, EvaluationError> {
        let found = self.windows(of)?.series;
        Ok(if found.is_empty() { vec![absence(of)] } else { Vec::new() })
    }
}

fn absence(of: &Expr) -> Element {
    let labels = match of {
        Expr::Selector(selector) => wanted(selector),
        _ => LabelSet::default(),
    };
    Element { labels, value: 1.0 }
}

/// The labels that a series would have had to have, where they are certain.
fn wanted(selector: &Selector) -> LabelSet {
    let mut labels: BTreeMap<&str, &str> = BTreeMap::new();
    let matchers = selector.matchers.iter().filter(|matcher| matcher.label != METRIC);
    let mut seen = Vec::new();
    for matcher in matchers {
        let label = matcher.label.as_str();
        if matcher.comparison == Comparison::Equal && !seen.contains(&label) {
            labels.insert(label, &matcher.value);
            seen.push(label);
        } else {
            labels.remove(label);
        }
    }
    let shared = |text: &str| -> Arc<str> { text.into() };
    labels.into_iter().map(|(label, value)| (shared(label), shared(value))).collect()
}
