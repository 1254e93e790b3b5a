//! Where releases and graph-data come from when they are images, and how registries are spoken to.

use std::path::PathBuf;

use clap::ValueHint;

/// Where releases come from: one of these.
#[derive(clap::Args)]
#[group(multiple = false)]
pub(crate) struct ReleasesArgs {
    /// What releases say about themselves: a JSON list with `image`, `arch` and `release-metadata`
    /// of each
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) releases: Option<PathBuf>,

    /// A repository with release images, such as registry.example/team/releases
    #[arg(long, value_name = "REPOSITORY")]
    pub(crate) registry: Option<String>,

    /// An OCI image layout with release images
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) oci_layout: Option<PathBuf>,
}

/// Graph-data from an image.
#[derive(clap::Args)]
pub(crate) struct GraphDataImageArgs {
    /// An image with graph-data in place of `--graph-data`: registry.example/graph-data:latest, or
    /// oci:DIR:NAME in an OCI image layout
    ///
    /// The image has graph-data in /var/lib/cincinnati-graph-data, or at the top.
    #[arg(
        id = "graph_data_image",
        long = "graph-data-image",
        value_name = "IMAGE",
        conflicts_with = "graph_data"
    )]
    pub(crate) image: Option<String>,

    /// Take the image only if one of these keys has signed it: OpenPGP public keys
    #[arg(
        id = "graph_data_keyring",
        long = "graph-data-keyring",
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        requires = "graph_data_image",
        requires = "graph_data_signatures"
    )]
    pub(crate) keyring: Option<PathBuf>,

    /// Where signatures of the image are: a directory or an address with
    /// sha256=DIGEST/signature-1 and so on
    #[arg(
        id = "graph_data_signatures",
        long = "graph-data-signatures",
        value_name = "DIR|URL",
        value_hint = ValueHint::AnyPath,
        requires = "graph_data_keyring"
    )]
    pub(crate) signatures: Option<String>,
}

/// How registries are spoken to.
#[derive(clap::Args)]
#[command(next_help_heading = "Registries")]
pub(crate) struct AccessArgs {
    /// Who to be for registries: a file such as `docker login` writes
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) pull_secret: Option<PathBuf>,

    /// Authorities to trust besides those of this machine: certificates as PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) registry_ca: Option<PathBuf>,

    /// Speak to registries without TLS
    ///
    /// Everybody on the way can read and change what is said then. Registries on this machine are
    /// spoken to like that anyway, unless their names begin with https://.
    #[arg(long)]
    pub(crate) plain_http: bool,
}

/// How registries are spoken to, and what stands for one.
#[derive(clap::Args)]
#[command(next_help_heading = "Registries")]
pub(crate) struct RegistryArgs {
    #[command(flatten)]
    pub(crate) access: AccessArgs,

    /// The repository from which clusters pull the releases of `--oci-layout`; else they are called
    /// like its directory
    #[arg(long, value_name = "REPOSITORY", requires = "oci_layout")]
    pub(crate) pull_from: Option<String>,
}
