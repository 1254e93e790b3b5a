//! What the tour shows: steps with explanations, what is done, and what is waited for.

use std::fmt;

use fairway_api::cluster_version::UpdateState;
use fairway_api::{ClusterOperator, ClusterVersion, Conditions as _};

use crate::exit::ExitStatus;

/// One step of the tour.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// What it is about, in a few words.
    pub(super) title: &'static str,
    /// What is going to happen, and why.
    pub(super) explanation: &'static str,
    /// What is done, one after the other.
    pub(super) actions: &'static [Action],
}

/// Something that is done, or waited for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// Runs this program with these arguments, which ends with this status.
    Run(&'static [&'static str], ExitStatus),
    /// Writes something into a ConfigMap of a component; without a text, takes it back.
    Set {
        component: &'static str,
        map: &'static str,
        key: &'static str,
        text: Option<&'static str>,
    },
    /// Waits until the cluster is as described.
    Until(Until),
}

/// What can be waited for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Until {
    /// The cluster has completed the release of this version.
    Completed(&'static str),
    /// An update to this version is listed, recommended or not.
    Listed(&'static str),
    /// An update to this version is recommended: nothing of the one before it is under way.
    Recommended(&'static str),
    /// The operator has seen all that was asked for or accepted.
    LookedAgain,
    /// An operator is Degraded, or is not.
    Degraded { component: &'static str, is: bool },
}

impl Until {
    /// Whether the version of the cluster is as it should be; whoever waits for an operator does
    /// not look at it.
    pub(super) fn holds_for_cluster(self, cluster: &ClusterVersion) -> bool {
        let Some(status) = &cluster.status else { return false };
        match self {
            Self::Completed(version) => status.history.first().is_some_and(|newest| {
                newest.state == UpdateState::Completed && newest.version.as_deref() == Some(version)
            }),
            Self::Listed(version) => {
                let available = status.available_updates.iter().flatten();
                let conditional = status.conditional_updates.iter().map(|update| &update.release);
                available.chain(conditional).any(|release| release.version == version)
            }
            Self::Recommended(version) => {
                let mut available = status.available_updates.iter().flatten();
                available.any(|release| release.version == version)
            }
            Self::LookedAgain => Some(status.observed_generation) >= cluster.metadata.generation,
            Self::Degraded { .. } => false,
        }
    }

    /// Whether an operator is as it should be.
    pub(super) fn holds_for_operator(self, operator: &ClusterOperator) -> bool {
        let Self::Degraded { is, .. } = self else { return false };
        let conditions = operator.status.as_ref().map(|status| &status.conditions);
        conditions.is_some_and(|conditions| {
            if is { conditions.is_true("Degraded") } else { conditions.is_false("Degraded") }
        })
    }
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed(version) => write!(f, "{version} to be complete"),
            Self::Listed(version) => write!(f, "an update to {version} to be listed"),
            Self::Recommended(version) => write!(f, "an update to {version} to be recommended"),
            Self::LookedAgain => f.write_str("the operator to look again"),
            Self::Degraded { component, is: true } => write!(f, "{component} to be Degraded"),
            Self::Degraded { component, is: false } => write!(f, "{component} to have recovered"),
        }
    }
}

/// What 5.2.0 says about the cluster, which is something to think about.
const PREFLIGHT: Action =
    Action::Run(&["upgrade", "--mode=preflight", "--to=5.2.0", "--wait"], ExitStatus::Refused);

/// The tour, from 5.0.0 to 5.2.0.
pub(super) const TOUR: &[Step] = &[
    Step {
        title: "A platform",
        explanation: "Fairway is bringing a platform with six operators into this sandbox: release \
                      5.0.0, which says in which order they come. Then it asks the update service \
                      which updates there are.",
        actions: &[
            Action::Until(Until::Completed("5.0.0")),
            Action::Until(Until::Listed("5.0.1")),
            Action::Run(&["upgrade"], ExitStatus::Success),
        ],
    },
    Step {
        title: "An update",
        explanation: "An update is one field of ClusterVersion. Fairway reads the release by its \
                      digest, verifies its signature, asks whether anything speaks against it, and \
                      then applies what has changed. Its own Deployment is among that: the operator \
                      of the new release finishes what the old one has begun.",
        actions: &[
            Action::Run(&["upgrade", "--to=5.0.1"], ExitStatus::Success),
            Action::Until(Until::Completed("5.0.1")),
        ],
    },
    Step {
        title: "Something is degraded",
        explanation: "Now the storage operator reports that one of its disks is broken. It still \
                      works, so it must not stand in the way of the update that might repair it: \
                      what is degraded is reported, and the update goes on to its end.",
        actions: &[
            Action::Set {
                component: "storage",
                map: "storage-behaviour",
                key: "degraded",
                text: Some("One disk of three is broken."),
            },
            Action::Until(Until::Degraded { component: "storage", is: true }),
            Action::Until(Until::Recommended("5.1.0")),
            Action::Run(&["upgrade", "--to=5.1.0"], ExitStatus::Success),
            Action::Until(Until::Completed("5.1.0")),
            Action::Set {
                component: "storage",
                map: "storage-behaviour",
                key: "degraded",
                text: None,
            },
            Action::Until(Until::Degraded { component: "storage", is: false }),
        ],
    },
    Step {
        title: "A risk",
        explanation: "The next release is in another channel. Two things speak against it: the \
                      update service knows of a risk, and nobody here can tell whether it applies, \
                      for the sandbox has no metrics; and this release wants an administrator to \
                      confirm that nobody uses an API that 5.2 no longer has. So the update is \
                      refused, and the answer says what would be accepted, and how.",
        actions: &[
            Action::Run(&["upgrade", "channel", "stable-5.2"], ExitStatus::Success),
            Action::Until(Until::Listed("5.2.0")),
            Action::Run(&["upgrade", "--include-not-recommended"], ExitStatus::Success),
            Action::Run(&["upgrade", "--to=5.2.0"], ExitStatus::Refused),
        ],
    },
    Step {
        title: "Asking the release itself",
        explanation: "What 5.2.0 needs, 5.2.0 knows best. A preflight starts that release beside the \
                      one that runs, and lets it look: it may read, and nothing else. Its checks and \
                      those of its operators find two things here that nobody else could know of. The \
                      exit code is 3, for pipelines.",
        actions: &[PREFLIGHT],
    },
    Step {
        title: "A fix",
        explanation: "The finding about the storage driver says what to do, so the driver is brought \
                      up to date. Checks look again by themselves, those of operators once an hour; \
                      whoever does not want to wait asks again. What is fixed is gone.",
        actions: &[
            Action::Set {
                component: "storage",
                map: "csi-driver",
                key: "version",
                text: Some("2.4.0"),
            },
            PREFLIGHT,
        ],
    },
    Step {
        title: "Taking a risk",
        explanation: "What is left is a warning that does not matter here: it is accepted by its \
                      name, for this release alone, and with a reason. Then nothing that the release \
                      itself says stands against the update.",
        actions: &[
            Action::Run(
                &[
                    "upgrade",
                    "accept",
                    "CloudCredentialPermissionsIncomplete",
                    "--for=5.2.0",
                    "--reason=CHG-2041",
                ],
                ExitStatus::Success,
            ),
            Action::Until(Until::LookedAgain),
            Action::Run(&["upgrade", "--status-preflight"], ExitStatus::Success),
        ],
    },
    Step {
        title: "The update",
        explanation: "The two risks from before the preflight are left. Whoever knows better can \
                      accept exactly these, by name, for this update. It ends the preflight, and \
                      begins. The history of the cluster keeps what was accepted.",
        actions: &[
            Action::Run(&["upgrade", "--to=5.2.0", "--allow-not-recommended"], ExitStatus::Success),
            Action::Until(Until::Completed("5.2.0")),
            Action::Run(&["upgrade"], ExitStatus::Success),
        ],
    },
];

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    #[test]
    fn what_the_tour_shows() {
        let mut told = String::new();
        for step in TOUR {
            writeln!(told, "{}\n  {}", step.title, step.explanation).unwrap();
            for action in step.actions {
                let line = match action {
                    Action::Run(arguments, status) => {
                        format!("$ fairway {} ({})", arguments.join(" "), status.code())
                    }
                    Action::Set { component, map, key, text } => {
                        format!("{component}/{map}: {key}={}", text.unwrap_or("nothing"))
                    }
                    Action::Until(until) => format!("waits for {until}"),
                };
                writeln!(told, "  {line}").unwrap();
            }
        }
        insta::assert_snapshot!(told, @"
        A platform
          Fairway is bringing a platform with six operators into this sandbox: release 5.0.0, which says in which order they come. Then it asks the update service which updates there are.
          waits for 5.0.0 to be complete
          waits for an update to 5.0.1 to be listed
          $ fairway upgrade (0)
        An update
          An update is one field of ClusterVersion. Fairway reads the release by its digest, verifies its signature, asks whether anything speaks against it, and then applies what has changed. Its own Deployment is among that: the operator of the new release finishes what the old one has begun.
          $ fairway upgrade --to=5.0.1 (0)
          waits for 5.0.1 to be complete
        Something is degraded
          Now the storage operator reports that one of its disks is broken. It still works, so it must not stand in the way of the update that might repair it: what is degraded is reported, and the update goes on to its end.
          storage/storage-behaviour: degraded=One disk of three is broken.
          waits for storage to be Degraded
          waits for an update to 5.1.0 to be recommended
          $ fairway upgrade --to=5.1.0 (0)
          waits for 5.1.0 to be complete
          storage/storage-behaviour: degraded=nothing
          waits for storage to have recovered
        A risk
          The next release is in another channel. Two things speak against it: the update service knows of a risk, and nobody here can tell whether it applies, for the sandbox has no metrics; and this release wants an administrator to confirm that nobody uses an API that 5.2 no longer has. So the update is refused, and the answer says what would be accepted, and how.
          $ fairway upgrade channel stable-5.2 (0)
          waits for an update to 5.2.0 to be listed
          $ fairway upgrade --include-not-recommended (0)
          $ fairway upgrade --to=5.2.0 (3)
        Asking the release itself
          What 5.2.0 needs, 5.2.0 knows best. A preflight starts that release beside the one that runs, and lets it look: it may read, and nothing else. Its checks and those of its operators find two things here that nobody else could know of. The exit code is 3, for pipelines.
          $ fairway upgrade --mode=preflight --to=5.2.0 --wait (3)
        A fix
          The finding about the storage driver says what to do, so the driver is brought up to date. Checks look again by themselves, those of operators once an hour; whoever does not want to wait asks again. What is fixed is gone.
          storage/csi-driver: version=2.4.0
          $ fairway upgrade --mode=preflight --to=5.2.0 --wait (3)
        Taking a risk
          What is left is a warning that does not matter here: it is accepted by its name, for this release alone, and with a reason. Then nothing that the release itself says stands against the update.
          $ fairway upgrade accept CloudCredentialPermissionsIncomplete --for=5.2.0 --reason=CHG-2041 (0)
          waits for the operator to look again
          $ fairway upgrade --status-preflight (0)
        The update
          The two risks from before the preflight are left. Whoever knows better can accept exactly these, by name, for this update. It ends the preflight, and begins. The history of the cluster keeps what was accepted.
          $ fairway upgrade --to=5.2.0 --allow-not-recommended (0)
          waits for 5.2.0 to be complete
          $ fairway upgrade (0)
        ");
    }
}
