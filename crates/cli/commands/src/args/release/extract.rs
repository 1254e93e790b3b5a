//! What can be typed after `fairway release extract`.

use std::path::PathBuf;

use clap::{ArgGroup, ValueHint};

use crate::args::registry::AccessArgs;
use crate::args::report::ReportArgs;

#[derive(clap::Args)]
#[command(group(ArgGroup::new("what").required(true).multiple(true).args(["to", "file"])))]
pub(crate) struct ExtractArgs {
    /// The release: registry.example/releases:5.1.0, oci:DIR:NAME, or a directory with its files
    #[arg(value_name = "IMAGE|DIR")]
    pub(crate) release: String,

    /// Write the files here, as they lie in the image; the directory is made if it is missing
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) to: Option<PathBuf>,

    /// Only this file, by its path in the image; without `--to` it is printed
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<String>,

    /// Replace files that are there
    #[arg(long, requires = "to")]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) access: AccessArgs,
}
