//! Arguments of `fairway release verify`.

use std::path::PathBuf;

use clap::ValueHint;

use crate::args::registry::AccessArgs;
use crate::args::report::ReportArgs;

#[derive(clap::Args)]
pub(crate) struct VerifyArgs {
    /// Release: registry.example/releases:5.1.0, or oci:DIR:NAME
    #[arg(value_name = "IMAGE")]
    pub(crate) image: String,

    /// OpenPGP public keys, one of which must have signed the release; repeatable, each file needs
    /// a signature
    #[arg(long = "keyring", value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "from_release")]
    pub(crate) keyrings: Vec<PathBuf>,

    /// Signature store: a directory or a URL with sha256=DIGEST/signature-1 and so on; repeatable
    #[arg(long = "store", value_name = "DIR|URL", value_hint = ValueHint::AnyPath, required_unless_present = "from_release")]
    pub(crate) stores: Vec<String>,

    /// Use the keyrings and signature stores of another release, like a cluster that runs it
    ///
    /// `--keyring` adds keyrings. `--store` replaces the signature stores of the release.
    #[arg(long, value_name = "IMAGE|DIR")]
    pub(crate) from_release: Option<String>,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) access: AccessArgs,
}
