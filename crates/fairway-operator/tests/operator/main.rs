//! The operator's parts with real sockets.

mod updates;
//! The operator against a Kubernetes API.
//! The operator against a Kubernetes API, and what is deployed of it.
mod alerts;
mod election;
mod endpoint;
mod manifests;
mod permissions;
mod running;
