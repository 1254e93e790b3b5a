//! The stage `preflight`: what another release says about this cluster.
//!
//! A request with a mode is no update: the release it names is started beside the one that runs, and
//! looks. What it says becomes risks of that update, and three conditions. Nothing of it touches
//! what is rolled out.
//!
//! `request` says what the spec asks for, an `attempt` is what becomes of it, `fetching` gets its
//! release, and `standing` is what of it is in the cluster: `deployment` is how a run looks there, `hands` bring it there and remove it.
//! An `active` run is watched: `diagnosis` tells what stands in its way, `results` are the files that
//! it writes, [`jobs`] are those that it asks for at its `desk`, and its `course` decides whether it
//! goes on. [`dry_run`] asks the API server about the objects of a release, without writing any; a
//! `rehearsal` does that for a run. `memory` is what is kept of all of it (`keeping` has it in the
//! cluster, too); `condition` and `telling` are how people are told.

mod active;
mod attempt;
mod condition;
mod course;
mod deployment;
mod desk;
mod diagnosis;
pub mod dry_run;
mod fetching;
mod hands;
mod inputs;
pub mod jobs;
mod keeping;
pub(crate) mod memory;
mod pull_secret;
mod reader;
mod rehearsal;
mod request;
mod results;
mod run;
mod run_id;
mod standing;
mod surroundings;
mod telling;

pub use hands::Hands;
pub use inputs::{Inputs, Place};
pub use run::run;

use std::collections::BTreeMap;

use fairway_api::OperatorCondition;
use fairway_api::cluster_version::Release;
use fairway_risk::Concern;
use jiff::Timestamp;

/// What preflights say, as of one look at everything.
#[derive(Clone, Debug, PartialEq)]
pub struct Preflight {
    /// The generation of ClusterVersion that it is about.
    pub generation: i64,
    /// `PreflightRunning`, `PreflightCompleted` and `PreflightFailed`.
    pub conditions: [OperatorCondition; 3],
    /// What was found, for the ledger.
    pub concerns: Vec<Concern>,
    /// Releases that were looked at and that the update service does not offer.
    pub not_offered: Vec<Release>,
    /// What is known of each release that was looked at, by its image.
    pub outcomes: BTreeMap<String, Outcome>,
    /// Whether nothing of a preflight is left in the cluster: an update begins after that.
    pub is_clear: bool,
}

/// What is known of a release that was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Whether every check has answered, about the release that runs now, and no answer is overtaken
    /// by what has changed since.
    pub complete: bool,
    /// Since when nobody looks any more, and that grows old; nothing while somebody does.
    pub left: Option<Timestamp>,
    /// Whether it was asked before the update that the spec asks for, and is done with: what it said
    /// on another occasion may be weeks old.
    pub answers: bool,
    /// The names of what was found that counts: whoever accepted all of them may skip a minor version.
    pub findings: Vec<String>,
}
