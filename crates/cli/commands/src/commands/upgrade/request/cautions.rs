//! Properties of an update that need attention or confirmation.

use std::fmt;

use fairway_api::Version;
use fairway_api::cluster_version::{ClusterVersionStatus, Release};
use fairway_api::version::VersionChange;
use schemars::JsonSchema;
use serde::Serialize;

use crate::foreign_text::OneLine;

/// Whether a channel contains release candidates.
pub(in super::super) fn is_candidate(channel: &str) -> bool {
    channel == "candidate" || channel.starts_with("candidate-")
}

/// Pre-release identifiers of unsupported versions: engineering, feature and release candidates, and
/// nightly builds.
const PRE_RELEASES: [&str; 8] = ["alpha", "beta", "ec", "fc", "rc", "nightly", "ci", "dev"];

/// Property of an update that needs attention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "type")]
pub(super) enum UpdateCaution {
    /// The target version is earlier.
    Downgrade { from: String, to: String },
    /// The update skips minor versions.
    SkipLevel { from: String, to: String, skipped_minors: u64 },
    /// The target has another major version.
    Major { from: String, to: String },
    /// The target is a pre-release.
    PreRelease { version: String },
    /// All known channels of the release are candidate channels.
    Candidate { channel: String },
    /// The version of the image is unknown.
    UnknownVersion { message: String },
    /// The order of the two versions is unknown.
    NotComparable { from: String, to: String },
    /// Signature verification, preconditions and risks are waived.
    Forced,
}

/// Update to a release.
pub(super) struct UpdateStep<'a> {
    pub(super) status: &'a ClusterVersionStatus,
    /// Channel of the cluster.
    pub(super) channel: Option<&'a str>,
    pub(super) release: &'a Release,
    /// Why the metadata of the image could not be read.
    pub(super) metadata_error: Option<&'a str>,
    pub(super) force: bool,
}

impl UpdateStep<'_> {
    /// Kind of version change, if both versions are valid.
    pub(super) fn kind(&self) -> Option<VersionChange> {
        let (from, to) = self.versions()?;
        Some(VersionChange::between(&from, &to))
    }

    fn versions(&self) -> Option<(Version, Version)> {
        let parsed = |version: &str| Version::parse(version).ok();
        Some((parsed(&self.status.desired.version)?, parsed(&self.release.version)?))
    }

    /// All cautions of the update.
    pub(super) fn cautions(&self) -> Vec<UpdateCaution> {
        let between = self.versions().into_iter().flat_map(|(from, to)| {
            let skipped = || self.skipped_since_completed(&from, &to);
            let cautions = between(&from, &to);
            let is_reported = cautions.iter().any(UpdateCaution::is_version_change);
            cautions.into_iter().chain(if is_reported { None } else { skipped() })
        });
        let unknown = self.release.version.is_empty().then(|| UpdateCaution::UnknownVersion {
            message: self.metadata_error.unwrap_or("not retrieved").to_owned(),
        });
        let forced = self.force.then_some(UpdateCaution::Forced);
        let unknown = unknown.or_else(|| self.not_comparable());
        between.chain(self.candidate()).chain(unknown).chain(forced).collect()
    }

    /// Caution for minor versions that the update skips after the newest completed release, while
    /// another update is in progress.
    fn skipped_since_completed(&self, from: &Version, to: &Version) -> Option<UpdateCaution> {
        let completed = self.status.completed_version().filter(|completed| completed < from)?;
        between(&completed, to).into_iter().find(UpdateCaution::is_version_change)
    }

    /// Caution for versions that cannot be compared; the update may be a downgrade.
    fn not_comparable(&self) -> Option<UpdateCaution> {
        let (from, to) = (&self.status.desired.version, &self.release.version);
        let unknown = || UpdateCaution::NotComparable { from: from.clone(), to: to.clone() };
        self.versions().is_none().then(unknown)
    }

    /// Caution for candidate releases: by the channels of the release, else by that of the cluster.
    fn candidate(&self) -> Option<UpdateCaution> {
        let known = &self.release.channels;
        let channel = match known.first() {
            Some(first) => known.iter().all(|channel| is_candidate(channel)).then_some(&first[..]),
            None => self.channel.filter(|channel| is_candidate(channel)),
        };
        channel.map(|channel| UpdateCaution::Candidate { channel: channel.to_owned() })
    }
}

fn between(from: &Version, to: &Version) -> Vec<UpdateCaution> {
    let (names, kind) = (|| (from.to_string(), to.to_string()), VersionChange::between(from, to));
    let step = match (names(), kind) {
        ((from, to), VersionChange::Downgrade) => Some(UpdateCaution::Downgrade { from, to }),
        ((from, to), VersionChange::SkipLevel { skipped_minors }) => {
            Some(UpdateCaution::SkipLevel { from, to, skipped_minors })
        }
        ((from, to), VersionChange::Major) => Some(UpdateCaution::Major { from, to }),
        _ => None,
    };
    let pre_release =
        is_less_stable(from, to).then(|| UpdateCaution::PreRelease { version: names().1 });
    step.into_iter().chain(pre_release).collect()
}

/// Whether the update leads from a release to a pre-release. All versions of some platforms have a
/// pre-release part; then its identifiers decide.
fn is_less_stable(from: &Version, to: &Version) -> bool {
    let is_unsupported = |version: &Version| {
        let mut words = version.pre_release().split(['.', '-']);
        words.any(|word| PRE_RELEASES.iter().any(|one| word.eq_ignore_ascii_case(one)))
    };
    let is_plain = |version: &Version| version.pre_release().is_empty();
    !is_plain(to) && (is_plain(from) || (is_unsupported(to) && !is_unsupported(from)))
}

impl UpdateCaution {
    /// Whether it is about the distance of the versions.
    fn is_version_change(&self) -> bool {
        matches!(self, Self::Downgrade { .. } | Self::SkipLevel { .. } | Self::Major { .. })
    }

    /// Whether the user must confirm it. The operator allows only one update between major versions,
    /// so that one needs no confirmation.
    pub(super) fn needs_confirmation(&self) -> bool {
        !matches!(self, Self::Major { .. })
    }
}

impl fmt::Display for UpdateCaution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Downgrade { from, to } => {
                write!(f, "the update from {from} to {to} is {}", VersionChange::Downgrade)
            }
            Self::SkipLevel { from, to, skipped_minors } => {
                let step = VersionChange::SkipLevel { skipped_minors: *skipped_minors };
                write!(f, "the update from {from} to {to} is {step}")
            }
            Self::Major { from, to } => {
                write!(f, "the update from {from} to {to} is {}", VersionChange::Major)
            }
            Self::PreRelease { version } => write!(f, "{version} is a pre-release"),
            Self::Candidate { channel } => write!(
                f,
                "the release is in {}, whose releases are candidates and may never be supported",
                OneLine(channel)
            ),
            Self::UnknownVersion { message } => {
                write!(f, "the version of the image is unknown: {}", OneLine(message))
            }
            Self::NotComparable { from, to } if from.is_empty() => write!(
                f,
                "the version of the cluster is unknown, so the update to {} cannot be classified",
                OneLine(to)
            ),
            Self::NotComparable { from, to } => write!(
                f,
                "the update from {} to {} cannot be classified",
                OneLine(from),
                OneLine(to)
            ),
            Self::Forced => f.write_str(
                "--force skips signature verification and waives all preconditions and risks: make \
                 sure that you trust this image",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use fairway_api::cluster_version::{UpdateHistory, UpdateState};
    use fairway_testkit::objects;

    use super::*;

    /// Text of the cautions of an update.
    fn texts(from: &str, to: &str, channel: &str, channels: &[&str]) -> String {
        let status = objects::status_at(from);
        let channels = channels.iter().map(|&channel| channel.to_owned()).collect();
        let release = Release { channels, ..objects::release(to) };
        let step = UpdateStep {
            status: &status,
            channel: Some(channel),
            release: &release,
            metadata_error: None,
            force: false,
        };
        let cautions = step.cautions().into_iter().map(|caution| {
            let confirmed = if caution.needs_confirmation() { ", to be confirmed" } else { "" };
            format!("; {caution}{confirmed}")
        });
        format!("{from} {to}{}", cautions.collect::<String>())
    }

    #[test]
    fn cautions_by_versions() {
        let okd = "4.20.0-okd-scos.5";
        let output = [
            ("5.1.0", "5.1.1"),
            ("5.1.0", "5.2.0"),
            ("5.1.1", "5.1.0"),
            ("5.1.0", "5.3.0"),
            ("4.22.0", "5.0.0"),
            ("5.1.0", "5.2.0-rc.1"),
            ("5.2.0-ec.3", "5.2.0-rc.1"),
            ("5.2.0-rc.1", "5.2.0-rc.2"),
            ("5.2.0-rc.2", "5.2.0"),
            (okd, "4.20.0-okd-scos.6"),
            (okd, "4.21.0-okd-scos.ec.15"),
            ("what is that", "5.1.0"),
            ("5.1.0", "latest"),
            ("", "5.1.0"),
        ]
        .map(|(from, to)| texts(from, to, "stable-5.1", &[]));
        insta::assert_snapshot!(output.join("\n"), @"
        5.1.0 5.1.1
        5.1.0 5.2.0
        5.1.1 5.1.0; the update from 5.1.1 to 5.1.0 is a downgrade, to be confirmed
        5.1.0 5.3.0; the update from 5.1.0 to 5.3.0 is a skip-level update that skips one minor version, to be confirmed
        4.22.0 5.0.0; the update from 4.22.0 to 5.0.0 is an update to another major version
        5.1.0 5.2.0-rc.1; 5.2.0-rc.1 is a pre-release, to be confirmed
        5.2.0-ec.3 5.2.0-rc.1
        5.2.0-rc.1 5.2.0-rc.2
        5.2.0-rc.2 5.2.0
        4.20.0-okd-scos.5 4.20.0-okd-scos.6
        4.20.0-okd-scos.5 4.21.0-okd-scos.ec.15; 4.21.0-okd-scos.ec.15 is a pre-release, to be confirmed
        what is that 5.1.0; the update from what is that to 5.1.0 cannot be classified, to be confirmed
        5.1.0 latest; the update from 5.1.0 to latest cannot be classified, to be confirmed
         5.1.0; the version of the cluster is unknown, so the update to 5.1.0 cannot be classified, to be confirmed
        ");
    }

    #[test]
    fn cautions_during_update_count_from_completed_release() {
        let entry = |version: &str, state| UpdateHistory {
            state,
            version: Some(version.to_owned()),
            ..UpdateHistory::default()
        };
        let cautions = |completed: &str, from: &str, to: &str| {
            let mut status = objects::status_at(from);
            status.history =
                vec![entry(from, UpdateState::Partial), entry(completed, UpdateState::Completed)];
            let release = objects::release(to);
            let step = UpdateStep {
                status: &status,
                channel: Some("stable-5.1"),
                release: &release,
                metadata_error: None,
                force: false,
            };
            let cautions = step.cautions().into_iter().map(|caution| format!("; {caution}"));
            format!("{completed} {from} {to}{}", cautions.collect::<String>())
        };
        let output = [
            cautions("5.0.0", "5.1.0", "5.1.1"),
            cautions("5.0.0", "5.1.0", "5.2.0"),
            cautions("4.22.0", "5.0.0", "5.1.0"),
            cautions("5.0.0", "5.1.0", "5.3.0"),
            cautions("5.0.0", "5.1.0", "5.0.0"),
        ];
        insta::assert_snapshot!(output.join("\n"), @"
        5.0.0 5.1.0 5.1.1
        5.0.0 5.1.0 5.2.0; the update from 5.0.0 to 5.2.0 is a skip-level update that skips one minor version
        4.22.0 5.0.0 5.1.0; the update from 4.22.0 to 5.1.0 is an update to another major version
        5.0.0 5.1.0 5.3.0; the update from 5.1.0 to 5.3.0 is a skip-level update that skips one minor version
        5.0.0 5.1.0 5.0.0; the update from 5.1.0 to 5.0.0 is a downgrade
        ");
    }

    #[test]
    fn candidate_caution_by_channels() {
        let output = [
            ("stable-5.1", &["candidate-5.1", "candidate-5.2"][..]),
            ("stable-5.1", &["candidate-5.1", "stable-5.1"]),
            ("candidate-5.1", &["candidate-5.1", "fast-5.1"]),
            ("candidate-5.1", &[]),
            ("stable-5.1", &[]),
        ]
        .map(|(channel, channels)| texts("5.1.0", "5.1.1", channel, channels));
        insta::assert_snapshot!(output.join("\n"), @"
        5.1.0 5.1.1; the release is in candidate-5.1, whose releases are candidates and may never be supported, to be confirmed
        5.1.0 5.1.1
        5.1.0 5.1.1
        5.1.0 5.1.1; the release is in candidate-5.1, whose releases are candidates and may never be supported, to be confirmed
        5.1.0 5.1.1
        ");
    }
}
