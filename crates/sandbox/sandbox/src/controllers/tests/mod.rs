//! Tests of all controllers together.

mod cluster;
mod custom;
mod kubelet;
mod objects;
mod workloads;
