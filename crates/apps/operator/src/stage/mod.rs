//! The stages of the operator. Data flows in one direction.
//!
//! | stage | input | output |
//! | --- | --- | --- |
//! | [`updates`] | update graph of the update service | candidates for updates of this cluster |
//! | [`preflight`] | requests for preflights | findings of the target release's checks |
//! | [`risks`] | candidates, findings, admin gates, ClusterOperators | recommended and conditional updates |
//! | [`target`] | the spec and all of these | the accepted release |
//! | [`rollout`] | the accepted release | progress and failures |
//! | [`status`] | the output of all stages | status of ClusterVersion |
//!
//! A stage owns its state and publishes immutable snapshots. No stage calls another, and only
//! `status` writes the status of ClusterVersion, so a slow stage does not delay the others.

pub(crate) mod release_lookup;
#[doc(hidden)]
pub(crate) use release_lookup as meaning;
pub mod preflight;
pub mod risks;
pub mod rollout;
pub mod status;
pub mod target;
pub mod updates;
