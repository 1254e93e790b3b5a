//! The stage `rollout` against a Kubernetes API.

mod errors;
mod keeping;
mod operators;
mod order;
mod stage;
mod superseding;
