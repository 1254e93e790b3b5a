//! Arguments of `fairway release lint`.

use crate::args::registry::AccessArgs;
use crate::args::report::ReportArgs;

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
