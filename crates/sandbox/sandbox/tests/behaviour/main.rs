//! Behaviour of a Kubernetes API: every case asserts the same of the sandbox and of a real cluster.
//! [`differences`] lists where the real cluster of the tests is too old.

mod differences;
mod support;

mod access;
mod apply;
mod container_environment;
mod create;
mod custom;
mod delete;
mod discovery;
mod garbage;
mod jobs;
mod leases_and_events;
mod list;
mod logs;
mod malformed_requests;
mod media_types;
mod namespaces;
mod patch;
mod pods;
mod update;
mod watch;
mod webhooks;
mod workloads;
