//! What can be typed after `fairway release`.

mod diff;
mod extract;
mod info;
mod lint;
mod new;
mod sign;
mod verify;

use clap::Subcommand;

pub(crate) use diff::DiffArgs;
pub(crate) use extract::ExtractArgs;
pub(crate) use info::{InfoArgs, TaskGraphFormat};
pub(crate) use lint::LintArgs;
pub(crate) use new::{ImageArgs, MetadataArgs, NewArgs};
pub(crate) use sign::SignArgs;
pub(crate) use verify::VerifyArgs;

#[derive(clap::Args)]
pub(crate) struct ReleaseArgs {
    #[command(subcommand)]
    pub(crate) command: ReleaseCommand,
}

#[derive(Subcommand)]
pub(crate) enum ReleaseCommand {
    /// Make a release image
    ///
    /// The image has the `fairway` binary, the operator's own manifests, the manifests of all other
    /// operators, and the list of their images. The command reports all errors at once, with file
    /// and line, before it makes anything. The same input always gives the same digest.
    ///
    /// The command prints the image by its digest.
    #[command(after_help = "\
Examples:
  fairway release new --version=5.1.0 --previous=5.0.0,5.0.1 --channels=fast-5.1,stable-5.1 \\
    --manifests=network/manifests --manifests=storage/manifests \\
    --image=network=registry.example/network@sha256:… --image=storage=registry.example/storage@sha256:… \\
    --to-image=registry.example/team/releases --pull-secret=config.json
  fairway release new --version=5.1.0 --manifests=network/manifests --to=releases
  fairway release new --version=5.1.0 --operators=operators --images-from=images.txt \\
    --component-version=kubernetes=1.34.2 --to=releases
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
  fairway release info 5.1.0 -o json | jq -r '.images[]'
  fairway release info 5.1.0 --graph=text
  fairway release info 5.1.0 --graph=svg > graph.svg")]
    Info(InfoArgs),

    /// Check the manifests of a release or of an operator
    ///
    /// Reports errors that make a release unusable, and warnings about YAML that the operator
    /// accepts but other readers refuse or read differently: duplicate keys, unquoted words such as
    /// `on`, octal numbers, quoted text that continues without indentation. Each finding names its
    /// file and line.
    ///
    /// The exit code is 3 if there are errors. With `--strict` it is 3 for warnings as well.
    #[command(after_help = "\
Examples:
  fairway release lint registry.example/team/releases:5.1.0
  fairway release lint network/manifests --strict
  fairway release lint oci:releases:5.1.0 -o json | jq -r '.findings[].file' | sort | uniq -c")]
    Lint(LintArgs),

    /// Write the files of a release
    ///
    /// They lie below the directory as in the image: the operator's own in `manifests`, all others
    /// in `release-manifests`. Nothing that is there is replaced, unless `--force` says so. With
    /// `-o json`, what was written is told, or, without `--to`, the file is part of the document.
    #[command(after_help = "\
Examples:
  fairway release extract registry.example/team/releases:5.1.0 --to=5.1.0
  fairway release extract oci:releases:5.1.0 --to=5.1.0 -o json | jq -r '.files[].path'
  fairway release extract oci:releases:5.1.0 --file=release-manifests/release-metadata")]
    Extract(ExtractArgs),

    /// Show what changes between two releases
    ///
    /// Images and manifests that are new (`+`), gone (`-`) or different (`~`), with their fields.
    /// Long values are cut in the text; JSON and YAML have all of them.
    #[command(after_help = "\
Examples:
  fairway release diff registry.example/team/releases:5.0.0 registry.example/team/releases:5.1.0
  fairway release diff oci:releases:5.0.0 oci:releases:5.1.0 -o json | jq '.manifests[].name'
  fairway release diff oci:releases:5.1.0 oci:rebuilt:5.1.0 --exit-code")]
    Diff(DiffArgs),

    /// Sign a release, so that clusters take it
    ///
    /// A signature says that whoever has the key stands for the content of an image, by its digest.
    /// A cluster takes a release only if it is signed for every keyring of the release that it runs;
    /// `fairway release verify --from-release` shows what it would say.
    ///
    /// Signatures are found in a store, which is a directory that any web server can serve, or in
    /// the cluster, in a ConfigMap.
    #[command(after_help = "\
Examples:
  fairway release sign registry.example/releases:5.1.0 --key team.asc --store signatures
  fairway release sign oci:releases:5.1.0 --identity registry.example/releases:5.1.0 \\
    --key team.asc --passphrase-file passphrase --store signatures
  fairway release sign registry.example/releases:5.1.0 --key team.asc --config-map \\
    | kubectl apply -f -")]
    Sign(SignArgs),

    /// Say whether a release is signed by those who have to
    ///
    /// Every keyring has to be satisfied: one signature by any of its keys is enough. Expired
    /// signatures, signatures by revoked keys and signatures of other images do not count. A key
    /// that has expired counts for what it signed before. The command exits with 3 if the release
    /// is not verified, and with 4 if it cannot read a signature store.
    #[command(after_help = "\
Examples:
  fairway release verify registry.example/releases:5.1.0 --keyring team.asc --store signatures
  fairway release verify registry.example/releases:5.1.0 \\
    --from-release registry.example/releases:5.0.1
  fairway release verify oci:releases:5.1.0 --keyring team.asc --keyring partner.asc \\
    --store https://signatures.example/releases -o json")]
    Verify(VerifyArgs),
}
