//! Label selectors and their requirements.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use serde_json::Value;

use super::{MAX_LENGTH, MAX_REQUIREMENTS, parser, validate};

/// A parsed label selector. The default selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
}

/// Why a label selector is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelSelectorError {
    /// It is too long.
    #[error("the selector has {length} bytes; the limit is {MAX_LENGTH} bytes")]
    TooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// Unexpected token between requirements.
    #[error("found '{found}', expected: {expected}")]
    Unexpected {
        /// Byte offset of the token.
        position: usize,
        /// The token.
        found: String,
        /// The expected tokens.
        expected: &'static str,
    },
    /// An invalid requirement.
    #[error("unable to parse requirement: {problem}")]
    Requirement {
        /// Byte offset of the invalid part.
        position: usize,
        /// The reason.
        problem: RequirementError,
    },
}

impl LabelSelector {
    /// Parses the string form: `a=b,c in (d,e),!f`.
    pub fn parse(text: &str) -> Result<Self, LabelSelectorError> {
        if text.len() > MAX_LENGTH {
            return Err(LabelSelectorError::TooLong { length: text.len() });
        }
        Ok(Self { requirements: parser::parse(text)? })
    }

    /// Converts the structured form: `matchLabels` and `matchExpressions`.
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

    /// Whether it selects everything.
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

/// A requirement on a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Requirement {
    key: String,
    condition: LabelCondition,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum LabelCondition {
    Exists,
    Absent,
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Greater(i64),
    Less(i64),
}

/// The operator of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Exists,
    Absent,
    In,
    NotIn,
    Greater,
    Less,
}

/// Why a requirement is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequirementError {
    /// Unexpected token.
    #[error("found '{found}', expected: {expected}")]
    Unexpected {
        /// The token.
        found: String,
        /// The expected tokens.
        expected: &'static str,
    },
    /// Invalid label key.
    #[error("invalid label key {key:?}: {problem}")]
    Key {
        /// The key.
        key: String,
        /// The reason.
        problem: String,
    },
    /// Invalid label value.
    #[error("invalid label value: {value:?}: at key: {key:?}: {problem}")]
    Value {
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// The reason.
        problem: String,
    },
    /// `>` and `<` require an integer.
    #[error("for 'Gt', 'Lt' operators, the value must be an integer")]
    NotAnInteger {
        /// The value.
        value: String,
    },
    /// `In` or `NotIn` without values.
    #[error("for 'in', 'notin' operators, values set can't be empty")]
    NoValues,
    /// `Exists` or `DoesNotExist` with values.
    #[error("values set must be empty for exists and does not exist")]
    HasValues,
    /// Unknown operator.
    #[error("{operator:?} is not a valid label selector operator")]
    Operator {
        /// The operator.
        operator: String,
    },
    /// Too many requirements.
    #[error("the selector has more than {} requirements", super::MAX_REQUIREMENTS)]
    TooMany,
}

impl Requirement {
    /// `values` has one element for `>` and `<`, and none for `Exists` and `Absent`.
    pub(super) fn new(
        key: &str,
        operator: Operator,
        values: BTreeSet<String>,
    ) -> Result<Self, RequirementError> {
        check_key(key)?;
        let condition = match operator {
            Operator::Exists => LabelCondition::Exists,
            Operator::Absent => LabelCondition::Absent,
            Operator::In => LabelCondition::In(values),
            Operator::NotIn => LabelCondition::NotIn(values),
            Operator::Greater => LabelCondition::Greater(integer(key, &values)?),
            Operator::Less => LabelCondition::Less(integer(key, &values)?),
        };
        if let LabelCondition::In(values) | LabelCondition::NotIn(values) = &condition {
            if values.is_empty() {
                return Err(RequirementError::NoValues);
            }
            values.iter().try_for_each(|value| check_value(key, value))?;
        }
        Ok(Self { key: key.to_owned(), condition })
    }

    pub(super) fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        let value = label(&self.key);
        match &self.condition {
            LabelCondition::Exists => value.is_some(),
            LabelCondition::Absent => value.is_none(),
            LabelCondition::In(values) => value.is_some_and(|value| values.contains(value)),
            LabelCondition::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            LabelCondition::Greater(than) => as_integer(value).is_some_and(|value| value > *than),
            LabelCondition::Less(than) => as_integer(value).is_some_and(|value| value < *than),
        }
    }
}

pub(super) fn check_key(key: &str) -> Result<(), RequirementError> {
    let error = |problem| RequirementError::Key { key: key.to_owned(), problem };
    validate::label_key(key).map_err(error)
}

fn check_value(key: &str, value: &str) -> Result<(), RequirementError> {
    let (key, of) = (key.to_owned(), value.to_owned());
    validate::label_value(value).map_err(|problem| RequirementError::Value {
        key,
        value: of,
        problem,
    })
}

fn integer(key: &str, values: &BTreeSet<String>) -> Result<i64, RequirementError> {
    let value = values.first().map_or("", String::as_str);
    let not_an_integer = || RequirementError::NotAnInteger { value: value.to_owned() };
    let number = value.parse().map_err(|_| not_an_integer())?;
    // Signed integers are not valid label values.
    check_value(key, value)?;
    Ok(number)
}

fn as_integer(value: Option<&str>) -> Option<i64> {
    value?.parse().ok()
}
