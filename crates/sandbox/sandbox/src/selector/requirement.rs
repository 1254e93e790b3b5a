//! One requirement on the labels of an object.

use std::collections::BTreeSet;

use super::validate;

/// What the value of one label has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Exists,
    Absent,
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Greater(i64),
    Less(i64),
}

/// How a key and its values are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Exists,
    Absent,
    In,
    NotIn,
    Greater,
    Less,
}

/// Why a requirement makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequirementError {
    /// Something stands where it cannot stand.
    #[error("found '{found}', expected: {expected}")]
    Unexpected {
        /// What stands there.
        found: String,
        /// What could stand there.
        expected: &'static str,
    },
    /// The key cannot be that of a label.
    #[error("invalid label key {key:?}: {problem}")]
    Key {
        /// The key.
        key: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The value cannot be that of a label.
    #[error("invalid label value: {value:?}: at key: {key:?}: {problem}")]
    Value {
        /// The key that it is held against.
        key: String,
        /// The value.
        value: String,
        /// What is wrong with it.
        problem: String,
    },
    /// `>` and `<` compare integers.
    #[error("for 'Gt', 'Lt' operators, the value must be an integer")]
    NotAnInteger {
        /// The value.
        value: String,
    },
    /// `In` and `NotIn` without any value.
    #[error("for 'in', 'notin' operators, values set can't be empty")]
    NoValues,
    /// `Exists` and `DoesNotExist` with values.
    #[error("values set must be empty for exists and does not exist")]
    HasValues,
    /// None of `In`, `NotIn`, `Exists` and `DoesNotExist`.
    #[error("{operator:?} is not a valid label selector operator")]
    Operator {
        /// The operator.
        operator: String,
    },
    /// More requirements than a selector may have.
    #[error("the selector has more than {} requirements", super::MAX_REQUIREMENTS)]
    TooMany,
}

impl Requirement {
    /// `values` is one for `>` and `<`, none for `Exists` and `Absent`.
    pub(super) fn new(
        key: &str,
        operator: Operator,
        values: BTreeSet<String>,
    ) -> Result<Self, RequirementError> {
        check_key(key)?;
        let test = match operator {
            Operator::Exists => Test::Exists,
            Operator::Absent => Test::Absent,
            Operator::In => Test::In(values),
            Operator::NotIn => Test::NotIn(values),
            Operator::Greater => Test::Greater(integer(key, &values)?),
            Operator::Less => Test::Less(integer(key, &values)?),
        };
        if let Test::In(values) | Test::NotIn(values) = &test {
            if values.is_empty() {
                return Err(RequirementError::NoValues);
            }
            values.iter().try_for_each(|value| check_value(key, value))?;
        }
        Ok(Self { key: key.to_owned(), test })
    }

    pub(super) fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        let value = label(&self.key);
        match &self.test {
            Test::Exists => value.is_some(),
            Test::Absent => value.is_none(),
            Test::In(values) => value.is_some_and(|value| values.contains(value)),
            Test::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Test::Greater(than) => as_integer(value).is_some_and(|value| value > *than),
            Test::Less(than) => as_integer(value).is_some_and(|value| value < *than),
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
    // A sign makes an integer that no label can have.
    check_value(key, value)?;
    Ok(number)
}

fn as_integer(value: Option<&str>) -> Option<i64> {
    value?.parse().ok()
}
