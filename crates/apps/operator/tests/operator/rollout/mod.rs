//! The stage `rollout` against a Kubernetes API.

mod drift;
mod errors;
mod operators;
mod order;
mod real_manifests;
mod stage;
mod superseding;
mod workloads;
