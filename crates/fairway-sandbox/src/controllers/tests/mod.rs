//! All controllers together.

mod cluster;
mod kubelet;
mod objects;
mod workloads;
