//! What of a release counts in a cluster, and where its images may be at hand.

use std::path::PathBuf;

use clap::ValueHint;
use fairway_release::inclusion::DEFAULT_PROFILE;

#[derive(clap::Args)]
pub(crate) struct ContentArgs {
    /// OCI layout directories in which images are looked for before registries are asked
    #[arg(long, value_name = "DIR,…", env = "FAIRWAY_IMAGE_LAYOUTS", value_delimiter = ',', value_hint = ValueHint::DirPath)]
    image_layouts: Vec<PathBuf>,

    /// The profile of the cluster: manifests say for which ones they are
    #[arg(long, value_name = "NAME", env = "CLUSTER_PROFILE", default_value = DEFAULT_PROFILE)]
    cluster_profile: String,

    /// Leave out manifests with the annotation `exclude.release.openshift.io/NAME`
    #[arg(long, value_name = "NAME", env = "EXCLUDE_MANIFESTS")]
    exclude_manifests: Option<String>,
}

/// An environment that names nothing has an empty text.
impl ContentArgs {
    /// The directories with images.
    pub(crate) fn layouts(&self) -> Vec<PathBuf> {
        let is_named = |directory: &&PathBuf| !directory.as_os_str().is_empty();
        self.image_layouts.iter().filter(is_named).cloned().collect()
    }

    /// The profile of the cluster.
    pub(crate) fn profile(&self) -> String {
        self.cluster_profile.clone()
    }

    /// Whose manifests are left out.
    pub(crate) fn exclude(&self) -> Option<String> {
        self.exclude_manifests.clone().filter(|name| !name.is_empty())
    }
}
