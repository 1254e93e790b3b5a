//! The whole chain: graph-data → update service → operator → ClusterVersion.

mod conditional_updates;
mod faults;
mod front;
mod full_data;
mod preflight;
mod query_results;
mod restart;
mod restore;
mod support;
mod target;
mod telemetry;
