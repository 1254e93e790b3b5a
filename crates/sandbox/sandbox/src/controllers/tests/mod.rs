//! Tests of all controllers together.

mod cluster;
mod kubelet;
mod objects;
mod workloads;
