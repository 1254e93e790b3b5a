//! What is wrong with samples that were read.

use std::fmt;

use crate::labels::LabelSet;

/// Why samples could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SnapshotError {
    /// The line, counted from one, where one is to blame.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: SnapshotProblem,
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.problem),
            None => self.problem.fmt(f),
        }
    }
}

impl SnapshotError {
    pub(super) fn at(line: usize, problem: SnapshotProblem) -> Self {
        Self { line: Some(line), problem }
    }
}

impl From<SnapshotProblem> for SnapshotError {
    fn from(problem: SnapshotProblem) -> Self {
        Self { line: None, problem }
    }
}

/// What can be wrong with samples.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotProblem {
    /// There is more than anybody would evaluate queries over.
    #[error("the snapshot has {length} bytes; the limit is {most} bytes")]
    TooLong {
        /// How much there is.
        length: usize,
        /// How much is read.
        most: usize,
    },
    /// There are too many series.
    #[error("more than {most} series; keep only the series that the queries read")]
    TooManySeries {
        /// How many are read.
        most: usize,
    },
    /// There are too many samples.
    #[error("more than {most} samples; keep only the last hour")]
    TooManySamples {
        /// How many are read.
        most: usize,
    },
    /// A series has too many labels.
    #[error("a series has {count} labels; the limit is {most}")]
    TooManyLabels {
        /// How many it has.
        count: usize,
        /// How many are read.
        most: usize,
    },
    /// A label or its value is too long.
    #[error("the name or value of label {label:?} exceeds {most} bytes")]
    LongLabel {
        /// The beginning of the label.
        label: String,
        /// How many are read.
        most: usize,
    },
    /// Something is not what has to stand there.
    #[error("expected {expected}, found {found:?}")]
    Expected {
        /// What has to stand there.
        expected: &'static str,
        /// The beginning of what stands there.
        found: String,
    },
    /// A label is given twice.
    #[error("duplicate label {label:?}")]
    LabelTwice {
        /// The label.
        label: String,
    },
    /// A series has two values at one time.
    #[error("{} has two values at {at} ms", .series.brief())]
    TwoValues {
        /// The series.
        series: LabelSet,
        /// The time.
        at: i64,
    },
    /// There is something after the end.
    #[error("unexpected content after # EOF")]
    AfterEnd,
    /// It is no JSON, or not the JSON of Prometheus.
    #[error("not a Prometheus response: {reason}")]
    Json {
        /// What the reader says.
        reason: String,
    },
    /// An answer that says what went wrong.
    #[error("the Prometheus response is the error {error:?}")]
    Failed {
        /// The error.
        error: String,
    },
    /// Native histograms are no numbers.
    #[error("{} has native histograms, which are not supported", .series.brief())]
    Histogram {
        /// The series.
        series: LabelSet,
    },
}
