//! Real components on this machine, for tests and for development: a one-node Kubernetes, an
//! image registry and Prometheus, on loopback addresses only; and a load generator.
//!
//! Whatever is started here runs in a cell (see [`cell`]): it ends with its owner, however the
//! owner ends, and leaves neither a process nor a mount. What is started detached, for a developer
//! rather than a test, is found again by its [`state`].

mod berth;
pub mod cache;
pub mod cell;
mod cgroup;
mod command;
mod http;
pub mod job;
pub mod kube;
mod mount_point;
mod packages;
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

/// Where a long step tells its reader what it is doing: one line a call.
pub type Progress<'a> = &'a dyn Fn(&str);
