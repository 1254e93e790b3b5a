//! The guard in a cluster, sandbox or Kubernetes.

mod access;
mod balancer;
mod blindness;
mod contention;
mod installing;
mod reporting;
mod restarts;
mod support;
