//! Errors of snapshots.

use std::fmt;

use crate::labels::LabelSet;

/// Reason why a snapshot cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SnapshotError {
    /// Line, counted from one, if known.
    pub line: Option<usize>,
    /// The problem.
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

/// A problem of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotProblem {
    /// The snapshot has too many bytes.
    #[error("the snapshot has {length} bytes; the limit is {limit} bytes")]
    TooLong {
        /// Size of the snapshot.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// The snapshot has too many series.
    #[error("more than {0} series; keep only the series that the queries read")]
    TooManySeries(usize),
    /// The snapshot has too many samples.
    #[error("more than {0} samples; keep only the last hour")]
    TooManySamples(usize),
    /// A series has too many labels.
    #[error("a series has {count} labels; the limit is {limit}")]
    TooManyLabels {
        /// Number of labels.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// A label name or value is too long.
    #[error("the name or value of label {label:?} exceeds {limit} bytes")]
    LongLabel {
        /// Start of the label name.
        label: String,
        /// The limit.
        limit: usize,
    },
    /// Unexpected content.
    #[error("expected {expected}, found {found:?}")]
    Expected {
        /// Expected content.
        expected: &'static str,
        /// Start of the actual content.
        found: String,
    },
    /// A label is repeated.
    #[error("duplicate label {0:?}")]
    LabelTwice(String),
    /// A series has two values at one time.
    #[error("{} has two values at {at} ms", .series.brief())]
    TwoValues {
        /// The series.
        series: LabelSet,
        /// Unix time in milliseconds.
        at: i64,
    },
    /// There is content after `# EOF`.
    #[error("unexpected content after # EOF")]
    AfterEnd,
    /// The JSON is not a Prometheus response.
    #[error("not a Prometheus response: {0}")]
    Json(String),
    /// The response is an error.
    #[error("Prometheus returned the error {0:?}")]
    Failed(String),
    /// Native histograms are not supported.
    #[error("{} has native histograms, which are not supported", .series.brief())]
    Histogram {
        /// The series.
        series: LabelSet,
    },
}
