//! What the crate promises as a whole. `fairway-oracles` compares it with Prometheus.

mod evaluate;
mod parse;
mod real_queries;
mod snapshot;
