//! The stage `target`: decides which release the cluster gets.
//!
//! The stage resolves the desired release, retrieves and verifies it, checks preconditions and
//! risks, and accepts it. Until then the accepted release stays the target.
//!
//! | module | content |
//! | --- | --- |
//! | `run`, `inputs` | the update policy, and its inputs |
//! | `desired_release` | the release that `spec.desiredUpdate` requests |
//! | `preconditions` | preconditions that only `force` waives |
//! | `gate` | the risk gate |
//! | `wait` | waits for preflight results and for the removal of a preflight |
//! | `accepted` | the accepted release |
//! | `accepted_risks` | overridden risks, for the history |
//! | `selection` | selection of manifests: features, capabilities, overrides |
//! | `decision` | the condition `ReleaseAccepted` and its events |

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
use fairway_release::inclusion::ManifestFilter;

use crate::payload::Payload;

/// The accepted release and the decision about the desired one.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Generation of ClusterVersion that the decision is about.
    pub generation: i64,
    /// The accepted release: the operator rolls it out and reconciles it.
    pub payload: Arc<Payload>,
    /// Whether the manifests of the release are loaded. An operator that starts during an update
    /// knows the release from the history before it has the manifests. It rolls out nothing until
    /// then.
    pub is_read: bool,
    /// Whether its signature was verified.
    pub verified: bool,
    /// What was overridden to accept it, for the history.
    pub accepted_risks: Option<String>,
    /// Filter of the manifests to apply, with the current feature gates, capabilities and overrides.
    pub filter: ManifestFilter,
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
