//! What can be typed after `fairway release new`.

use std::path::PathBuf;

use clap::{ArgGroup, ValueHint};
use fairway_api::Version;
use jiff::Timestamp;

use crate::args::registry::AccessArgs;
use crate::args::report::ReportArgs;

#[derive(clap::Args)]
#[command(
    group(ArgGroup::new("base").args(["from", "program"])),
    group(ArgGroup::new("destination").required(true).args(["to", "to_image"]))
)]
pub(crate) struct NewArgs {
    /// The version of the release
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Version,

    /// The manifests of an operator; may be given several times
    ///
    /// The files `*.yaml`, `*.yml` and `*.json` of the directory become part of the release. Their
    /// names say when their turn is: `0000_LEVEL_COMPONENT_….yaml`. No two directories may have
    /// files of the same name.
    ///
    /// The version 0.0.1-snapshot in them stands for that of the release. A file `image-references`
    /// beside them, an `ImageStream`, says which images in them stand for which of `--image`.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) manifests: Vec<PathBuf>,

    /// An image of the release, by its digest; may be given several times
    #[arg(long, value_name = "NAME=IMAGE", value_parser = pair)]
    pub(crate) image: Vec<(String, String)>,

    /// Add the operator's alerts, and how Prometheus finds it
    ///
    /// A release whose manifests define `ServiceMonitor` and `PrometheusRule` has them anyway. With
    /// this, clusters have to know these kinds from elsewhere.
    #[arg(long)]
    pub(crate) monitoring: bool,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) metadata: MetadataArgs,

    #[command(flatten)]
    pub(crate) image_args: ImageArgs,

    #[command(flatten)]
    pub(crate) access: AccessArgs,
}

/// What the release says about itself.
#[derive(clap::Args)]
#[command(next_help_heading = "What the release says about itself")]
pub(crate) struct MetadataArgs {
    /// The versions from which clusters may update to it
    #[arg(long, value_name = "VERSIONS", value_delimiter = ',')]
    pub(crate) previous: Vec<Version>,

    /// The versions to which clusters may update from it
    #[arg(long, value_name = "VERSIONS", value_delimiter = ',')]
    pub(crate) next: Vec<Version>,

    /// The channels that it is in
    #[arg(long, value_name = "CHANNELS", value_delimiter = ',')]
    pub(crate) channels: Vec<String>,

    /// Where people read about it
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,

    /// Whatever else there is to say; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) metadata: Vec<(String, String)>,

    /// When it was made: 2026-01-31T12:00:00Z, or seconds since 1970; else it does not say so
    ///
    /// The present time is never taken: the same input gives the same digest.
    #[arg(long, value_name = "TIME", env = "SOURCE_DATE_EPOCH", hide_env_values = true, value_parser = time)]
    pub(crate) created: Option<Timestamp>,
}

/// What the image is made of, and where it goes.
#[derive(clap::Args)]
#[command(next_help_heading = "The image")]
pub(crate) struct ImageArgs {
    /// The Fairway image that the release is built on: registry.example/fairway:1.0, or oci:DIR:NAME
    #[arg(long, value_name = "IMAGE")]
    pub(crate) from: Option<String>,

    /// The program that the release runs, instead of this one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) program: Option<PathBuf>,

    /// Add the image to an OCI image layout, which is made if it is missing; it is called like its
    /// version if no tag is given
    #[arg(long, value_name = "DIR[:TAG]", value_hint = ValueHint::DirPath)]
    pub(crate) to: Option<String>,

    /// Push the image: registry.example/team/releases:5.1.0; it is called like its version if no
    /// tag is given
    #[arg(long, value_name = "IMAGE")]
    pub(crate) to_image: Option<String>,
}

/// Two texts with `=` between them.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err("not a name and a value with = between them".to_owned()),
    }
}

fn time(text: &str) -> Result<Timestamp, String> {
    let seconds = text.parse().ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    let refused = "not a time such as 2026-01-31T12:00:00Z, nor a number of seconds since 1970";
    seconds.or_else(|| text.parse().ok()).ok_or_else(|| refused.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_and_times_are_read_and_anything_else_is_refused() {
        let image = "registry.example/a@sha256:1=2";
        assert_eq!(pair(&format!("a={image}")), Ok(("a".to_owned(), image.to_owned())));
        assert!(["", "a", "=a", "a="].into_iter().all(|text| pair(text).is_err()));
        assert_eq!(time("1767225600"), time("2026-01-01T00:00:00Z"));
        assert!(["", "soon", "2026-01-01"].into_iter().all(|text| time(text).is_err()));
    }
}
