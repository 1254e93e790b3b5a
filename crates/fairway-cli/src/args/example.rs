//! What the parts of the example platform are told.

use std::path::PathBuf;

use clap::ValueHint;

/// Which operator it is.
#[derive(clap::Args)]
pub(crate) struct ExampleOperatorArgs {
    /// The component, which is the name of its ClusterOperator
    #[arg(value_name = "COMPONENT")]
    pub(crate) name: String,

    /// The version of the release that it is part of
    #[arg(long, value_name = "VERSION", env = "RELEASE_VERSION")]
    pub(crate) release_version: String,
}

/// Where the platform goes to.
#[derive(clap::Args)]
#[group(required = true, multiple = true)]
pub(crate) struct ExamplePlatformArgs {
    /// Write images, signatures, graph-data and the list of releases into this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,

    /// Push the images to repositories below this one, such as registry.example/platform
    #[arg(long, value_name = "REPOSITORY")]
    pub(crate) push: Option<String>,
}
