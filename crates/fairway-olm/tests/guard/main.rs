//! The guard in a cluster, whichever stands behind it.

mod installing;
mod reporting;
mod support;
