//! Label selectors.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use serde_json::Value;

use super::requirement::{Operator, Requirement, RequirementError};
use super::{MAX_LENGTH, MAX_REQUIREMENTS, parser};

/// What the labels of an object have to be. The default selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
}

/// Why a text is no label selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelSelectorError {
    /// It is longer than any that makes sense.
    #[error("the selector has {length} bytes; the limit is {MAX_LENGTH} bytes")]
    TooLong {
        /// How long it is, in bytes.
        length: usize,
    },
    /// Before or after a requirement stands what cannot stand there.
    #[error("found '{found}', expected: {expected}")]
    Unexpected {
        /// Where, in bytes from the beginning.
        position: usize,
        /// What stands there.
        found: String,
        /// What could stand there.
        expected: &'static str,
    },
    /// A requirement makes no sense.
    #[error("unable to parse requirement: {problem}")]
    Requirement {
        /// Where the part begins that makes none, in bytes from the beginning.
        position: usize,
        /// What is wrong with it.
        problem: RequirementError,
    },
}

impl LabelSelector {
    /// Reads the form of URLs and command lines: `a=b,c in (d,e),!f`.
    pub fn parse(text: &str) -> Result<Self, LabelSelectorError> {
        if text.len() > MAX_LENGTH {
            return Err(LabelSelectorError::TooLong { length: text.len() });
        }
        Ok(Self { requirements: parser::parse(text)? })
    }

    /// Reads the form that objects have: `matchLabels` and `matchExpressions`.
    pub fn from_structured(selector: &meta::LabelSelector) -> Result<Self, RequirementError> {
        let labels = selector.match_labels.iter().flatten();
        let expressions = selector.match_expressions.iter().flatten();
        let requirements: Vec<_> = labels
            .map(|(key, value)| equality(key, value))
            .chain(expressions.map(expression))
            .take(MAX_REQUIREMENTS + 1)
            .collect::<Result<_, _>>()?;
        if requirements.len() > MAX_REQUIREMENTS {
            return Err(RequirementError::TooMany);
        }
        Ok(Self { requirements })
    }

    /// Whether it selects everything because it requires nothing.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether it selects this object, by its `metadata.labels`.
    pub fn matches(&self, object: &Value) -> bool {
        let labels = object.pointer("/metadata/labels");
        let label = |key: &str| labels?.get(key)?.as_str();
        self.requirements.iter().all(|requirement| requirement.matches(label))
    }
}

fn equality(key: &str, value: &str) -> Result<Requirement, RequirementError> {
    Requirement::new(key, Operator::In, BTreeSet::from([value.to_owned()]))
}

fn expression(
    expression: &meta::LabelSelectorRequirement,
) -> Result<Requirement, RequirementError> {
    let values: BTreeSet<String> = expression.values.iter().flatten().cloned().collect();
    let operator = match expression.operator.as_str() {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::Absent,
        other => return Err(RequirementError::Operator { operator: other.to_owned() }),
    };
    if matches!(operator, Operator::Exists | Operator::Absent) && !values.is_empty() {
        return Err(RequirementError::HasValues);
    }
    Requirement::new(&expression.key, operator, values)
}
