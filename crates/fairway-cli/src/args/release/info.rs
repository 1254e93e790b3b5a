//! What can be typed after `fairway release info`.

use crate::args::registry::AccessArgs;
use crate::args::report::ReportArgs;

#[derive(clap::Args)]
pub(crate) struct InfoArgs {
    /// The release: registry.example/releases:5.1.0, oci:DIR:NAME, or a directory with its files
    #[arg(value_name = "IMAGE|DIR")]
    pub(crate) release: String,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) access: AccessArgs,
}
