//! The versions of the platform that a cluster has.

use fairway_api::cluster_version::UpdateState;
use fairway_api::{ClusterVersion, Version};

use super::Stream;

/// The versions of the platform that a cluster has and is about to have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterVersions {
    /// The version that it is to have.
    pub desired: Option<Version>,
    /// The version that it had last as a whole.
    pub completed: Option<Version>,
}

impl ClusterVersions {
    /// What a ClusterVersion says. Versions that cannot be read are none.
    pub fn of(cluster: &ClusterVersion) -> Self {
        let Some(status) = &cluster.status else { return Self::default() };
        let read = |text: &str| Version::parse_tolerant(text).ok();
        let completed = status.history.iter().find(|entry| entry.state == UpdateState::Completed);
        Self {
            desired: read(&status.desired.version),
            completed: completed.and_then(|entry| read(entry.version.as_deref()?)),
        }
    }

    /// The minor version from which the next one counts: the last one that the cluster had as a
    /// whole, or the first one that it gets.
    pub fn running(&self) -> Option<Stream> {
        self.completed.as_ref().or(self.desired.as_ref()).map(Stream::of)
    }

    /// The highest minor version that the cluster may have somewhere.
    pub fn highest(&self) -> Option<Stream> {
        self.desired.iter().chain(&self.completed).map(Stream::of).max()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
        ClusterVersions::of(&serde_json::from_value(cluster).unwrap())
    }

    #[test]
    fn during_an_update_the_next_minor_counts_from_what_was_there_before() {
        let updating = versions("4.9.0", &[("4.9.0", "Partial"), ("4.8.3", "Completed")]);
        assert_eq!(updating.running(), Some(Stream::new(4, 8)));
        assert_eq!(updating.highest(), Some(Stream::new(4, 9)));
    }

    #[test]
    fn a_cluster_that_goes_back_still_has_what_it_had() {
        let back = versions("4.8.3", &[("4.8.3", "Partial"), ("4.9.0", "Completed")]);
        assert_eq!(back.highest(), Some(Stream::new(4, 9)));
    }

    #[test]
    fn a_new_cluster_is_what_it_is_to_be() {
        assert_eq!(versions("4.9.0", &[]).running(), Some(Stream::new(4, 9)));
        assert_eq!(versions("", &[]), ClusterVersions::default());
        assert_eq!(versions("none", &[("?", "Completed")]).highest(), None);
        assert_eq!(ClusterVersions::of(&ClusterVersion::default()), ClusterVersions::default());
    }
}
