//! The guard in a cluster, whichever stands behind it.

mod access;
mod installing;
mod reporting;
mod support;
