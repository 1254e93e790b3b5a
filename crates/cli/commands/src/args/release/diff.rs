//! Arguments of `fairway release diff`.

use crate::args::registry::AccessArgs;
use crate::args::report::ReportArgs;

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
