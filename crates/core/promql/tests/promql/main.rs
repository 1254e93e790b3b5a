//! Integration tests of the crate. `fairway-oracles` compares it with Prometheus.

mod evaluate;
mod openshift;
mod parse;
mod snapshot;
