//! The stages of the operator, a one-way street.
//!
//! | stage | from | to |
//! | --- | --- | --- |
//! | [`updates`] | the update service's graph | what the cluster could update to |
//! | [`risks`] | that, and what speaks against it | what is recommended for this cluster |
//! | [`status`] | everybody's latest | ClusterVersion's status |
//!
//! A stage owns its state and publishes immutable snapshots. None calls another, and only
//! `status` writes ClusterVersion: nothing slow in one stage can hold up the others.

pub mod risks;
pub mod status;
pub mod updates;
