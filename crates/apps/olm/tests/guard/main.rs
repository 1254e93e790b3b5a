//! The guard in a cluster, sandbox or Kubernetes.

mod access;
mod balancer;
mod contention;
mod endpoint;
mod installing;
mod reporting;
mod restarts;
mod stale_watches;
mod support;
