//! The stages of the operator. Data flows in one direction.
//!
//! | stage | input | output |
//! | --- | --- | --- |
//! | [`updates`] | update graph of the update service | candidates for updates of this cluster |
//! | [`preflight`] | requests for preflights | findings of the target release's checks |
//! | [`risks`] | candidates, findings, ClusterOperators, metrics | evaluated risks and updates |
//! | [`target`] | the spec and all of these | the accepted release |
//! | [`rollout`] | the accepted release | progress and failures |
//! | [`status`] | the output of all stages | status of ClusterVersion |
//!
//! A stage owns its state and publishes immutable snapshots. No stage calls another, and only
//! `status` writes the status of ClusterVersion, so a slow stage does not delay the others.
//! Snapshots that depend on the spec have the generation of ClusterVersion that they reflect. Two
//! values flow back as sources of risks: the condition `Progressing`, through the cluster, and the
//! deletions of `rollout`.
//!
//! `release_lookup` finds the release that an update names, for `target` and `preflight`.

pub mod preflight;
pub(crate) mod release_lookup;
pub mod risks;
pub mod rollout;
pub mod status;
pub mod target;
pub mod updates;
