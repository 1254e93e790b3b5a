//! Arguments of `fairway release extract`.

use std::path::PathBuf;

use clap::{ArgGroup, ValueHint};

use crate::args::registry::AccessArgs;
use crate::args::report::ReportArgs;

#[derive(clap::Args)]
#[command(group(ArgGroup::new("what").required(true).multiple(true).args(["to", "file"])))]
pub(crate) struct ExtractArgs {
    /// Release: registry.example/releases:5.1.0, oci:DIR:NAME, or a directory with its files
    #[arg(value_name = "IMAGE|DIR")]
    pub(crate) release: String,

    /// Destination directory, with the layout of the image; created if it is missing
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) to: Option<PathBuf>,

    /// Extract only this file, by its path in the image; without `--to`, print it
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<String>,

    /// Overwrite existing files
    #[arg(long, requires = "to")]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) access: AccessArgs,
}
