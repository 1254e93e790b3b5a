//! End-to-end test harness: clusters, platforms and operators for tests.
//!
//! | type | what it is | start it with |
//! | --- | --- | --- |
//! | [`TestCluster`] | a cluster | [`TestCluster::start`], [`shared`](TestCluster::shared), [`exclusive`](TestCluster::exclusive) |
//! | [`TestOperator`] | a cluster with a running operator, as a process of this host | [`TestOperator::start`] |
//! | [`TestPlatform`] | a cluster with an installed platform and its update service; everything runs in pods | [`TestPlatform::start`] |
//!
//! All three have the same verbs: `start`; `client`, a client with all permissions; `wait_until`, which
//! fails after a timeout and names the state of the cluster; and `logs`. Dropping one of them ends its
//! processes and removes its objects.
//!
//! Choose the first row that is enough for the test. Tests of the operator as a library need
//! [`TestCluster`] alone. Tests of a rollout with many faults or large payloads need [`TestOperator`].
//! Tests of the whole update path, with real images and pods, need [`TestPlatform`].
//!
//! The other modules have the parts of a scenario:
//!
//! * [`AuditLog`] and [`Requests`] — the requests that the API server received.
//! * [`cluster_version`] — the status and the requests of ClusterVersion.
//! * [`releases`] and [`images`] — releases and images made for a test.
//! * [`real`] — payloads of real OpenShift releases, and stubs for their components.
//! * [`olm`] — OLM's kinds.
//! * [`gpg`] — signatures.
//! * [`FaultyProxy`] — a TCP proxy that closes connections early.
//! * [`wait`] — polling.
//!
//! All of [`fairway_fixtures`] is re-exported. Tests that need a cluster carry
//! `#[ignore = "needs a cluster: cargo xtask test"]`; the test command starts what they need and runs
//! them.

mod access;
mod audit;
mod cluster;
pub mod cluster_version;
mod faulty_proxy;
pub mod gpg;
pub mod images;
mod namespace;
pub mod olm;
pub mod real;
pub mod releases;
mod removal;
mod test_operator;
mod test_platform;
mod update_service;
pub mod wait;

pub use audit::{AuditEvent, AuditLog, AuditMark, AuditObject, Requests};
pub use cluster::TestCluster;
pub use faulty_proxy::FaultyProxy;
pub use namespace::TestNamespace;
pub use test_operator::{OperatorOptions, TestOperator};
pub use test_platform::{NAMESPACE, TestPlatform, text};

pub use fairway_fixtures::{
    blocked_edges, environment, measure, objects, platform, recorded, skip,
};
pub use fairway_testbed as testbed;

#[doc(hidden)]
pub use fairway_fixtures::blocked_edges as story;

#[doc(hidden)]
pub mod line {
    //! Former path of [`FaultyProxy`](crate::FaultyProxy).
    pub use crate::FaultyProxy as Line;
}
