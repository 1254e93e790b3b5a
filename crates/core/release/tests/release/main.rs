//! Integration tests of the crate.

mod builder;
mod changes;
mod inclusion;
mod payload;
mod real_payloads;
mod support;
mod task_graph;
