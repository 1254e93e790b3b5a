//! The whole chain: graph-data → update service → operator → ClusterVersion.

mod conditional_updates;
mod fault_proxy;
mod faults;
mod full_data;
mod preflight;
mod query_results;
mod restart;
mod restore;
mod support;
mod target;
mod telemetry;
