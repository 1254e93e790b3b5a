//! What tests with a cluster share. It has all of [`fairway_fixtures`], too.
//!
//! * [`TestCluster`] is a Kubernetes API, whatever is behind it.
//! * [`TestPlatform`] is a platform that is installed there, with the update service it asks.
//! * [`AuditLog`] tells who asked that API for what, [`Requests`] how often the program did.
//! * [`images`] makes the images that tests need.
//! * [`olm`] has the kinds of OLM.
//! * [`real`] has the payloads of real operators.
//! * [`releases`] makes releases, as directories and as images.
//! * [`line`] is a bad line to a server.
//! * [`wait`] waits for something to become true.
//!
//! Tests that need a cluster carry `#[ignore = "needs a cluster: cargo xtask test"]`; the test
//! command starts what they need and runs them.

mod access;
mod audit;
mod cluster;
pub mod gpg;
pub mod images;
mod installed;
pub mod line;
mod namespace;
pub mod olm;
pub mod real;
pub mod releases;
mod requests;
pub mod wait;

pub use audit::{AuditEvent, AuditLog, AuditMark, AuditObject};
pub use cluster::TestCluster;
pub use installed::{NAMESPACE, TestPlatform, text};
pub use namespace::TestNamespace;
pub use requests::Requests;

pub use fairway_fixtures::{environment, measure, objects, platform, recorded, skip, story};
pub use fairway_testbed as testbed;
