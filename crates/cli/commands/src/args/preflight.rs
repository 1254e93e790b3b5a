//! What can be typed after `fairway preflight`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Subcommand, ValueEnum, ValueHint};
use fairway_api::Version;
use fairway_findings::FORMAT;
use fairway_preflight::settings::CHECK_TIMEOUT;

use super::cluster::ClusterArgs;
use super::content::ContentArgs;
use super::duration::some_time;
use super::operator::{CheckNetwork, LogFormat};
use super::registry::AccessArgs;
use super::report::ReportArgs;

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct PreflightArgs {
    #[command(subcommand)]
    pub(crate) command: Option<PreflightCommand>,

    /// The release that looks: registry.example/releases@sha256:…; with `--once` also a name that
    /// can move, oci:DIR:NAME in an OCI image layout, or a directory
    #[arg(long, value_name = "IMAGE", required = true)]
    pub(crate) release_image: Option<String>,

    /// Look once, print what was found, and end
    #[arg(long)]
    pub(crate) once: bool,

    /// With `--once`: run the checks of the release's operators too, as Jobs
    ///
    /// It takes the right to create Jobs in the namespace openshift-cluster-version-preflight, which
    /// the operator of a release brings, and to give the checks what they read. All of it is removed
    /// again, also after Ctrl-C.
    #[arg(long, requires = "once")]
    pub(crate) jobs: bool,

    /// With `--jobs`: which network the checks of operators get
    #[arg(long, value_name = "NETWORK", default_value = "pod")]
    pub(crate) preflight_check_network: CheckNetwork,

    /// The version of the cluster; with `--once`, what ClusterVersion says if it is not given
    #[arg(long, value_name = "VERSION", required_unless_present = "once", value_parser = Version::parse)]
    pub(crate) source_version: Option<Version>,

    /// How long a check may take
    #[arg(long, value_name = "DURATION", env = "FAIRWAY_PREFLIGHT_CHECK_TIMEOUT", default_value = format!("{}s", CHECK_TIMEOUT.as_secs()), value_parser = some_time)]
    pub(crate) check_timeout: Duration,

    /// How the images of the release are looked at
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

/// What the operator of the running release says when it starts the one that looks.
#[derive(clap::Args)]
#[command(next_help_heading = "Started by the operator of the running release")]
pub(crate) struct StartedArgs {
    /// The format of the results; there is one
    #[arg(long, value_name = "FORMAT", default_value = FORMAT)]
    pub(crate) format: String,

    /// Where results are written, again and again
    #[arg(long, value_name = "DIR", required_unless_present = "once", conflicts_with = "once", value_hint = ValueHint::DirPath)]
    pub(crate) results: Option<PathBuf>,

    /// The identity of this run: 32 hexadecimal digits
    #[arg(long, value_name = "ID", required_unless_present = "once", conflicts_with = "once", value_parser = run_id)]
    pub(crate) run: Option<String>,

    /// Where the content of the release is
    #[arg(long, value_name = "DIR", env = "PAYLOAD_OVERRIDE", default_value = "/", value_hint = ValueHint::DirPath)]
    pub(crate) payload: PathBuf,

    /// How the log is written
    #[arg(long, value_name = "FORMAT", env = "FAIRWAY_LOG_FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
}

#[derive(Subcommand)]
pub(crate) enum PreflightCommand {
    /// Copy the manifests of this release into a directory, for a check
    #[command(hide = true)]
    CopyManifests(CopyManifestsArgs),
}

#[derive(clap::Args)]
pub(crate) struct CopyManifestsArgs {
    /// Where they are copied to
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) to: PathBuf,

    /// Where the content of the release is
    #[arg(long, value_name = "DIR", env = "PAYLOAD_OVERRIDE", default_value = "/", value_hint = ValueHint::DirPath)]
    pub(crate) payload: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PreflightImages {
    /// Their manifests are fetched and verified, their layers are asked for
    Head,
    /// They are downloaded and verified whole
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
