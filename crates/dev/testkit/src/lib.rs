//! End-to-end test harness: clusters, platforms and operators for tests.
//!
//! | type | content |
//! | --- | --- |
//! | [`TestCluster`] | a cluster: a new one, or one that tests share |
//! | [`TestOperator`] | a cluster with a running operator, as a process of this host |
//! | [`TestPlatform`] | a cluster with an installed platform and its update service, all in pods |
//!
//! [`TestCluster::shared`] and [`TestCluster::exclusive`] use the cluster that tests share;
//! [`TestCluster::start`] starts a new one. All three types have the same methods: `start`;
//! `client`, a client with all permissions; `wait_until`, which fails after a timeout and names the
//! state of the cluster; and `logs`. Dropping one of them ends its processes and removes its
//! objects.
//!
//! Choose the first row that is enough for the test. Tests of the operator as a library need
//! [`TestCluster`] alone. Tests of a rollout with many faults or large payloads need
//! [`TestOperator`]. Tests of the whole update path, with real images and pods, need
//! [`TestPlatform`].
//!
//! [`AuditLog`] and [`Requests`] have the requests that the API server received. [`FaultyProxy`] is
//! a TCP proxy that closes connections early, and [`ConnectionFlood`] opens many idle ones. Most of [`fairway_fixtures`] is re-exported. Tests
//! that need a cluster carry `#[ignore = "needs a cluster: cargo xtask test"]`; the test
//! command starts what they need and runs them.
//!
//! | module | content |
//! | --- | --- |
//! | `cluster`, `access`, `namespace` | clusters, their clients, a namespace for one test |
//! | `test_operator`, `test_platform` | operators and platforms |
//! | `update_service`, `removal` | update service of a platform, and removal of a platform |
//! | [`cluster_version`] | ClusterVersion, as tests read and change it |
//! | `audit` | the audit log |
//! | [`releases`], [`images`] | releases and images made for a test |
//! | [`real`] | payloads of real OpenShift releases, and stubs for their components |
//! | [`olm`] | CRDs of OLM's kinds |
//! | [`gpg`] | signatures |
//! | `faulty_proxy`, `flood` | the TCP proxy, and floods of connections |
//! | [`wait`] | polling |

mod access;
mod audit;
mod cluster;
pub mod cluster_version;
mod faulty_proxy;
mod flood;
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
pub use flood::ConnectionFlood;
pub use namespace::TestNamespace;
pub use test_operator::{OperatorOptions, TestOperator};
pub use test_platform::{NAMESPACE, TestPlatform, text};

pub use fairway_fixtures::{
    blocked_edges, environment, measure, objects, platform, recorded, skip,
};
pub use fairway_testbed as testbed;
