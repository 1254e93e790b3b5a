//! The stage `target`: decides which release the cluster gets.
//!
//! `run` has the update policy: resolve the desired release, retrieve and verify it, check
//! preconditions and risks, accept it. Until then the accepted release stays the target.
//!
//! `desired_release` resolves the spec, `preconditions` and `gate` decide whether an update may
//! start, `wait` limits waiting for preflights, `accepted_risks` records what is overridden,
//! `selection` filters manifests, and `decision` has the conditions and events.

mod accepted;
mod accepted_risks;
mod decision;
mod desired_release;
mod gate;
mod inputs;
mod preconditions;
mod run;
pub(in crate::stage) mod selection;
mod wait;

pub(crate) use inputs::Inputs;
pub(crate) use run::run;

use std::collections::BTreeSet;
use std::sync::Arc;

use fairway_api::OperatorCondition;
use fairway_release::inclusion::Filter;

use crate::payload::Payload;

/// The accepted release and the decision about the desired one.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Generation of ClusterVersion that the decision is about.
    pub generation: i64,
    /// The accepted release: the operator rolls it out and reconciles it.
    pub payload: Arc<Payload>,
    /// Whether the release is read. An operator that starts during an update knows the release from
    /// the history before it has the manifests, and rolls out nothing until then.
    pub is_read: bool,
    /// Whether its signature was verified.
    pub verified: bool,
    /// What was overridden to accept it, for the history.
    pub accepted_risks: Option<String>,
    /// Filter of the manifests to apply, with the current feature gates, capabilities and overrides.
    pub filter: Filter,
    /// Capabilities of the cluster.
    pub capabilities: Capabilities,
    /// The condition `ReleaseAccepted`, about the desired release.
    pub release_accepted: OperatorCondition,
}

/// Capabilities of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Known capabilities.
    pub known: BTreeSet<String>,
    /// Enabled capabilities.
    pub enabled: BTreeSet<String>,
    /// Enabled capabilities that the spec does not request.
    pub implicit: BTreeSet<String>,
}
