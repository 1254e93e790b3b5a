//! The applier against an API server: the sandbox or Kubernetes.

mod crds;
mod drift;
mod dry_run;
mod fields;
mod fixture;
mod intents;
mod required;
mod workloads;
