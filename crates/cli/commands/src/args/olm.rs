//! Arguments of `fairway olm`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum, ValueHint};
use fairway_api::Version;
use fairway_compat::olm::{InvalidPolicy, MinorVersion, MissingPolicy, OlmPolicy};

use super::catalog_files::CatalogFiles;
use super::report::ReportArgs;
use super::source::SourceArgs;

#[derive(clap::Args)]
pub(crate) struct OlmArgs {
    #[command(subcommand)]
    pub(crate) command: OlmCommand,
}

#[derive(Subcommand)]
pub(crate) enum OlmCommand {
    /// List OLM operators and the platform versions that they support
    ///
    /// The output shows the maximum version that each operator declares, the source of the
    /// declaration, and its effect on the updates of this cluster. For an operator that blocks an
    /// update, it shows the nearest version of the operator that does not. Declarations in a
    /// catalog take precedence over those of the installed operator.
    ///
    /// With `--to`, the exit code is 3 if an operator does not support that version, and 4 if the
    /// version of this cluster is unknown.
    #[command(after_help = "\
Examples:
  fairway olm list
  fairway olm list --to=4.10.0
  fairway olm list --to=4.10.0 --catalog=openshift-marketplace/redhat-operators=./catalog
  fairway olm list -o json | jq -r '.operators[] | select(.maximum == null) | .name'
  kubectl get csv,subscriptions,packagemanifests,clusterversions -A -o yaml > state.yaml
  fairway olm list --from-file=state.yaml")]
    List(OlmListArgs),

    /// Check which bundles of a catalog a platform version accepts
    ///
    /// The OLM guard refuses a bundle if the platform is newer than the maximum version that the
    /// bundle declares. The command also reports maximum versions that are invalid, or numbers
    /// instead of strings: the number 4.10 becomes 4.1.
    ///
    /// The exit code is 3 if the newest bundle of a channel is refused, or a maximum version is
    /// invalid.
    #[command(after_help = "\
Examples:
  fairway olm check --catalog=catalog --cluster-version=4.9
  fairway olm check --catalog=catalog --cluster-version=4.9 --package=etcd -o json")]
    Check(OlmCheckArgs),
}

#[derive(clap::Args)]
pub(crate) struct OlmListArgs {
    /// Also check whether operators support this platform version
    #[arg(long, value_name = "VERSION", value_parser = tolerant_version)]
    pub(crate) to: Option<Version>,

    /// File-based catalog to read in addition, a directory or a file; repeatable
    ///
    /// A file-based catalog contains all bundles with their properties, while a cluster shows only
    /// the newest bundle of each channel. It takes precedence over the cluster. With a prefix such
    /// as `openshift-marketplace/redhat-operators=DIR` it replaces only that catalog.
    #[arg(long, value_name = "[NAMESPACE/NAME=]DIR", value_hint = ValueHint::AnyPath)]
    pub(crate) catalog: Vec<CatalogFiles>,

    #[command(flatten)]
    pub(crate) policy: PolicyArgs,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

#[derive(clap::Args)]
pub(crate) struct OlmCheckArgs {
    /// Catalog: a directory or a single file
    #[arg(long, value_name = "DIR", value_hint = ValueHint::AnyPath)]
    pub(crate) catalog: PathBuf,

    /// Platform version, such as 4.9
    #[arg(long, value_name = "VERSION", value_parser = stream)]
    pub(crate) cluster_version: MinorVersion,

    /// Check only this package
    #[arg(long, value_name = "NAME")]
    pub(crate) package: Option<String>,

    #[command(flatten)]
    pub(crate) output: ReportArgs,
}

/// Policies for operators without a valid maximum version.
#[derive(clap::Args)]
pub(crate) struct PolicyArgs {
    /// Policy for operators with an invalid maximum version
    #[arg(long, value_name = "WHAT", default_value = "allow")]
    pub(crate) invalid: Invalid,

    /// Policy for operators without a maximum version
    #[arg(long, value_name = "WHAT", default_value = "warn")]
    pub(crate) missing: Missing,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Invalid {
    /// Report the operator, block nothing
    Allow,
    /// Block updates, as OLM does
    Block,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Missing {
    /// Treat the operator as compatible
    Allow,
    /// Report the operator, block nothing
    Warn,
    /// Block updates
    Block,
}

/// The policy of both arguments.
pub(crate) fn policy(invalid: Invalid, missing: Missing) -> OlmPolicy {
    OlmPolicy {
        invalid: match invalid {
            Invalid::Allow => InvalidPolicy::Allow,
            Invalid::Block => InvalidPolicy::Block,
        },
        missing: match missing {
            Missing::Allow => MissingPolicy::Allow,
            Missing::Warn => MissingPolicy::Warn,
            Missing::Block => MissingPolicy::Block,
        },
    }
}

fn tolerant_version(text: &str) -> Result<Version, String> {
    Version::parse_tolerant(text).map_err(|error| error.to_string())
}

fn stream(text: &str) -> Result<MinorVersion, String> {
    tolerant_version(text).map(|version| MinorVersion::from_version(&version))
}
