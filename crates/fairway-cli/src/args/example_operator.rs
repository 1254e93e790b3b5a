//! What an operator of the example platform is told.

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
