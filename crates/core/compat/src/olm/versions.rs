//! Minor versions of a cluster.

use std::cmp::Ordering;
use std::fmt;

use fairway_api::cluster_version::UpdateState;
use fairway_api::version::RENAMED;
use fairway_api::{ClusterVersion, Version};
use serde::{Serialize, Serializer};

/// A minor version of a cluster, such as 4.8. 4.23 and 5.0 are equal.
#[derive(Clone, Copy, Debug)]
pub struct MinorVersion {
    major: u64,
    minor: u64,
}

impl MinorVersion {
    /// `major.minor`.
    pub const fn new(major: u64, minor: u64) -> Self {
        Self { major, minor }
    }

    /// The minor version of a release or pre-release.
    pub fn from_version(version: &Version) -> Self {
        Self::new(version.major(), version.minor())
    }

    /// Parses a version such as `4.9`, `4.9.3` or `v4.9`.
    pub fn parse(text: &str) -> Option<Self> {
        Version::parse_tolerant(text).ok().as_ref().map(Self::from_version)
    }

    /// The next minor version.
    pub fn next(self) -> Self {
        let (major, minor) = self.normal();
        Self::new(major, minor.saturating_add(1))
    }

    /// The range of this and later versions.
    pub fn and_later(self) -> String {
        format!(">={self}.0")
    }

    fn normal(self) -> (u64, u64) {
        let [before, after] = RENAMED;
        let own = (self.major, self.minor);
        if own == before { after } else { own }
    }
}

impl fmt::Display for MinorVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl PartialEq for MinorVersion {
    fn eq(&self, other: &Self) -> bool {
        self.normal() == other.normal()
    }
}

impl Eq for MinorVersion {}

impl PartialOrd for MinorVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for MinorVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        self.normal().cmp(&other.normal())
    }
}

impl Serialize for MinorVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The desired and the running version of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterVersions {
    /// Desired version.
    pub desired: Option<Version>,
    /// Last version with a completed rollout.
    pub completed: Option<Version>,
}

impl ClusterVersions {
    /// Reads the versions of a ClusterVersion. Invalid versions are ignored.
    pub fn from_cluster_version(cluster: &ClusterVersion) -> Self {
        let Some(status) = &cluster.status else { return Self::default() };
        let read = |text: &str| Version::parse_tolerant(text).ok();
        let completed = status.history.iter().find(|entry| entry.state == UpdateState::Completed);
        Self {
            desired: read(&status.desired.version),
            completed: completed.and_then(|entry| read(entry.version.as_deref()?)),
        }
    }

    /// The minor version from which the next one counts: the last completed one, otherwise the
    /// desired one.
    pub fn running(&self) -> Option<MinorVersion> {
        self.completed.as_ref().or(self.desired.as_ref()).map(MinorVersion::from_version)
    }

    /// The highest minor version that components of the cluster may have.
    pub fn highest(&self) -> Option<MinorVersion> {
        self.desired.iter().chain(&self.completed).map(MinorVersion::from_version).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn renamed_minor_versions_are_equal() {
        assert_eq!(MinorVersion::new(4, 23), MinorVersion::new(5, 0));
        assert!(
            MinorVersion::new(4, 22) < MinorVersion::new(5, 0)
                && MinorVersion::new(4, 23) < MinorVersion::new(5, 1)
        );
        assert_eq!(MinorVersion::new(4, 23).to_string(), "4.23");
    }

    #[test]
    fn next_ignores_patch_version() {
        for (cluster, next) in [
            ("4.9.0-rc.1", "4.10"),
            ("4.9.0", "4.10"),
            ("4.9.31+x", "4.10"),
            ("4.22.5", "4.23"),
            ("4.23.1", "5.1"),
            ("5.0.3", "5.1"),
            ("5.1.0", "5.2"),
        ] {
            let version = Version::parse(cluster).unwrap();
            assert_eq!(MinorVersion::from_version(&version).next().to_string(), next, "{cluster}");
        }
    }

    #[test]
    fn parse_is_tolerant() {
        for text in ["4.9", "4.9.3", "v4.9", " 4.9.0-rc.1 "] {
            assert_eq!(MinorVersion::parse(text), Some(MinorVersion::new(4, 9)), "{text}");
        }
        for text in ["", "4.x", "next", "4.9-rc.1"] {
            assert_eq!(MinorVersion::parse(text), None, "{text}");
        }
    }

    fn versions(desired: &str, history: &[(&str, &str)]) -> ClusterVersions {
        let history: Vec<_> = history
            .iter()
            .map(|(version, state)| json!({"version": version, "state": state}))
            .collect();
        let cluster = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
            "metadata": {"name": "version"}, "spec": {"clusterID": ""},
            "status": {"desired": {"version": desired, "image": ""}, "history": history},
        });
        ClusterVersions::from_cluster_version(&serde_json::from_value(cluster).unwrap())
    }

    #[test]
    fn running_during_update_is_completed_version() {
        let updating = versions("4.9.0", &[("4.9.0", "Partial"), ("4.8.3", "Completed")]);
        assert_eq!(updating.running(), Some(MinorVersion::new(4, 8)));
        assert_eq!(updating.highest(), Some(MinorVersion::new(4, 9)));
    }

    #[test]
    fn highest_during_rollback_is_completed_version() {
        let back = versions("4.8.3", &[("4.8.3", "Partial"), ("4.9.0", "Completed")]);
        assert_eq!(back.highest(), Some(MinorVersion::new(4, 9)));
    }

    #[test]
    fn running_of_new_cluster_is_desired_version() {
        assert_eq!(versions("4.9.0", &[]).running(), Some(MinorVersion::new(4, 9)));
        assert_eq!(versions("", &[]), ClusterVersions::default());
        assert_eq!(versions("none", &[("?", "Completed")]).highest(), None);
        assert_eq!(
            ClusterVersions::from_cluster_version(&ClusterVersion::default()),
            ClusterVersions::default()
        );
    }
}
