//! What the crate promises as a whole.

mod changes;
mod draft;
mod inclusion;
mod payload;
mod real;
mod real_payloads;
mod support;
mod task_graph;
