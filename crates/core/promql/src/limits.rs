//! Limits of queries. The queries of OpenShift's graph-data are far below all of them.

/// Bytes of a query; the longest one of OpenShift's graph-data has 1,500.
pub(crate) const MAX_BYTES: usize = 16 << 10;

/// Nesting depth of brackets; real queries reach 6. With `MAX_OPERATORS`, it bounds recursion over
/// the tree to a stack of 1 MiB in a build without optimization.
pub(crate) const MAX_DEPTH: usize = 32;

/// Number of operators; real queries have 15. A chain of operators is a tree of the same depth.
pub(crate) const MAX_OPERATORS: usize = 100;

/// Number of selectors; each is a search for Prometheus.
pub(crate) const MAX_SELECTORS: usize = 64;

/// Number of label matchers; each may have a compiled regular expression.
pub(crate) const MAX_MATCHERS: usize = 256;

/// Bytes of a compiled regular expression; lists of a hundred names need less.
pub(crate) const MAX_REGEX_BYTES: usize = 128 << 10;

/// Maximum duration in milliseconds: 292 years, the range of Prometheus' nanoseconds.
pub(crate) const MAX_DURATION_MILLISECONDS: u64 = 9_223_372_036_854;

/// Maximum time in Unix seconds, the range of Prometheus' milliseconds.
pub(crate) const MAX_TIMESTAMP_SECONDS: f64 = 9.22e15;
