//! The stage `rollout` against a Kubernetes API.

mod errors;
mod keeping;
mod operators;
mod order;
mod real_manifests;
mod stage;
mod superseding;
mod workloads;
