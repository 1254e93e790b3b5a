//! Parts of the operator against a Kubernetes API, an update service and clients, and its deployment
//! manifests.

mod alerts;
mod election;
mod endpoint;
mod flow_control;
mod manifests;
mod permissions;
mod preflight;
mod preflight_jobs;
mod rollout;
mod running;
mod updates;
