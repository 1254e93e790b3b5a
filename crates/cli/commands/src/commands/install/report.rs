//! The report of an installation.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// Installation of a release.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// Version of the release.
    pub(super) release: String,
    /// Image of the release, by digest.
    pub(super) image: String,
    /// Whether the operator has applied the whole release.
    pub(super) completed: bool,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { release, image, completed } = self;
        if *completed {
            write!(f, "Release {release} is installed.")
        } else {
            write!(
                f,
                "The operator of {release} is installed from {image}.\nTo follow the installation, \
                 run `kubectl get clusterversion version --watch`."
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_release_and_next_command() {
        let report = |completed| Report {
            release: "5.0.0".to_owned(),
            image: "registry.example/releases@sha256:1".to_owned(),
            completed,
        };
        insta::assert_snapshot!(report(true), @"Release 5.0.0 is installed.");
        insta::assert_snapshot!(report(false), @"
        The operator of 5.0.0 is installed from registry.example/releases@sha256:1.
        To follow the installation, run `kubectl get clusterversion version --watch`.
        ");
    }
}
