//! The operator's parts with real sockets.

mod updates;
//! The operator against a Kubernetes API.
mod election;
mod endpoint;
