//! What tests of several crates share.
//!
//! * [`TestCluster`] is a Kubernetes API, whatever is behind it.
//! * [`TestPlatform`] is a platform that is installed there, with the update service it asks.
//! * [`AuditLog`] tells who asked that API for what, [`Requests`] how often the program did.
//! * [`objects`] makes the objects that tests need, [`images`] the images.
//! * [`olm`] has the kinds of OLM.
//! * [`platform`] has the data of a whole platform, real or of the same size.
//! * [`real`] has the payloads of real operators.
//! * [`releases`] makes releases, as directories and as images.
//! * [`story`] is what several of them tell parts of.
//! * [`line`] is a bad line to a server.
//! * [`measure`] compares how long things take, [`wait`] waits for something to become true.
//!
//! Tests that need a cluster carry `#[ignore = "needs a cluster: cargo xtask test"]`; the test
//! command starts what they need and runs them.

mod access;
mod audit;
mod cluster;
pub mod environment;
pub mod gpg;
pub mod images;
mod installed;
pub mod line;
pub mod measure;
mod namespace;
pub mod objects;
pub mod olm;
pub mod platform;
pub mod real;
pub mod releases;
mod requests;
pub mod story;
pub mod wait;

pub use audit::{AuditEvent, AuditLog, AuditMark};
pub use cluster::TestCluster;
pub use installed::{NAMESPACE, TestPlatform, text};
pub use namespace::TestNamespace;
pub use requests::Requests;

pub use fairway_testbed as testbed;
