//! Arguments of `fairway preflight`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Subcommand, ValueEnum, ValueHint};
use fairway_api::Version;
use fairway_findings::{FORMAT, environment};
use fairway_preflight::settings::CHECK_TIMEOUT;

use super::cluster::ClusterArgs;
use super::content::ContentArgs;
use super::duration::some_time;
use super::operator::{CheckNetwork, LogFormat};
use super::registry::AccessArgs;
use super::report::ReportArgs;
use super::upgrade_preflight::secret;

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct PreflightArgs {
    #[command(subcommand)]
    pub(crate) command: Option<PreflightCommand>,

    /// Target release: registry.example/releases@sha256:…; with `--once` also a tag, oci:DIR:NAME
    /// in an OCI image layout, or a directory
    #[arg(long, value_name = "IMAGE", required = true)]
    pub(crate) release_image: Option<String>,

    /// Run all checks once, print the findings and exit
    #[arg(long)]
    pub(crate) once: bool,

    /// With `--once`: also run the checks of the operators of the release, as Jobs
    ///
    /// This needs permission to create Jobs in the namespace openshift-cluster-version-preflight,
    /// which the operator of a release creates, and to grant the checks their read permissions. The
    /// command removes all objects afterwards, even after Ctrl-C.
    #[arg(long, requires = "once")]
    pub(crate) jobs: bool,

    /// With `--jobs`: Secrets that the checks may read
    #[arg(long, value_name = "NAMESPACE/NAME,…", value_delimiter = ',', value_parser = secret, requires = "jobs")]
    pub(crate) allow_secrets: Vec<String>,

    /// With `--jobs`: network in which the checks of the release's operators run
    #[arg(long, value_name = "NETWORK", default_value = "pod")]
    pub(crate) preflight_check_network: CheckNetwork,

    /// Version of the cluster; default with `--once`: the version in ClusterVersion
    #[arg(long, value_name = "VERSION", required_unless_present = "once", value_parser = Version::parse)]
    pub(crate) source_version: Option<Version>,

    /// Timeout of each check
    #[arg(long, value_name = "DURATION", env = "FAIRWAY_PREFLIGHT_CHECK_TIMEOUT", default_value = format!("{}s", CHECK_TIMEOUT.as_secs()), value_parser = some_time)]
    pub(crate) check_timeout: Duration,

    /// Verification of the images of the release
    #[arg(long, value_name = "HOW", env = "FAIRWAY_PREFLIGHT_IMAGES", default_value = "head")]
    pub(crate) preflight_images: PreflightImages,

    #[command(flatten)]
    pub(crate) content: ContentArgs,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) started: StartedArgs,

    #[command(flatten)]
    pub(crate) access: AccessArgs,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Arguments that the operator of the running release passes to a preflight.
#[derive(clap::Args)]
#[command(next_help_heading = "Options set by the operator")]
pub(crate) struct StartedArgs {
    /// Version of the results format; this binary supports only one
    #[arg(long, value_name = "FORMAT", default_value = FORMAT)]
    pub(crate) format: String,

    /// Without `--once`: directory for the results
    #[arg(long, value_name = "DIR", required_unless_present = "once", conflicts_with = "once", value_hint = ValueHint::DirPath)]
    pub(crate) results: Option<PathBuf>,

    /// ID of this preflight run: 32 hexadecimal digits
    #[arg(long, value_name = "ID", required_unless_present = "once", conflicts_with = "once", value_parser = run_id)]
    pub(crate) run: Option<String>,

    /// Built-in checks that the operator runs itself
    ///
    /// Unknown names are ignored: the operator may be newer.
    #[arg(long, value_name = "CHECK,…", env = environment::SKIPPED_CHECKS, value_delimiter = ',')]
    pub(crate) skip_checks: Vec<String>,

    /// Directory with the payload of the release
    #[arg(long, value_name = "DIR", env = "PAYLOAD_OVERRIDE", default_value = "/", value_hint = ValueHint::DirPath)]
    pub(crate) payload: PathBuf,

    /// Log format
    #[arg(long, value_name = "FORMAT", env = "FAIRWAY_LOG_FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
}

#[derive(Subcommand)]
pub(crate) enum PreflightCommand {
    /// Copy the manifests of this release to a directory, for a check
    #[command(hide = true)]
    CopyManifests(CopyManifestsArgs),
}

#[derive(clap::Args)]
pub(crate) struct CopyManifestsArgs {
    /// Destination directory
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) to: PathBuf,

    /// Directory with the payload of the release
    #[arg(long, value_name = "DIR", env = "PAYLOAD_OVERRIDE", default_value = "/", value_hint = ValueHint::DirPath)]
    pub(crate) payload: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PreflightImages {
    /// Fetch and verify manifests, and check that the layers exist
    Head,
    /// Download and verify complete images
    Pull,
}

fn run_id(text: &str) -> Result<String, String> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() == 32 && text.bytes().all(is_digit) {
        Ok(text.to_owned())
    } else {
        Err("not 32 hexadecimal digits".to_owned())
    }
}
