//! Arguments of `fairway release`.

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
    /// Create a release image
    ///
    /// The image contains the `fairway` binary, the operator's own manifests, the manifests of all
    /// other operators, and the list of their images. The command reports all errors at once, with
    /// file and line, before it creates anything. The same input always gives the same digest.
    ///
    /// The command prints the image with its digest.
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

    /// Show the version, the images and the manifests of a release
    ///
    /// Specify a release by its image in a registry, as `oci:DIR:NAME` in an OCI image layout, or
    /// by a directory with its files.
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

    /// Extract the files of a release
    ///
    /// The directory has the layout of the image: the operator's own manifests in `manifests`, all
    /// others in `release-manifests`. The command does not overwrite files without `--force`. With
    /// `-o json`, it lists the files that it writes; without `--to`, the document contains the
    /// file.
    #[command(after_help = "\
Examples:
  fairway release extract registry.example/team/releases:5.1.0 --to=5.1.0
  fairway release extract oci:releases:5.1.0 --to=5.1.0 -o json | jq -r '.files[].path'
  fairway release extract oci:releases:5.1.0 --file=release-manifests/release-metadata")]
    Extract(ExtractArgs),

    /// Compare two releases
    ///
    /// The output lists images and manifests that are added (`+`), removed (`-`) or changed (`~`),
    /// with their fields. The text truncates long values; JSON and YAML contain them in full.
    #[command(after_help = "\
Examples:
  fairway release diff registry.example/team/releases:5.0.0 registry.example/team/releases:5.1.0
  fairway release diff oci:releases:5.0.0 oci:releases:5.1.0 -o json | jq '.manifests[].name'
  fairway release diff oci:releases:5.1.0 oci:rebuilt:5.1.0 --exit-code")]
    Diff(DiffArgs),

    /// Sign a release
    ///
    /// A signature confirms the content of an image, by its digest. A cluster accepts a release
    /// only with a valid signature for every keyring of the release that it runs. To check this,
    /// run `fairway release verify --from-release`.
    ///
    /// Signatures are in a signature store, which is a directory that any web server can serve, or
    /// in a ConfigMap of the cluster.
    #[command(after_help = "\
Examples:
  fairway release sign registry.example/releases:5.1.0 --key team.asc --store signatures
  fairway release sign oci:releases:5.1.0 --identity registry.example/releases:5.1.0 \\
    --key team.asc --passphrase-file passphrase --store signatures
  fairway release sign registry.example/releases:5.1.0 --key team.asc --config-map \\
    | kubectl apply -f -")]
    Sign(SignArgs),

    /// Verify the signatures of a release
    ///
    /// Every keyring needs a valid signature by one of its keys. Expired signatures, signatures by
    /// revoked keys and signatures of other images are not valid. Signatures that a key made before
    /// it expired stay valid. The exit code is 3 if the release is not verified, and 4 if the
    /// command cannot read a signature store.
    #[command(after_help = "\
Examples:
  fairway release verify registry.example/releases:5.1.0 --keyring team.asc --store signatures
  fairway release verify registry.example/releases:5.1.0 \\
    --from-release registry.example/releases:5.0.1
  fairway release verify oci:releases:5.1.0 --keyring team.asc --keyring partner.asc \\
    --store https://signatures.example/releases -o json")]
    Verify(VerifyArgs),
}
