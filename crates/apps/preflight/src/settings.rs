//! What whoever starts a preflight decides.

use std::path::PathBuf;
use std::time::Duration;

use fairway_api::Version;
use fairway_registry::pull;

use crate::engine::Pace;

/// How long a check may take if nobody says more or less: what authors of checks are told.
pub const CHECK_TIMEOUT: Duration = Duration::from_mins(5);

/// What the release is told about the run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The identity of the run.
    pub run: String,
    /// The image of the release, by digest.
    pub image: String,
    /// The version of the cluster.
    pub source: Version,
    /// How long a check may take.
    pub check_timeout: Duration,
    /// How often checks run, and how many at once.
    pub pace: Pace,
    /// How the images of the release are looked at.
    pub images: ImageSettings,
}

/// How the images of the release are looked at.
#[derive(Clone, Debug, Default)]
pub struct ImageSettings {
    /// How closely.
    pub depth: ImageDepth,
    /// OCI layout directories in which they are looked for before registries are asked.
    pub layouts: Vec<PathBuf>,
    /// How registries are spoken to.
    pub options: pull::Options,
}

/// How closely images are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImageDepth {
    /// Their manifests are fetched and verified, their layers are asked for.
    #[default]
    Head,
    /// They are downloaded and verified whole.
    Pull,
}
