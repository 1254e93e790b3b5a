//! Why a query has no answer.

use std::fmt;

use crate::expr::Type;
use crate::labels::LabelSet;

use super::number::Number;

/// Why an evaluation ended without an answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EvaluationError {
    /// Prometheus may know it; nothing is guessed about it here.
    #[error(
        "{what} is not supported for metrics snapshots; query a Prometheus server, or change the \
        query"
    )]
    Unsupported {
        /// The function or construct.
        what: String,
    },
    /// Several series of the side that has one for each belong together.
    #[error(
        "{} and {} both match {} on the {side} side, where labels must be unique; match on more \
        labels, or aggregate that side",
        .first.brief(), .second.brief(), .group.brief()
    )]
    ManyToMany {
        /// The side.
        side: Side,
        /// The labels in which they agree.
        group: LabelSet,
        /// One of them.
        first: LabelSet,
        /// The other one.
        second: LabelSet,
    },
    /// Several series of the left side belong to one of the right, without `group_left`.
    #[error(
        "several series on the left side, such as {}, match one on the right side; use group_left \
        or group_right, or match on more labels",
        .series.brief()
    )]
    ManyToOne {
        /// The one that was one too many.
        series: LabelSet,
    },
    /// Two series of the side with many become the same.
    #[error(
        "duplicate result {}; the labels of group_left or group_right make series identical",
        .series.brief()
    )]
    Grouping {
        /// The result.
        series: LabelSet,
    },
    /// A function or operator made two series the same.
    #[error("two series become {}; the operation removed the labels that distinguish them", .labels.brief())]
    SameLabels {
        /// What both are.
        labels: LabelSet,
    },
    /// A text is no name of a label.
    #[error("{function} cannot create a label {name:?}")]
    LabelName {
        /// The function.
        function: &'static str,
        /// The text.
        name: String,
    },
    /// A text is no regular expression.
    #[error("{pattern:?} is not a supported regular expression: {reason}")]
    Regex {
        /// The text.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A number of series that is none.
    #[error("{} is not a valid number of series", Number(*.number))]
    Count {
        /// The number.
        number: f64,
    },
    /// A part is not what it has to be.
    #[error("expected {expected}, found {found}")]
    Mismatch {
        /// What is needed.
        expected: Type,
        /// What there is.
        found: Type,
    },
    /// It costs too much.
    #[error("evaluation aborted: the query {what} more than {most} {unit}")]
    Budget {
        /// What it does with them.
        what: &'static str,
        /// Of what it takes too many.
        unit: &'static str,
        /// How many it may take.
        most: usize,
    },
}

impl EvaluationError {
    pub(super) fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into() }
    }
}

/// A side of an operator.
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
