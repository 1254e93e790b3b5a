//! What can be typed after `fairway olm`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum, ValueHint};
use fairway_api::Version;
use fairway_compat::olm::{InvalidPolicy, MissingPolicy, Policy, Stream};

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
    /// Show every operator that OLM has installed, and up to which version it runs
    ///
    /// Each has what it declares, where, and what that means for the updates that this cluster is
    /// offered; and where it stands in the way, the nearest version of it that does not. What a
    /// catalog says by now counts more than what was declared when the operator was installed.
    ///
    /// With `--to` it is a question about that version: the exit code is 3 when an operator will not
    /// run there, and 4 when this cluster does not say which version it has.
    #[command(after_help = "\
Examples:
  fairway olm list
  fairway olm list --to=4.10.0
  fairway olm list --to=4.10.0 --catalog=openshift-marketplace/redhat-operators=./catalog
  fairway olm list -o json | jq -r '.operators[] | select(.maximum == null) | .name'
  kubectl get csv,subscriptions,packagemanifests,clusterversions -A -o yaml > state.yaml
  fairway olm list --from-file=state.yaml")]
    List(OlmListArgs),

    /// Check which bundles of a catalog can be installed on a version of the platform
    ///
    /// For those who maintain catalogs: a bundle is refused where the platform is newer than the
    /// maximum that the bundle declares. Maximum versions that cannot be read are found, and those
    /// that are numbers: on the way to a cluster, 4.10 becomes 4.1.
    ///
    /// The exit code is 3 when the newest bundle of a channel would be refused, or a maximum version
    /// is wrong.
    #[command(after_help = "\
Examples:
  fairway olm check --catalog=catalog --cluster-version=4.9
  fairway olm check --catalog=catalog --cluster-version=4.9 --package=etcd -o json")]
    Check(OlmCheckArgs),
}

#[derive(clap::Args)]
pub(crate) struct OlmListArgs {
    /// Ask about this version as well
    #[arg(long, value_name = "VERSION", value_parser = tolerant_version)]
    pub(crate) to: Option<Version>,

    /// Ask a file-based catalog as well, a directory or a file; may be given several times
    ///
    /// It knows every bundle and all its properties, where a cluster shows the newest of each
    /// channel, so it knows nearer ways out, and counts more. With a name before it, as in
    /// `openshift-marketplace/redhat-operators=DIR`, it stands for that catalog alone.
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
    /// The catalog: a directory with its files, or one of them
    #[arg(long, value_name = "DIR", value_hint = ValueHint::AnyPath)]
    pub(crate) catalog: PathBuf,

    /// The version of the platform, such as 4.9
    #[arg(long, value_name = "VERSION", value_parser = stream)]
    pub(crate) cluster_version: Stream,

    /// Only this package
    #[arg(long, value_name = "NAME")]
    pub(crate) package: Option<String>,

    #[command(flatten)]
    pub(crate) output: ReportArgs,
}

/// What is made of operators of which nobody knows up to which version they run.
#[derive(clap::Args)]
pub(crate) struct PolicyArgs {
    /// Whether an operator whose maximum version makes no sense stands in the way
    #[arg(long, value_name = "WHAT", default_value = "allow")]
    pub(crate) invalid: Invalid,

    /// Whether an operator that declares no maximum version stands in the way
    #[arg(long, value_name = "WHAT", default_value = "warn")]
    pub(crate) missing: Missing,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Invalid {
    /// It is named among those that may not run
    Allow,
    /// It does, as with OLM
    Block,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Missing {
    /// It does not
    Allow,
    /// It is named among those that may not run
    Warn,
    /// It does
    Block,
}

impl PolicyArgs {
    pub(crate) fn policy(&self) -> Policy {
        Policy {
            invalid: match self.invalid {
                Invalid::Allow => InvalidPolicy::Allow,
                Invalid::Block => InvalidPolicy::Block,
            },
            missing: match self.missing {
                Missing::Allow => MissingPolicy::Allow,
                Missing::Warn => MissingPolicy::Warn,
                Missing::Block => MissingPolicy::Block,
            },
        }
    }
}

fn tolerant_version(text: &str) -> Result<Version, String> {
    Version::parse_tolerant(text).map_err(|error| error.to_string())
}

fn stream(text: &str) -> Result<Stream, String> {
    tolerant_version(text).map(|version| Stream::of(&version))
}
