//! What can be typed after `fairway release verify`.

use std::path::PathBuf;

use clap::ValueHint;

use crate::args::registry::AccessArgs;
use crate::args::report::ReportArgs;

#[derive(clap::Args)]
pub(crate) struct VerifyArgs {
    /// The release: registry.example/releases:5.1.0, or oci:DIR:NAME
    #[arg(value_name = "IMAGE")]
    pub(crate) image: String,

    /// OpenPGP public keys, one of which has to have signed the release; of several files, each has
    /// to be satisfied
    #[arg(long = "keyring", value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "from_release")]
    pub(crate) keyrings: Vec<PathBuf>,

    /// Where signatures are: a directory or an address with sha256=DIGEST/signature-1 and so on;
    /// may be given several times
    #[arg(long = "store", value_name = "DIR|URL", value_hint = ValueHint::AnyPath, required_unless_present = "from_release")]
    pub(crate) stores: Vec<String>,

    /// Take keyrings and stores from another release, as a cluster does that runs it
    ///
    /// Keyrings that are given besides have to be satisfied, too. Stores that are given are asked
    /// in place of those of the release.
    #[arg(long, value_name = "IMAGE|DIR")]
    pub(crate) from_release: Option<String>,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) access: AccessArgs,
}
