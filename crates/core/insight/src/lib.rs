//! What an update is doing, and what speaks against one.
//!
//! This crate is pure: a [`Cluster`] is what a cluster said about itself at one moment, live or
//! recorded, and everything else follows from it.
//!
//! * [`Status`] tells how far an update is, how well it goes, and what it waits for.
//! * [`Recommendation`] tells which updates there are, and what speaks against them.
//! * [`FleetReport`] tells where each of many clusters may go, and what stands in the way.
//! * [`Plan`](plan::Plan) tells by which updates a cluster gets where somebody wants it.
//! * [`Explanation`] tells why: of one risk, or of one version.
//!
//! The facts are those that `oc adm upgrade status` and `oc adm upgrade recommend` tell about the
//! same cluster. A report is one type for programs and for people: what is printed is made of what
//! is serialized.

mod age;
pub mod alerts;
mod cluster;
pub mod explain;
pub mod exposure;
pub mod fleet;
#[cfg(test)]
mod hostile;
pub mod objects;
pub mod plan;
pub mod recommend;
mod shell;
pub mod status;

pub use age::Span;
pub use alerts::{Alert, Alerts};
pub use cluster::{Cluster, Moment};
pub use explain::Explanation;
pub use exposure::Exposure;
pub use fleet::FleetReport;
pub use recommend::Recommendation;
pub use shell::Word;
pub use status::Status;
