//! The syntax tree of a query.

use std::fmt;
use std::time::Duration;

use regex::Regex;

/// An expression. Parentheses are represented by the structure of the tree.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number literal.
    Number(f64),
    /// A string literal.
    Text(String),
    /// An instant vector selector, or a range vector selector if `range` is set.
    Selector(Selector),
    /// A unary minus.
    Negative(Box<Self>),
    /// A binary operator.
    Binary(BinaryExpr),
    /// An aggregation operator.
    Aggregate(AggregateExpr),
    /// A function call.
    Call(FunctionCall),
    /// A subquery.
    Subquery(SubqueryExpr),
}

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExprType {
    /// A scalar.
    Scalar,
    /// An instant vector.
    Vector,
    /// A range vector.
    Range,
    /// A string.
    Text,
}

/// A vector selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// Metric name, if the selector has one.
    pub metric: Option<String>,
    /// Label matchers; all of them must match.
    pub matchers: Vec<Matcher>,
    /// Range of a range vector selector.
    pub range: Option<Duration>,
    /// Time modifiers.
    pub when: TimeModifiers,
}

/// Offset and `@` modifiers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeModifiers {
    /// `@` modifier: fixed evaluation time.
    pub at: Option<AtTime>,
    /// Positive `offset`.
    pub earlier: Duration,
    /// Negative `offset`.
    pub later: Duration,
}

/// Time of an `@` modifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtTime {
    /// `start()`.
    Start,
    /// `end()`.
    End,
    /// Unix time in milliseconds.
    Milliseconds(i64),
}

/// A label matcher.
#[derive(Clone, Debug)]
pub struct Matcher {
    /// Label name.
    pub label: String,
    /// Match type.
    pub comparison: MatchType,
    /// Value or regular expression.
    pub value: String,
    /// Compiled, anchored regular expression.
    pub(crate) regex: Option<Regex>,
}

impl PartialEq for Matcher {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Matcher {}

/// Type of a label matcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchType {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `=~`
    Regexp,
    /// `!~`
    NotRegexp,
}

impl Matcher {
    /// Whether a label value matches; it is empty if the label is missing.
    pub fn matches(&self, value: &str) -> bool {
        let matches = match &self.regex {
            Some(regex) => regex.is_match(value),
            None => self.value == value,
        };
        matches == matches!(self.comparison, MatchType::Equal | MatchType::Regexp)
    }

    fn key(&self) -> (&str, MatchType, &str) {
        (&self.label, self.comparison, &self.value)
    }
}

/// A binary expression.
#[derive(Clone, Debug, PartialEq)]
pub struct BinaryExpr {
    /// Left operand.
    pub left: Box<Expr>,
    /// Right operand.
    pub right: Box<Expr>,
    /// The operator.
    pub operator: BinaryOperator,
    /// Vector matching.
    pub matching: VectorMatching,
}

/// A binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOperator {
    /// Arithmetic operator.
    Arithmetic(ArithmeticOperator),
    /// Comparison operator. It filters series, or returns 1 or 0 with `bool`.
    Compare {
        /// The comparison.
        relation: ComparisonOperator,
        /// Whether it has the `bool` modifier.
        bool: bool,
    },
    /// Set operator.
    Set(SetOperator),
}

/// An arithmetic operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the operations")]
pub enum ArithmeticOperator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
    Atan2,
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the relations")]
pub enum ComparisonOperator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A set operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the operators")]
pub enum SetOperator {
    And,
    Or,
    Unless,
}

impl ArithmeticOperator {
    /// Computes the result.
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

impl ComparisonOperator {
    /// Whether the comparison holds.
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

/// A label modifier of an aggregation or a vector match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupingLabels {
    /// `by` and `on`: these labels.
    Only(Vec<String>),
    /// `without` and `ignoring`: all other labels.
    Except(Vec<String>),
}

/// Vector matching of a binary operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorMatching {
    /// Labels that must be equal.
    pub labels: GroupingLabels,
    /// Group modifier.
    pub grouping: GroupModifier,
}

/// Group modifier of a vector match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupModifier {
    /// One-to-one; any number for set operators.
    None,
    /// `group_left`: many-to-one, with labels that are copied from the right side.
    Left(Vec<String>),
    /// `group_right`: one-to-many, with labels that are copied from the left side.
    Right(Vec<String>),
}

/// An aggregation.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateExpr {
    /// Aggregation operator.
    pub operation: AggregationOperator,
    /// Parameter of `topk`, `bottomk`, `quantile` or `count_values`.
    pub parameter: Option<Box<Expr>>,
    /// The aggregated expression.
    pub of: Box<Expr>,
    /// Labels of the groups.
    pub by: GroupingLabels,
}

/// An aggregation operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the operations")]
pub enum AggregationOperator {
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

/// A function call.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCall {
    /// Name of the function.
    pub function: String,
    /// Arguments.
    pub arguments: Vec<Expr>,
    /// Type of the result.
    pub returns: ExprType,
}

/// A subquery.
#[derive(Clone, Debug, PartialEq)]
pub struct SubqueryExpr {
    /// The evaluated expression.
    pub of: Box<Expr>,
    /// Range.
    pub range: Duration,
    /// Resolution; `None` for the default.
    pub step: Option<Duration>,
    /// Time modifiers.
    pub when: TimeModifiers,
}

impl Expr {
    /// Type of the expression's value.
    pub fn result(&self) -> ExprType {
        match self {
            Self::Number(_) => ExprType::Scalar,
            Self::Text(_) => ExprType::Text,
            Self::Selector(Selector { range: Some(_), .. }) | Self::Subquery(_) => ExprType::Range,
            Self::Selector(_) | Self::Aggregate(_) => ExprType::Vector,
            Self::Negative(of) => of.result(),
            Self::Call(call) => call.returns,
            Self::Binary(BinaryExpr { left, right, .. }) => match (left.result(), right.result()) {
                (ExprType::Scalar, ExprType::Scalar) => ExprType::Scalar,
                _ => ExprType::Vector,
            },
        }
    }

    /// Subexpressions, in the order of the text.
    pub fn children(&self) -> Vec<&Self> {
        match self {
            Self::Number(_) | Self::Text(_) | Self::Selector(_) => Vec::new(),
            Self::Negative(of) | Self::Subquery(SubqueryExpr { of, .. }) => vec![of],
            Self::Binary(BinaryExpr { left, right, .. }) => vec![left, right],
            Self::Aggregate(AggregateExpr { parameter, of, .. }) => {
                parameter.iter().chain([of]).map(AsRef::as_ref).collect()
            }
            Self::Call(call) => call.arguments.iter().collect(),
        }
    }
}

impl fmt::Display for MatchType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Regexp => "=~",
            Self::NotRegexp => "!~",
        })
    }
}

impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{:?}", self.label, self.comparison, self.value)
    }
}

/// PromQL syntax without range and time modifiers.
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

impl fmt::Display for ExprType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scalar => "a scalar",
            Self::Vector => "a vector",
            Self::Range => "a range vector",
            Self::Text => "a string",
        })
    }
}
