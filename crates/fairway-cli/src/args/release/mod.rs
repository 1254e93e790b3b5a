//! What can be typed after `fairway release`.

mod info;

use clap::Subcommand;

pub(crate) use info::InfoArgs;

#[derive(clap::Args)]
pub(crate) struct ReleaseArgs {
    #[command(subcommand)]
    pub(crate) command: ReleaseCommand,
}

#[derive(Subcommand)]
pub(crate) enum ReleaseCommand {
    /// Say what a release is: its version, its images, its manifests
    ///
    /// A release is named by its image in a registry, by `oci:DIR:NAME` in an OCI image layout, or
    /// by a directory that has its files.
    #[command(after_help = "\
Examples:
  fairway release info registry.example/team/releases:5.1.0
  fairway release info oci:releases:5.1.0
  fairway release info . -o json | jq -r '.images[]'")]
    Info(InfoArgs),
}
