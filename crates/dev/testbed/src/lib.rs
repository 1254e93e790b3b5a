//! Real services on this host, for tests and for development: a one-node Kubernetes, an image
//! registry and Prometheus, on loopback addresses only; and a load generator.
//!
//! Every service runs in its own PID and mount namespace ([`pid_namespace`]). It ends with its
//! owner, also if the owner is killed, and leaves neither a process nor a mount. The next start
//! removes the run directory and the empty cgroups of a killed owner. A detached service, for a
//! developer instead of a test, is found again by its [`state`].
//!
//! [`Cluster`](kube::Cluster) builds Kubernetes once, from Debian's source package, and keeps the
//! binaries in the [`cache`] (`$FAIRWAY_CACHE`, by default `~/.cache/fairway`). Several clusters
//! can run at the same time, each in its own range of loopback addresses.
//!
//! | module | content |
//! | --- | --- |
//! | [`kube`] | Kubernetes: build, control plane, node |
//! | [`registry`], [`prometheus`], [`wrk`] | Debian's registry, Prometheus and load generator |
//! | `packages` | Debian packages of the components |
//! | [`pid_namespace`], `mount_point` | namespaces of components, and their mount points |
//! | `cgroup` | cgroups of the pods of a cluster |
//! | [`cache`] | builds and run directories outside of the checkout |
//! | `run_dir`, `managed_run` | run directories, and the life of a service in one |
//! | [`state`] | state file of a detached service |
//! | [`process`], [`bench_job`] | processes by PID and start time, and their memory and CPU time |
//! | `command`, `http`, `port`, [`wait`] | commands, readiness requests, free ports, polling |

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

/// Receives the progress of a long step, one line for each call.
pub type Progress<'a> = &'a dyn Fn(&str);
