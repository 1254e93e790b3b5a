//! Selection of the manifests of a release, and sources of its images.

use std::path::PathBuf;

use clap::ValueHint;
use fairway_release::inclusion::DEFAULT_PROFILE;

#[derive(clap::Args)]
pub(crate) struct ContentArgs {
    /// OCI image layouts to search for images before registries
    #[arg(long, value_name = "DIR,…", env = "FAIRWAY_IMAGE_LAYOUTS", value_delimiter = ',', value_hint = ValueHint::DirPath)]
    image_layouts: Vec<PathBuf>,

    /// Cluster profile; selects the manifests of the release
    #[arg(long, value_name = "NAME", env = "CLUSTER_PROFILE", default_value = DEFAULT_PROFILE)]
    cluster_profile: String,

    /// Skip manifests with the annotation `exclude.release.openshift.io/NAME`
    #[arg(long, value_name = "NAME", env = "EXCLUDE_MANIFESTS")]
    exclude_manifests: Option<String>,
}

/// Accessors. An unset value in the environment is an empty string.
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

    /// The name in the annotation of skipped manifests.
    pub(crate) fn exclude(&self) -> Option<String> {
        self.exclude_manifests.clone().filter(|name| !name.is_empty())
    }
}
