//! Arguments of `fairway release new`.

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
    /// Version of the release
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Version,

    /// Directory with the manifests of one operator; repeatable
    ///
    /// All files of the directory become part of the release. A name such as
    /// `0000_LEVEL_COMPONENT_….yaml` sets the level and the component of a manifest. Files with other
    /// names get level 50 and become `0000_50_IMAGE_FILE`. IMAGE defaults to the name of the
    /// directory, or to the name of its parent if the directory is called `manifests`. A second file
    /// of the same name gets the suffix `_2`.
    ///
    /// The command replaces three kinds of placeholders: `0.0.1-snapshot` by the version of the
    /// release, `0.0.1-snapshot-COMPONENT` by the version of a component, and the images that the
    /// file `image-references` of the directory lists by those of `--image`. An image that
    /// `image-references` lists without a tag matches every tag and digest.
    #[arg(long, value_name = "[IMAGE=]DIR", value_hint = ValueHint::DirPath)]
    pub(crate) manifests: Vec<PathBuf>,

    /// Directory with one directory of manifests for each operator; repeatable
    ///
    /// The name of each directory in it is the name of the operator's image. The manifests of
    /// `cluster-version-operator` are skipped, since Fairway's own replace them.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) operators: Vec<PathBuf>,

    /// Image that the release references, pinned by digest; repeatable
    #[arg(long, value_name = "NAME=IMAGE", value_parser = pair)]
    pub(crate) image: Vec<(String, String)>,

    /// File with images that the release references; repeatable
    ///
    /// The file has lines `NAME=IMAGE`, or it is an `ImageStream` as JSON or YAML, such as the
    /// `image-references` of another release. `--image` overrides its entries.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) images_from: Vec<PathBuf>,

    /// Version of a component, such as kubernetes=1.34.2; repeatable
    ///
    /// Without it, the command takes the version from the `ImageStream` of `--images-from`, or from
    /// the label `io.openshift.build.versions` of the images that the operator lists. It contacts
    /// registries only if a manifest needs a version that is not known otherwise.
    #[arg(long, value_name = "COMPONENT=VERSION", value_parser = component)]
    pub(crate) component_version: Vec<(String, String)>,

    /// Report unresolved placeholders and unpinned images as warnings instead of errors
    #[arg(long)]
    pub(crate) allow_unresolved: bool,

    /// Add the `ServiceMonitor` and the alerts of the operator
    ///
    /// A release that contains the CRDs `ServiceMonitor` and `PrometheusRule` has them anyway. With
    /// this option, clusters need these CRDs from another source.
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

/// Metadata of the release.
#[derive(clap::Args)]
#[command(next_help_heading = "Metadata")]
pub(crate) struct MetadataArgs {
    /// Versions from which clusters can update to this release
    #[arg(long, value_name = "VERSIONS", value_delimiter = ',')]
    pub(crate) previous: Vec<Version>,

    /// Versions to which clusters can update from this release
    #[arg(long, value_name = "VERSIONS", value_delimiter = ',')]
    pub(crate) next: Vec<Version>,

    /// Channels of the release
    #[arg(long, value_name = "CHANNELS", value_delimiter = ',')]
    pub(crate) channels: Vec<String>,

    /// URL of the release notes
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,

    /// Additional metadata; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_parser = assignment)]
    pub(crate) metadata: Vec<(String, String)>,

    /// Creation time: 2026-01-31T12:00:00Z, or seconds since 1970; default: none
    ///
    /// The command never uses the current time, so that the same input gives the same digest.
    #[arg(long, value_name = "TIME", env = "SOURCE_DATE_EPOCH", hide_env_values = true, value_parser = time)]
    pub(crate) created: Option<Timestamp>,
}

/// Base and destination of the image.
#[derive(clap::Args)]
#[command(next_help_heading = "Image")]
pub(crate) struct ImageArgs {
    /// Fairway image to build on: registry.example/fairway:1.0, or oci:DIR:NAME
    #[arg(long, value_name = "IMAGE")]
    pub(crate) from: Option<String>,

    /// Binary of the release; default: this binary
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) program: Option<PathBuf>,

    /// OCI image layout to add the image to, created if it is missing; default tag: the version
    #[arg(long, value_name = "DIR[:TAG]", value_hint = ValueHint::DirPath)]
    pub(crate) to: Option<String>,

    /// Image to push: registry.example/team/releases:5.1.0; default tag: the version
    #[arg(long, value_name = "IMAGE")]
    pub(crate) to_image: Option<String>,
}

/// Parses NAME=VALUE with a value that is not empty.
fn pair(text: &str) -> Result<(String, String), String> {
    assignment(text).and_then(|(name, value)| match value.as_str() {
        "" => Err(NOT_A_PAIR.to_owned()),
        _ => Ok((name, value)),
    })
}

/// Parses NAME=VALUE; the value may be empty.
fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(NOT_A_PAIR.to_owned()),
    }
}

const NOT_A_PAIR: &str = "not of the form NAME=VALUE";

/// A component and its version. Build metadata is dropped, since versions do not differ by it.
fn component(text: &str) -> Result<(String, String), String> {
    let (name, version) = pair(text)?;
    let is_name = name.split('-').all(|part| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    });
    if !is_name {
        return Err(format!("component {name:?} has characters other than a-z, 0-9 and -"));
    }
    let version = Version::parse(&version).map_err(|error| error.to_string())?;
    Ok((name, version.without_build().to_string()))
}

fn time(text: &str) -> Result<Timestamp, String> {
    let seconds = text.parse().ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    let refused = "not a time such as 2026-01-31T12:00:00Z, nor a Unix timestamp";
    seconds.or_else(|| text.parse().ok()).ok_or_else(|| refused.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_parsers_accept_pairs_versions_and_times_only() {
        let image = "registry.example/a@sha256:1=2";
        assert_eq!(pair(&format!("a={image}")), Ok(("a".to_owned(), image.to_owned())));
        assert!(["", "a", "=a", "a="].into_iter().all(|text| pair(text).is_err()));
        assert_eq!(assignment("a="), Ok(("a".to_owned(), String::new())));
        assert!(["", "a", "=a"].into_iter().all(|text| assignment(text).is_err()));
        let kubernetes = || ("kubernetes".to_owned(), "1.34.2-rc.1".to_owned());
        assert_eq!(component("kubernetes=1.34.2-rc.1+k3s1"), Ok(kubernetes()));
        for text in ["kubernetes", "Kubernetes=1.0.0", "a-=1.0.0", "a_b=1.0.0", "kubernetes=v1"] {
            assert!(component(text).is_err(), "{text}");
        }
        assert_eq!(time("1767225600"), time("2026-01-01T00:00:00Z"));
        assert!(["", "soon", "2026-01-01"].into_iter().all(|text| time(text).is_err()));
    }
}
