//! The cluster-version operator: what a cluster may update to, and why not.
//!
//! [`cluster`] is what it sees.

pub mod cluster;
