//! The whole chain: graph-data → update service → operator → ClusterVersion.

mod conditional_updates;
mod faults;
mod front;
mod full_data;
mod noted;
mod preflight;
mod restart;
mod restore;
mod support;
mod target;
mod telemetry;

use conditional_updates as story;
