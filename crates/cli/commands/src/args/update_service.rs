//! Arguments of `fairway update-service`.

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
    /// Graph-data: a directory or a tarball
    ///
    /// The name of a tarball ends in `.tar`, `.tar.gz` or `.tgz`.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) graph_data: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) image: GraphDataImageArgs,

    #[command(flatten)]
    pub(crate) releases: ReleasesArgs,

    /// Listen address; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub(crate) address: SocketAddr,

    /// Listen address for probes and metrics, over plain HTTP; default: that of `--address`
    ///
    /// It serves `/healthz`, `/readyz`, `/status` and `/metrics`. With a separate address, clients
    /// cannot access these endpoints or exhaust their connections.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) status_address: Option<SocketAddr>,

    /// Path prefix of the graph endpoints
    #[arg(long, value_name = "PREFIX", default_value = DEFAULT_PREFIX)]
    pub(crate) path_prefix: String,

    /// Signature store to serve: a directory with signatures of release images
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) signatures: Option<PathBuf>,

    /// Directory for state that survives restarts: the time of the newest signature of graph-data,
    /// and the graph-data in use
    ///
    /// Without it, a restarted service accepts older signed graph-data, and graph-data from which
    /// blocked-edge files were removed. Only one process may use the directory.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "graph_data_image")]
    pub(crate) state_dir: Option<PathBuf>,

    /// Blocked-edge files whose removal from the graph-data image is accepted: paths, or prefixes
    /// that end with `*`
    ///
    /// Without it, the service keeps its data if a new image lacks such a file.
    #[arg(long, value_name = "PATHS", value_delimiter = ',', requires = "graph_data_image")]
    pub(crate) accept_removed_blocks: Vec<String>,

    /// Certificate chain (PEM); default: plain HTTP
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Poll interval of files: graph-data, releases and certificates
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = some_time)]
    pub(crate) refresh: Duration,

    /// Poll interval of images: releases and graph-data
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = some_time)]
    pub(crate) image_refresh: Duration,

    /// `max-age` of responses for HTTP caches
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = duration)]
    pub(crate) max_age: Duration,

    /// Shutdown grace period, in which load balancers remove the instance
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration)]
    pub(crate) drain: Duration,

    /// Maximum number of connections; above it, only probes are served
    #[arg(long, value_name = "COUNT", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_connections: u32,

    #[command(flatten)]
    pub(crate) registries: RegistryArgs,
}
