//! Errors of an evaluation.

use std::fmt;

use crate::expr::ExprType;
use crate::labels::LabelSet;

use super::number::Number;

/// Reason why an evaluation failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EvaluationError {
    /// The construct is not supported.
    #[error(
        "{0} is not supported for metrics snapshots; query a Prometheus server, or change the \
        query"
    )]
    Unsupported(String),
    /// Several series match on the side where labels must be unique.
    #[error(
        "{} and {} both match {} on the {side} side, where labels must be unique; match on more \
        labels, or aggregate that side",
        .first.brief(), .second.brief(), .group.brief()
    )]
    ManyToMany {
        /// The side.
        side: Side,
        /// The matched labels.
        group: LabelSet,
        /// One of the series.
        first: LabelSet,
        /// The other series.
        second: LabelSet,
    },
    /// Several series of the left side match one of the right side without `group_left`.
    #[error(
        "several series on the left side, such as {}, match one on the right side; use group_left \
        or group_right, or match on more labels",
        .0.brief()
    )]
    ManyToOne(LabelSet),
    /// Two series have the same labels after `group_left` or `group_right`.
    #[error(
        "duplicate result {}; the labels of group_left or group_right make series identical",
        .0.brief()
    )]
    Grouping(LabelSet),
    /// An operation created two series with the same labels.
    #[error("two series become {}; the operation removed the labels that distinguish them", .0.brief())]
    SameLabels(LabelSet),
    /// A string is not a label name.
    #[error("{function} cannot create a label {name:?}")]
    LabelName {
        /// The function.
        function: &'static str,
        /// The string.
        name: String,
    },
    /// A string is not a regular expression.
    #[error("{pattern:?} is not a supported regular expression: {reason}")]
    Regex {
        /// The string.
        pattern: String,
        /// Error of the compiler.
        reason: String,
    },
    /// The parameter of `topk` or `bottomk` is not a count.
    #[error("{} is not a valid number of series", Number(*.0))]
    Count(f64),
    /// An expression has another type than required.
    #[error("expected {expected}, found {found}")]
    Mismatch {
        /// Required type.
        expected: ExprType,
        /// Actual type.
        found: ExprType,
    },
    /// The evaluation exceeds a limit.
    #[error("evaluation aborted: the query {what} more than {limit} {unit}")]
    Budget {
        /// Verb of the message.
        what: &'static str,
        /// Unit of the limit.
        unit: &'static str,
        /// The limit.
        limit: usize,
    },
}

impl EvaluationError {
    pub(super) fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported(what.into())
    }
}

/// A side of a binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Side {
    Left,
    Right,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Left => "left",
            Self::Right => "right",
        })
    }
}
