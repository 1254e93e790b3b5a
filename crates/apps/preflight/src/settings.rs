//! Settings of a run.

use std::path::PathBuf;
use std::time::Duration;

use fairway_api::Version;
use fairway_clock::random_bits;
use fairway_registry::pull;

use crate::engine::CheckSchedule;

/// Default timeout of a check. It is part of the documented contract with authors of checks.
pub const CHECK_TIMEOUT: Duration = Duration::from_mins(5);

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// ID of the run.
    pub run: String,
    /// Image of the target release, by digest.
    pub image: String,
    /// Version of the cluster.
    pub source: Version,
    /// Timeout of a check.
    pub check_timeout: Duration,
    /// Intervals and parallelism of checks.
    pub pace: CheckSchedule,
    /// Settings of the check `images`.
    pub images: ImageSettings,
}

/// Settings of the check `images`.
#[derive(Clone, Debug, Default)]
pub struct ImageSettings {
    /// What is transferred.
    pub depth: ImageDepth,
    /// OCI layout directories that are searched before registries.
    pub layouts: Vec<PathBuf>,
    /// Registry options.
    pub options: pull::PullOptions,
}

/// What the check `images` transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImageDepth {
    /// Manifests, and HEAD requests for layers.
    #[default]
    Head,
    /// Manifests and layers.
    Pull,
}

/// Eight hexadecimal digits that make a name unique.
pub(crate) fn suffix() -> String {
    format!("{:08x}", random_bits() & 0xffff_ffff)
}

/// The ID of a run for which the caller gave none.
pub fn new_run() -> String {
    format!("{:016x}{:016x}", random_bits(), random_bits())
}
