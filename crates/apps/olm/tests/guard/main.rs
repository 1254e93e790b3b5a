//! The guard in a cluster, whichever stands behind it.

mod access;
mod balancer;
mod blindness;
mod contention;
mod installing;
mod reporting;
mod restarts;
mod support;
