//! The volumes of a pod.

mod host;
mod place;
mod plan;
mod write;

pub(crate) use host::place_host_path;
pub(crate) use place::mount;
pub(crate) use plan::{Planner, TokenSource, VolumePlan, plan};
pub(crate) use write::write_files;
