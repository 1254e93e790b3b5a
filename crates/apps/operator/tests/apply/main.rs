//! Objects of a release, into a cluster and kept there. The same in the sandbox and on a real
//! Kubernetes.

mod definitions;
mod drift;
mod dry_run;
mod fields;
mod ground;
mod intents;
mod recorded;
mod required;
mod restart;
mod workloads;
