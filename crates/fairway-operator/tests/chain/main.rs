//! The whole chain: graph-data → update service → operator → ClusterVersion.

mod story;
mod support;
