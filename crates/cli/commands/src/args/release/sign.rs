//! Arguments of `fairway release sign`.

use std::path::PathBuf;

use clap::{ArgGroup, ValueHint};

use crate::args::registry::AccessArgs;
use crate::args::report::ReportArgs;

#[derive(clap::Args)]
#[command(group(ArgGroup::new("place").required(true).args(["store", "config_map"])))]
pub(crate) struct SignArgs {
    /// Release: registry.example/releases:5.1.0, or oci:DIR:NAME
    #[arg(value_name = "IMAGE")]
    pub(crate) image: String,

    /// OpenPGP secret key: `gpg --armor --export-secret-keys KEY > FILE`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) key: PathBuf,

    /// File with the passphrase of the key on its first line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) passphrase_file: Option<PathBuf>,

    /// Image name in the signature; default: the name of IMAGE
    #[arg(long, value_name = "NAME")]
    pub(crate) identity: Option<String>,

    /// Signature store to add the signature to: a directory with sha256=DIGEST/signature-1 and so
    /// on
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) store: Option<PathBuf>,

    /// Print the signature as a ConfigMap, for clusters without access to a signature store
    #[arg(long)]
    pub(crate) config_map: bool,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) access: AccessArgs,
}
