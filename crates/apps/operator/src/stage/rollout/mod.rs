//! The stage `rollout`: the manifests of the target become objects of the cluster, and stay so.
//!
//! `run` follows the target; `work` is one release on its way, in the order of its graph, and
//! `attend` one manifest: it is applied, and waited for. What comes of all that is counted in
//! `progress` and published by the `board`, always as one whole.

mod attend;
mod begin;
mod board;
mod cluster_operator;
pub mod failure;
mod introduce;
mod pace;
mod phase;
mod progress;
mod run;
pub mod waiting;
mod work;

pub use pace::Pace;
pub use run::{Hands, Inputs, run};

use fairway_release::ObjectId;
use jiff::Timestamp;

/// How far the cluster is, as of one look at everything.
#[derive(Clone, Debug, PartialEq)]
pub struct Rollout {
    /// The image of the release that this is about.
    pub image: String,
    /// What is being done.
    pub phase: Phase,
    /// Manifests that are in place.
    pub done: usize,
    /// Manifests that are to be in place; those that are left out do not count.
    pub total: usize,
    /// What stands in the way, and what is only to be told.
    pub failures: Vec<Failure>,
    /// Objects whose deletion was asked for, and that are still there.
    pub deleting: Vec<ObjectId>,
}

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The cluster gets its first release.
    Installing,
    /// The cluster goes from one release to another.
    Updating,
    /// Everything was in place once; it is kept so.
    Reconciling,
}

/// Something that stands in the way of a release, or is only to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What follows from it.
    pub effect: Effect,
    /// A reason of [`fairway_api::reason::rollout`].
    pub reason: &'static str,
    /// What people read.
    pub message: String,
    /// The cluster operator that it is about; such failures are told together.
    pub cluster_operator: Option<String>,
    /// Since when it is so.
    pub since: Timestamp,
}

/// What follows from a failure, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It is told, and nothing waits for it.
    Report,
    /// It is waited for, as was to be expected.
    Wait,
    /// It stands in the way.
    Fail,
}
