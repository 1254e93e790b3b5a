//! The stage `target`: which release the cluster is to have.
//!
//! It resolves what the spec asks for, verifies and reads it, and asks the gates. Until a release
//! is accepted, the one before stays the target.
//!
//! `resolve` says which release the spec means; `guards` and `gate` say whether an update to it may
//! begin, `patience` what it waits for before that, `accepted_risks` what it was begun in spite of; `selection` says what of it the cluster
//! gets; `condition` and `events` are how people are told.

mod accepted;
mod accepted_risks;
mod condition;
mod events;
mod gate;
mod guards;
mod inputs;
mod patience;
mod resolve;
mod run;
pub(in crate::stage) mod selection;

pub(crate) use inputs::Inputs;
pub(crate) use run::{Settings, run};

use std::collections::BTreeSet;
use std::sync::Arc;

use fairway_api::OperatorCondition;
use fairway_release::inclusion::Filter;

use crate::payload::Payload;

/// Which release the cluster is to have, as of one look at everything.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The generation of ClusterVersion that was decided upon.
    pub generation: i64,
    /// The release that was accepted last: it is rolled out, and kept.
    pub payload: Arc<Payload>,
    /// Whether it was read. An operator that is started in the middle of an update knows which
    /// release it is before it has its manifests, and until then rolls out nothing.
    pub is_read: bool,
    /// Whether its signature was verified.
    pub verified: bool,
    /// What was overridden so that it could be accepted, as `history` shows it.
    pub accepted_risks: Option<String>,
    /// What of its manifests is applied, with the gates, capabilities and overrides of now.
    pub filter: Filter,
    /// The capabilities of the cluster.
    pub capabilities: Capabilities,
    /// The condition `ReleaseAccepted`: about the release that the spec asks for.
    pub release_accepted: OperatorCondition,
}

/// The capabilities of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Those that there are.
    pub known: BTreeSet<String>,
    /// Those that are on.
    pub enabled: BTreeSet<String>,
    /// Those that are on although the spec does not ask for them.
    pub implicit: BTreeSet<String>,
}
