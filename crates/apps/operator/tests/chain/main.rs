//! The whole chain: graph-data → update service → operator → ClusterVersion.

mod degraded;
mod faults;
mod front;
mod full_data;
mod noted;
mod preflight;
mod pruned;
mod restart;
mod story;
mod support;
mod target;
mod telemetry;
