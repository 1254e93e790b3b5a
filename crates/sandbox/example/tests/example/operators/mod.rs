//! The operators of the example platform, on any cluster.

mod in_a_pod;
mod support;
