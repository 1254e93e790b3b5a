//! The whole chain: graph-data → update service → operator → ClusterVersion.

mod pruned;
mod faults;
mod front;
mod full_data;
mod restart;
mod story;
mod support;
mod telemetry;
