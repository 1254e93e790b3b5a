//! What a query says.

use std::fmt;
use std::time::Duration;

use regex::Regex;

/// An expression. Parentheses are gone: the tree says what belongs together.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// Series, by name and labels; over a range of time where `range` says so.
    Selector(Selector),
    /// The negative.
    Negative(Box<Self>),
    /// Two expressions and an operator.
    Binary(Binary),
    /// Many series made one, or fewer.
    Aggregate(Aggregate),
    /// A function.
    Call(Call),
    /// An expression at many points in time.
    Subquery(Subquery),
}

/// What an expression is when it is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// One number, without labels.
    Scalar,
    /// A sample of each of several series, at one time.
    Vector,
    /// Several samples of each of several series.
    Range,
    /// A text.
    Text,
}

/// Which series to read, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// The name of the metric; none where only labels select.
    pub metric: Option<String>,
    /// What the labels have to be: all of these.
    pub matchers: Vec<Matcher>,
    /// The samples of how long a time; none for the latest sample.
    pub range: Option<Duration>,
    /// When.
    pub when: When,
}

/// When to read, relative to the time of the evaluation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct When {
    /// `@`: at this time instead.
    pub at: Option<At>,
    /// `offset`: that much earlier.
    pub earlier: Duration,
    /// `offset -`: that much later.
    pub later: Duration,
}

/// The time of an `@`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// When the evaluated range begins.
    Start,
    /// When the evaluated range ends.
    End,
    /// Milliseconds since 1970.
    Milliseconds(i64),
}

/// What a label has to be.
#[derive(Clone, Debug)]
pub struct Matcher {
    /// The label.
    pub label: String,
    /// How it is compared.
    pub comparison: Comparison,
    /// With what.
    pub value: String,
    /// The value as an anchored expression, where it is compared as one.
    pub(crate) regex: Option<Regex>,
}

impl PartialEq for Matcher {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Matcher {}

/// How a label is compared with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `=~`
    Matches,
    /// `!~`
    DoesNotMatch,
}

impl Matcher {
    /// Whether a series fits whose label has this value; it is empty where the label is missing.
    pub fn fits(&self, value: &str) -> bool {
        let matches = match &self.regex {
            Some(regex) => regex.is_match(value),
            None => self.value == value,
        };
        matches == matches!(self.comparison, Comparison::Equal | Comparison::Matches)
    }

    fn key(&self) -> (&str, Comparison, &str) {
        (&self.label, self.comparison, &self.value)
    }
}

/// Two expressions and what is between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Binary {
    /// What stands before the operator.
    pub left: Box<Expr>,
    /// What stands after it.
    pub right: Box<Expr>,
    /// The operator.
    pub operator: Operator,
    /// Which series of both sides belong together.
    pub matching: Matching,
}

/// An operator between two expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// Calculates.
    Arithmetic(Arithmetic),
    /// Keeps the series for which it is true; with `bool` says 1 or 0 for each.
    Compare {
        /// The comparison.
        relation: Relation,
        /// Whether the result is 1 or 0.
        bool: bool,
    },
    /// Combines sets of series.
    Set(SetOperator),
}

/// An operator that calculates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the operations")]
pub enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
    Atan2,
}

/// An operator that compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the relations")]
pub enum Relation {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// An operator on sets of series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the operators")]
pub enum SetOperator {
    And,
    Or,
    Unless,
}

impl Arithmetic {
    /// The result.
    pub fn apply(self, left: f64, right: f64) -> f64 {
        match self {
            Self::Add => left + right,
            Self::Subtract => left - right,
            Self::Multiply => left * right,
            Self::Divide => left / right,
            Self::Modulo => left % right,
            Self::Power => left.powf(right),
            Self::Atan2 => left.atan2(right),
        }
    }
}

impl Relation {
    /// Whether it is true.
    #[allow(clippy::float_cmp, reason = "that is what the operators of the language do")]
    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
        }
    }
}

/// Some labels, by naming them or all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Labels {
    /// `by` and `on`: these.
    Only(Vec<String>),
    /// `without` and `ignoring`: all but these.
    Except(Vec<String>),
}

/// Which series of the two sides of an operator belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matching {
    /// The labels that have to be the same.
    pub labels: Labels,
    /// How many of one side may belong to one of the other.
    pub grouping: Grouping,
}

/// How many series of one side of an operator may belong to one of the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// One to one; for sets, any number.
    None,
    /// `group_left`: many on the left, which get these labels from the right.
    Left(Vec<String>),
    /// `group_right`: many on the right, which get these labels from the left.
    Right(Vec<String>),
}

/// Series made one for each group.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// What is made of them.
    pub operation: Aggregation,
    /// The number or text that some operations take.
    pub parameter: Option<Box<Expr>>,
    /// The series.
    pub of: Box<Expr>,
    /// The labels that make a group.
    pub by: Labels,
}

/// What an aggregation makes of a group of series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the operations")]
pub enum Aggregation {
    Average,
    BottomK,
    Count,
    CountValues,
    Group,
    Max,
    Min,
    Quantile,
    StandardDeviation,
    StandardVariance,
    Sum,
    TopK,
}

/// A function and its arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its name.
    pub function: String,
    /// What it is given.
    pub arguments: Vec<Expr>,
    /// What it makes of that.
    pub returns: Type,
}

/// An expression at many points in time.
#[derive(Clone, Debug, PartialEq)]
pub struct Subquery {
    /// The expression.
    pub of: Box<Expr>,
    /// How long a time.
    pub range: Duration,
    /// How far apart; none for the default.
    pub step: Option<Duration>,
    /// When.
    pub when: When,
}

impl Expr {
    /// What it is when it is evaluated.
    pub fn result(&self) -> Type {
        match self {
            Self::Number(_) => Type::Scalar,
            Self::Text(_) => Type::Text,
            Self::Selector(Selector { range: Some(_), .. }) | Self::Subquery(_) => Type::Range,
            Self::Selector(_) | Self::Aggregate(_) => Type::Vector,
            Self::Negative(of) => of.result(),
            Self::Call(call) => call.returns,
            Self::Binary(Binary { left, right, .. }) => match (left.result(), right.result()) {
                (Type::Scalar, Type::Scalar) => Type::Scalar,
                _ => Type::Vector,
            },
        }
    }

    /// The expressions it is made of, in the order in which they are written.
    pub fn children(&self) -> Vec<&Self> {
        match self {
            Self::Number(_) | Self::Text(_) | Self::Selector(_) => Vec::new(),
            Self::Negative(of) | Self::Subquery(Subquery { of, .. }) => vec![of],
            Self::Binary(Binary { left, right, .. }) => vec![left, right],
            Self::Aggregate(Aggregate { parameter, of, .. }) => {
                parameter.iter().chain([of]).map(AsRef::as_ref).collect()
            }
            Self::Call(call) => call.arguments.iter().collect(),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Matches => "=~",
            Self::DoesNotMatch => "!~",
        })
    }
}

impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{:?}", self.label, self.comparison, self.value)
    }
}

/// As in a query, without the times.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.metric.as_deref().unwrap_or_default())?;
        if self.matchers.is_empty() {
            return Ok(());
        }
        let matchers: Vec<String> = self.matchers.iter().map(ToString::to_string).collect();
        write!(f, "{{{}}}", matchers.join(","))
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scalar => "a scalar",
            Self::Vector => "a vector",
            Self::Range => "a range vector",
            Self::Text => "a string",
        })
    }
}
