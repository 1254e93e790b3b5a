//! Real services on this host, for tests and for development: a one-node Kubernetes, an image registry
//! and Prometheus, on loopback addresses only; and a load generator.
//!
//! Every service runs in its own PID and mount namespace (see [`pid_namespace`]). It ends with its
//! owner, also if the owner is killed, and leaves neither a process nor a mount. A detached service, for
//! a developer instead of a test, is found again by its [`state`].

pub mod bench_job;
pub mod cache;
mod cgroup;
mod command;
mod http;
pub mod kube;
mod managed_run;
mod mount_point;
mod packages;
pub mod pid_namespace;
mod port;
pub mod process;
pub mod prometheus;
pub mod registry;
mod run_dir;
pub mod state;
pub mod wait;
pub mod wrk;

pub use command::is_root;
pub use packages::{install_packages, install_yaml_oracle};
pub use run_dir::Lifetime;

#[doc(hidden)]
pub use bench_job as job;

/// Receives the progress of a long step, one line for each call.
pub type Progress<'a> = &'a dyn Fn(&str);
