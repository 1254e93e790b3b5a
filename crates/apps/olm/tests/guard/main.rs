//! The guard in a cluster, sandbox or Kubernetes.

mod access;
mod balancer;
mod blindness;
mod contention;
mod endpoint;
mod installing;
mod reporting;
mod restarts;
mod support;
