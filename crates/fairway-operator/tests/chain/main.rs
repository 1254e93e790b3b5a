//! The whole chain: graph-data → update service → operator → ClusterVersion.

mod pruned;
mod story;
mod support;
