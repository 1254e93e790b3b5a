//! How large a query may be. The queries of real update graphs are short of every limit by far.

/// The longest of real ones have 1,500 bytes.
pub(crate) const MAX_BYTES: usize = 16 << 10;

/// How deep brackets nest; real ones reach 6. With the operators it bounds the depth of the tree,
/// which is walked recursively, to what a stack of 1 MiB holds without optimisation.
pub(crate) const MAX_DEPTH: usize = 32;

/// A chain of operators makes a tree as deep as it is long; real ones have 15.
pub(crate) const MAX_OPERATORS: usize = 100;

/// Each costs the cluster's Prometheus a search.
pub(crate) const MAX_SELECTORS: usize = 64;

/// Each may hold a compiled regular expression.
pub(crate) const MAX_MATCHERS: usize = 256;

/// A compiled regular expression, in bytes. Lists of a hundred names stay below it.
pub(crate) const MAX_REGEX: usize = 128 << 10;

/// What Prometheus can count in nanoseconds, in milliseconds: 292 years.
pub(crate) const MAX_DURATION: u64 = 9_223_372_036_854;

/// What Prometheus can count in milliseconds, in seconds.
pub(crate) const MAX_POINT: f64 = 9.22e15;
