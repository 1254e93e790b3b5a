//! Steps of the tour: explanations, actions and conditions.

use std::fmt;

use fairway_api::cluster_version::UpdateState;
use fairway_api::{ClusterOperator, ClusterVersion, Conditions as _};

use crate::exit::ExitStatus;

/// A step of the tour.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// The title.
    pub(super) title: &'static str,
    /// The explanation.
    pub(super) explanation: &'static str,
    /// The actions in order.
    pub(super) actions: &'static [Action],
}

/// Action of a step, or a condition that it waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// Runs the binary with these arguments, which has to return this status.
    Run(&'static [&'static str], ExitStatus),
    /// Sets a key in a ConfigMap of a component; `None` removes it.
    Set {
        component: &'static str,
        map: &'static str,
        key: &'static str,
        text: Option<&'static str>,
    },
    /// Waits for a condition.
    WaitCondition(WaitCondition),
}

/// Condition that a step waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum WaitCondition {
    /// The cluster has completed the release of this version.
    Completed(&'static str),
    /// An update to this version is listed, recommended or not.
    Listed(&'static str),
    /// An update to this version is recommended, and the previous update is complete.
    Recommended(&'static str),
    /// The operator has processed all requests and accepted risks.
    LookedAgain,
    /// An operator is Degraded, or is not.
    Degraded { component: &'static str, is: bool },
}

impl WaitCondition {
    /// Whether ClusterVersion meets the condition. Always true for a condition on an operator.
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

    /// Whether a ClusterOperator meets the condition.
    pub(super) fn holds_for_operator(self, operator: &ClusterOperator) -> bool {
        let Self::Degraded { is, .. } = self else { return false };
        let conditions = operator.status.as_ref().map(|status| &status.conditions);
        conditions.is_some_and(|conditions| {
            if is { conditions.is_true("Degraded") } else { conditions.is_false("Degraded") }
        })
    }
}

impl fmt::Display for WaitCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed(version) => write!(f, "{version} to be complete"),
            Self::Listed(version) => write!(f, "an update to {version} to be listed"),
            Self::Recommended(version) => write!(f, "an update to {version} to be recommended"),
            Self::LookedAgain => f.write_str("the operator to re-evaluate the risks"),
            Self::Degraded { component, is: true } => write!(f, "{component} to be Degraded"),
            Self::Degraded { component, is: false } => write!(f, "{component} to recover"),
        }
    }
}

/// A preflight of 5.2.0, which has findings.
const PREFLIGHT: Action =
    Action::Run(&["upgrade", "--mode=preflight", "--to=5.2.0", "--wait"], ExitStatus::Refused);

/// The tour, from 5.0.0 to 5.2.0.
pub(super) const TOUR: &[Step] = &[
    Step {
        title: "Platform installation",
        explanation: "Fairway installs release 5.0.0, a platform with six operators, in this \
                      sandbox. The release defines the rollout order. Then the operator retrieves \
                      the available updates from the update service.",
        actions: &[
            Action::WaitCondition(WaitCondition::Completed("5.0.0")),
            Action::WaitCondition(WaitCondition::Listed("5.0.1")),
            Action::Run(&["upgrade"], ExitStatus::Success),
        ],
    },
    Step {
        title: "Update",
        explanation: "An update request is one field of ClusterVersion. The operator reads the \
                      release by its digest, verifies its signature, checks preconditions and \
                      risks, and then applies the changed manifests. They include its own Deployment: the \
                      operator of the new release completes the rollout.",
        actions: &[
            Action::Run(&["upgrade", "--to=5.0.1"], ExitStatus::Success),
            Action::WaitCondition(WaitCondition::Completed("5.0.1")),
        ],
    },
    Step {
        title: "Degraded operator",
        explanation: "The storage operator reports a broken disk. It is degraded but available, and \
                      the update may contain the fix. Degraded operators are reported and never \
                      block an update.",
        actions: &[
            Action::Set {
                component: "storage",
                map: "storage-behaviour",
                key: "degraded",
                text: Some("One disk of three is broken."),
            },
            Action::WaitCondition(WaitCondition::Degraded { component: "storage", is: true }),
            Action::WaitCondition(WaitCondition::Recommended("5.1.0")),
            Action::Run(&["upgrade", "--to=5.1.0"], ExitStatus::Success),
            Action::WaitCondition(WaitCondition::Completed("5.1.0")),
            Action::Set {
                component: "storage",
                map: "storage-behaviour",
                key: "degraded",
                text: None,
            },
            Action::WaitCondition(WaitCondition::Degraded { component: "storage", is: false }),
        ],
    },
    Step {
        title: "Risks",
        explanation: "The next release is in another channel and has two risks. The update service \
                      publishes one of them; whether it applies is unknown, because the sandbox has \
                      no metrics. The other one is an admin gate: an administrator has to \
                      acknowledge that no client uses an API that 5.2 removes. The command refuses \
                      the update and shows how to accept the risks.",
        actions: &[
            Action::Run(&["upgrade", "channel", "stable-5.2"], ExitStatus::Success),
            Action::WaitCondition(WaitCondition::Listed("5.2.0")),
            Action::Run(&["upgrade", "--include-not-recommended"], ExitStatus::Success),
            Action::Run(&["upgrade", "--to=5.2.0"], ExitStatus::Refused),
        ],
    },
    Step {
        title: "Preflight",
        explanation: "A preflight runs the checks of release 5.2.0 against the cluster, with read \
                      permissions only. The built-in checks and the checks of the operators report \
                      two findings. The exit code for pipelines is 3.",
        actions: &[PREFLIGHT],
    },
    Step {
        title: "Remediation",
        explanation: "The finding about the storage driver has a remediation: update the driver. \
                      The preflight repeats built-in checks when the cluster changes, and checks of \
                      operators once an hour. A new request repeats them immediately. The finding \
                      is resolved.",
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
        title: "Risk acceptance",
        explanation: "The remaining finding is a warning that is not relevant here. Accept it by \
                      name, only for this release, with a reason. Then the preflight has no \
                      unaccepted findings.",
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
            Action::WaitCondition(WaitCondition::LookedAgain),
            Action::Run(&["upgrade", "--status-preflight"], ExitStatus::Success),
        ],
    },
    Step {
        title: "Minor update",
        explanation: "The two risks of the update remain. The command accepts exactly these risks \
                      by name for this update. The request ends the preflight and starts the \
                      update. The update history of the cluster records the accepted risks.",
        actions: &[
            Action::Run(&["upgrade", "--to=5.2.0", "--allow-not-recommended"], ExitStatus::Success),
            Action::WaitCondition(WaitCondition::Completed("5.2.0")),
            Action::Run(&["upgrade"], ExitStatus::Success),
        ],
    },
];
