//! The operator's parts against a Kubernetes API, an update service and clients, and what is
//! deployed of it.

mod alerts;
mod election;
mod endpoint;
mod manifests;
mod permissions;
mod preflight;
mod preflight_jobs;
mod rollout;
mod running;
mod updates;
