//! What is to be done with a release, by what was done before.

use fairway_api::cluster_version::{UpdateHistory, UpdateState};
use fairway_release::ObjectId;
use fairway_release::task_graph::Mode;

use super::Phase;
use crate::stage::updates::same_content;

impl Phase {
    /// What is to be done with a release, or nothing as long as the history does not say that it
    /// was begun: whoever takes over after a crash has to know what to go on with.
    pub(super) fn of(history: &[UpdateHistory], image: &str) -> Option<Self> {
        let newest = history.first().filter(|newest| same_content(&newest.image, image))?;
        Some(if newest.state == UpdateState::Completed {
            Self::Reconciling
        } else if history.iter().any(|entry| entry.state == UpdateState::Completed) {
            Self::Updating
        } else {
            Self::Installing
        })
    }

    /// In which order manifests are applied. None has to wait for others to be tried again, so all
    /// attempts are the first.
    pub(super) fn mode(self) -> Mode {
        match self {
            Self::Installing => Mode::Initializing,
            Self::Updating => Mode::Updating,
            Self::Reconciling => Mode::Reconciling { attempt: 0 },
        }
    }

    /// Whether what comes behind a manifest waits for it. On a new cluster everything begins at
    /// once, and workloads may need what is applied after them; what was complete once is kept
    /// whatever becomes of the rest.
    pub(super) fn holds_up(self, id: &ObjectId) -> bool {
        let is_workload =
            id.group == "apps" && matches!(id.kind.as_str(), "Deployment" | "DaemonSet");
        match self {
            Self::Installing => !is_workload,
            Self::Updating => true,
            Self::Reconciling => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Entries = &'static [(&'static str, bool)];

    #[test]
    fn the_history_says_what_is_to_be_done() {
        let entry = |(image, is_completed): &(&str, bool)| UpdateHistory {
            image: format!("registry/{image}"),
            state: if *is_completed { UpdateState::Completed } else { UpdateState::Partial },
            ..UpdateHistory::default()
        };
        let cases: [(Entries, Option<Phase>); 8] = [
            (&[], None),
            (&[("a@1", false)], None),
            (&[("a@1", true)], None),
            (&[("a@1", false), ("b@2", true)], None),
            (&[("b@2", false)], Some(Phase::Installing)),
            (&[("b@2", false), ("a@1", false)], Some(Phase::Installing)),
            (&[("mirror@2", true), ("a@1", true)], Some(Phase::Reconciling)),
            (&[("b@2", false), ("a@1", false), ("b@2", true)], Some(Phase::Updating)),
        ];
        for (history, expected) in cases {
            let history: Vec<UpdateHistory> = history.iter().map(entry).collect();
            assert_eq!(Phase::of(&history, "registry/b@2"), expected, "{history:?}");
        }
    }
}
