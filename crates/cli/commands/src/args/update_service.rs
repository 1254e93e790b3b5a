//! What can be typed after `fairway update-service`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, ValueHint};
use fairway_update_service::DEFAULT_PREFIX;

use super::duration::{duration, some_time};
use super::registry::{GraphDataImageArgs, RegistryArgs, ReleasesArgs};

#[derive(clap::Args)]
#[command(
    group(ArgGroup::new("data").required(true).args(["graph_data", "graph_data_image"])),
    group(ArgGroup::new("source").required(true).args(["releases", "registry", "oci_layout"]))
)]
pub(crate) struct UpdateServiceArgs {
    /// What its maintainers say about releases: a directory, or a tarball of one
    ///
    /// A tarball's name ends in `.tar`, `.tar.gz` or `.tgz`.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) graph_data: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) image: GraphDataImageArgs,

    #[command(flatten)]
    pub(crate) releases: ReleasesArgs,

    /// Where to listen; port 0 is one that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub(crate) address: SocketAddr,

    /// Where to answer probes, in plain HTTP; without it, where everything else is answered
    ///
    /// These are `/healthz`, `/readyz`, `/status` and `/metrics`. With an address of their own,
    /// clients cannot see them, nor keep others from them.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) status_address: Option<SocketAddr>,

    /// What the paths of graphs begin with
    #[arg(long, value_name = "PREFIX", default_value = DEFAULT_PREFIX)]
    pub(crate) path_prefix: String,

    /// A directory with the signatures of release images, to be served as well
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) signatures: Option<PathBuf>,

    /// The certificate, and those that lead to its authority, as PEM; without it, plain HTTP
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The private key of the certificate, as PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// The time between two looks at files: graph-data, releases and certificates
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = some_time)]
    pub(crate) refresh: Duration,

    /// The time between two looks at images: releases and graph-data
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = some_time)]
    pub(crate) image_refresh: Duration,

    /// For how long caches may answer in place of the service
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = duration)]
    pub(crate) max_age: Duration,

    /// How long a service that is told to stop goes on answering, until balancers send nobody there
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration)]
    pub(crate) drain: Duration,

    /// How many connections are served at once; of others, only probes are answered
    #[arg(long, value_name = "COUNT", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_connections: u32,

    #[command(flatten)]
    pub(crate) registries: RegistryArgs,
}
