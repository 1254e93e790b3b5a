//! What can be typed after `fairway release`.

mod info;
mod new;

use clap::Subcommand;

pub(crate) use info::InfoArgs;
pub(crate) use new::{ImageArgs, MetadataArgs, NewArgs};

#[derive(clap::Args)]
pub(crate) struct ReleaseArgs {
    #[command(subcommand)]
    pub(crate) command: ReleaseCommand,
}

#[derive(Subcommand)]
pub(crate) enum ReleaseCommand {
    /// Make a release image
    ///
    /// It has the program `fairway`, the operator's own manifests, those of all other operators, and
    /// the list of their images. Everything that is wrong with them is said at once, each with its
    /// file and line, and nothing is made then. The same input always gives the same digest.
    ///
    /// What is printed is how the image is called by its digest.
    #[command(after_help = "\
Examples:
  fairway release new --version=5.1.0 --previous=5.0.0,5.0.1 --channels=fast-5.1,stable-5.1 \\
    --manifests=network/manifests --manifests=storage/manifests \\
    --image=network=registry.example/network@sha256:… --image=storage=registry.example/storage@sha256:… \\
    --to-image=registry.example/team/releases --pull-secret=config.json
  fairway release new --version=5.1.0 --manifests=network/manifests --to=releases
  fairway release new --version=5.1.0 --from=registry.example/fairway:1.0 --to=releases:latest")]
    New(Box<NewArgs>),

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
