//! Arguments for releases and graph-data in registries.

use std::path::PathBuf;

use clap::ValueHint;

/// Source of releases: one of these options.
#[derive(clap::Args)]
#[group(multiple = false)]
pub(crate) struct ReleasesArgs {
    /// JSON list of releases, each with `image`, `arch` and `release-metadata`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) releases: Option<PathBuf>,

    /// Repository with release images, such as registry.example/team/releases
    #[arg(long, value_name = "REPOSITORY")]
    pub(crate) registry: Option<String>,

    /// OCI image layout with release images
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) oci_layout: Option<PathBuf>,
}

/// Graph-data from an image.
#[derive(clap::Args)]
pub(crate) struct GraphDataImageArgs {
    /// Image with graph-data, instead of `--graph-data`: registry.example/graph-data:latest, or
    /// oci:DIR:NAME in an OCI image layout
    ///
    /// The image contains graph-data in /var/lib/cincinnati-graph-data or at the top level.
    #[arg(
        id = "graph_data_image",
        long = "graph-data-image",
        value_name = "IMAGE",
        conflicts_with = "graph_data"
    )]
    pub(crate) image: Option<String>,

    /// OpenPGP public keys; the command requires a signature of the image by one of them
    #[arg(
        id = "graph_data_keyring",
        long = "graph-data-keyring",
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        requires = "graph_data_image",
        requires = "graph_data_signatures"
    )]
    pub(crate) keyring: Option<PathBuf>,

    /// Signature store of the image: a directory or a URL with sha256=DIGEST/signature-1 and so on
    #[arg(
        id = "graph_data_signatures",
        long = "graph-data-signatures",
        value_name = "DIR|URL",
        value_hint = ValueHint::AnyPath,
        requires = "graph_data_keyring"
    )]
    pub(crate) signatures: Option<String>,
}

/// Access to registries.
#[derive(clap::Args)]
#[command(next_help_heading = "Registries")]
pub(crate) struct AccessArgs {
    /// Registry credentials (Docker config.json)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) pull_secret: Option<PathBuf>,

    /// Additional CA certificates for registries (PEM)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) registry_ca: Option<PathBuf>,

    /// Connect to registries without TLS
    ///
    /// Without TLS, others can read and change the traffic. The command always connects to
    /// registries on this host without TLS, unless their names begin with https://.
    #[arg(long)]
    pub(crate) plain_http: bool,
}

/// Access to registries, and the repository that replaces a layout.
#[derive(clap::Args)]
#[command(next_help_heading = "Registries")]
pub(crate) struct RegistryArgs {
    #[command(flatten)]
    pub(crate) access: AccessArgs,

    /// Repository from which clusters pull the releases of `--oci-layout`; default: the directory
    /// name of the layout
    #[arg(long, value_name = "REPOSITORY", requires = "oci_layout")]
    pub(crate) pull_from: Option<String>,
}
