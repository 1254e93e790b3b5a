//! Arguments of `fairway release`.

use std::path::PathBuf;

use clap::{ArgGroup, Subcommand, ValueEnum, ValueHint};

pub(crate) use super::release_new::{ImageArgs, MetadataArgs, NewArgs};
use crate::args::registry::AccessArgs;
use crate::args::report::ReportArgs;

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
  fairway release info ./5.1.0 -o json | jq -r '.images[]'
  fairway release info ./5.1.0 --graph=text
  fairway release info ./5.1.0 --graph=svg > graph.svg")]
    Info(InfoArgs),

    /// Check the manifests of a release or of an operator
    ///
    /// The command reports errors that make a release unusable, and warnings about YAML that the
    /// operator accepts but other YAML parsers reject or parse differently: duplicate keys,
    /// unquoted words such as `on`, octal numbers, quoted text that continues without indentation.
    /// Each finding names its file and line.
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
    /// with the changed fields. The text truncates long values; JSON and YAML contain them in full.
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
    /// The command adds the signature to a signature store, which is a directory that any web
    /// server can serve, or prints it as a ConfigMap for the cluster.
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

#[derive(clap::Args)]
pub(crate) struct DiffArgs {
    /// Release: registry.example/releases:5.0.0, oci:DIR:NAME, or a directory with its files
    #[arg(value_name = "FROM")]
    pub(crate) from: String,

    /// Release to compare with
    #[arg(value_name = "TO")]
    pub(crate) to: String,

    /// Exit with 3 if the releases differ
    #[arg(long)]
    pub(crate) exit_code: bool,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) access: AccessArgs,
}

#[derive(clap::Args)]
#[command(group(ArgGroup::new("what").required(true).multiple(true).args(["to", "file"])))]
pub(crate) struct ExtractArgs {
    /// Release: registry.example/releases:5.1.0, oci:DIR:NAME, or a directory with its files
    #[arg(value_name = "IMAGE|DIR")]
    pub(crate) release: String,

    /// Destination directory, with the layout of the image; created if it is missing
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) to: Option<PathBuf>,

    /// Extract only this file, by its path in the image; without `--to`, print it
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<String>,

    /// Overwrite existing files
    #[arg(long, requires = "to")]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) access: AccessArgs,
}

#[derive(clap::Args)]
pub(crate) struct InfoArgs {
    /// Release: registry.example/releases:5.1.0, oci:DIR:NAME, or a directory with its files
    #[arg(value_name = "IMAGE|DIR")]
    pub(crate) release: String,

    /// Print the task graph (the order in which an update applies the manifests)
    ///
    /// The graph contains the manifests for clusters of the default profile with all capabilities.
    /// Steps are applied one after the other; the components of a step are applied in parallel.
    #[arg(long, value_name = "FORMAT", conflicts_with = "output")]
    pub(crate) graph: Option<TaskGraphFormat>,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) access: AccessArgs,
}

/// The format of a task graph.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum TaskGraphFormat {
    /// Steps and their components, as lines
    Text,
    /// Nodes and edges, for Graphviz
    Dot,
    /// SVG, for browsers
    Svg,
}

#[derive(clap::Args)]
pub(crate) struct LintArgs {
    /// Release: an image, oci:DIR:NAME, a directory with its files, or a directory with the
    /// manifests of an operator
    #[arg(value_name = "IMAGE|DIR", default_value = ".")]
    pub(crate) release: String,

    /// Exit with 3 if there are warnings
    #[arg(long)]
    pub(crate) strict: bool,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) access: AccessArgs,
}

#[derive(clap::Args)]
#[command(group(ArgGroup::new("place").required(true).args(["store", "config_map"])))]
pub(crate) struct SignArgs {
    /// Release: registry.example/releases:5.1.0, or oci:DIR:NAME
    #[arg(value_name = "IMAGE")]
    pub(crate) image: String,

    /// OpenPGP secret key: `gpg --armor --export-secret-keys KEY > FILE`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) key: PathBuf,

    /// File with the passphrase of the key on its first line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) passphrase_file: Option<PathBuf>,

    /// Image name in the signature; default: the name of IMAGE
    #[arg(long, value_name = "NAME")]
    pub(crate) identity: Option<String>,

    /// Signature store to add the signature to: a directory with sha256=DIGEST/signature-1 and so
    /// on
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) store: Option<PathBuf>,

    /// Print the signature as a ConfigMap, for clusters without access to a signature store
    #[arg(long)]
    pub(crate) config_map: bool,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) access: AccessArgs,
}

#[derive(clap::Args)]
pub(crate) struct VerifyArgs {
    /// Release: registry.example/releases:5.1.0, or oci:DIR:NAME
    #[arg(value_name = "IMAGE")]
    pub(crate) image: String,

    /// OpenPGP public keys, one of which must have signed the release; repeatable: each keyring
    /// requires a valid signature
    #[arg(long = "keyring", value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "from_release")]
    pub(crate) keyrings: Vec<PathBuf>,

    /// Signature store: a directory or a URL with sha256=DIGEST/signature-1 and so on; repeatable
    #[arg(long = "store", value_name = "DIR|URL", value_hint = ValueHint::AnyPath, required_unless_present = "from_release")]
    pub(crate) stores: Vec<String>,

    /// Use the keyrings and signature stores of another release, like a cluster that runs it
    ///
    /// `--keyring` adds keyrings. `--store` replaces the signature stores of the release.
    #[arg(long, value_name = "IMAGE|DIR")]
    pub(crate) from_release: Option<String>,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) access: AccessArgs,
}
