//! Integration tests of the crate.

mod analysis;
mod blocked_edges;
mod cincinnati;
mod cincinnati_fixtures;
mod declared_releases;
mod example_4_7_4;
mod invalid_graph_data;
mod lint;
mod openshift;
mod properties;
mod render;
mod support;
