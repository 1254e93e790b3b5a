//! The stages of the operator, a one-way street.
//!
//! | stage | from | to |
//! | --- | --- | --- |
//! | [`updates`] | the update service's graph | what the cluster could update to |
//! | [`preflight`] | a request for a release's opinion | what that release says about this cluster |
//! | [`risks`] | both, and what speaks against it | what is recommended for this cluster |
//! | [`target`] | the spec, and all of that | which release the cluster is to have |
//! | [`rollout`] | that | how far the cluster is |
//! | [`status`] | everybody's latest | ClusterVersion's status |
//!
//! A stage owns its state and publishes immutable snapshots. None calls another, and only
//! `status` writes ClusterVersion: nothing slow in one stage can hold up the others.

mod meaning;
pub mod preflight;
pub mod risks;
pub mod rollout;
pub mod status;
pub mod target;
pub mod updates;
