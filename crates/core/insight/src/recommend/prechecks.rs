//! Checks of the alerts before an update.

use schemars::JsonSchema;
use serde::Serialize;

use crate::alerts::{Alert, Alerts, description, firing_name, runbook};

/// Result of a check before an update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Precheck {
    /// Name of the check, followed by the alert if it found one.
    #[serde(rename = "type")]
    pub type_: String,
    /// Name by which the result is accepted: the name of the alert.
    pub name: String,
    /// Whether the check found no problem.
    pub passed: bool,
    /// Reason, one CamelCase word.
    pub reason: String,
    /// Human-readable details.
    pub message: String,
}

/// Group of alerts with one meaning for updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Critical,
    PodDisruptionBudget,
    PodImagePull,
    Node,
    UpdatePrecheck,
    Virt,
}

use Group::{Critical, Node, PodDisruptionBudget, PodImagePull, UpdatePrecheck, Virt};

/// Groups that are also reported if no alert is firing.
const ALWAYS_REPORTED: [Group; 5] =
    [Critical, PodDisruptionBudget, PodImagePull, Node, UpdatePrecheck];

impl Group {
    /// First group that matches an alert.
    fn of(alert: &Alert, name: &str) -> Option<Self> {
        Some(match name {
            _ if alert.label("severity") == "critical" => Critical,
            "PodDisruptionBudgetAtLimit" => PodDisruptionBudget,
            "KubeContainerWaiting" => PodImagePull,
            "KubeletHealthState"
            | "KubeNodeNotReady"
            | "KubeNodeReadinessFlapping"
            | "KubeNodeUnreachable" => Node,
            _ if alert.label("openShiftUpdatePrecheck") == "true" => UpdatePrecheck,
            "VirtHandlerDaemonSetRolloutFailing" | "VMCannotBeEvicted" => Virt,
            _ => return None,
        })
    }

    fn type_(self) -> &'static str {
        match self {
            Critical => "recommended/CriticalAlerts",
            PodDisruptionBudget => "recommended/PodDisruptionBudgetAlerts",
            PodImagePull => "recommended/PodImagePullAlerts",
            Node => "recommended/NodeAlerts",
            UpdatePrecheck => "recommended/UpdatePrecheckAlerts",
            Virt => "recommended/VirtAlerts",
        }
    }

    /// Effect of the alerts on an update.
    fn meaning(self) -> &'static str {
        match self {
            Critical => "suggesting significant cluster issues worth investigating",
            PodDisruptionBudget => "which might slow node drains",
            PodImagePull | Node | Virt => {
                "which may slow workload redistribution during rolling node updates"
            }
            UpdatePrecheck => "suggesting issues worth investigating before updating the cluster",
        }
    }
}

/// Results of the checks: failed ones in the order of the alerts, then passed ones.
pub(super) fn of(alerts: &Alerts) -> Vec<Precheck> {
    let Alerts::Known(alerts) = alerts else { return Vec::new() };
    let grouped = alerts.iter().filter_map(|alert| {
        let name = firing_name(alert)?;
        Some((Group::of(alert, name)?, alert, name))
    });
    let mut silent = ALWAYS_REPORTED.to_vec();
    let mut prechecks = Vec::new();
    for (index, (group, alert, name)) in grouped.enumerate() {
        let budget = group == PodDisruptionBudget || name == "PodDisruptionBudgetLimit";
        silent.retain(|other| *other != group && !(budget && *other == PodDisruptionBudget));
        prechecks.push(Precheck {
            type_: format!("{}/{name}/{index}", group.type_()),
            name: name.to_owned(),
            passed: false,
            reason: format!("Alert:{}", alert.state),
            message: message_of(alert, name, group, budget),
        });
    }
    prechecks.extend(silent.into_iter().map(|group| Precheck {
        type_: group.type_().to_owned(),
        name: group.type_().to_owned(),
        passed: true,
        reason: "AsExpected".to_owned(),
        message: "no such alerts are firing".to_owned(),
    }));
    prechecks
}

fn message_of(alert: &Alert, name: &str, group: Group, budget: bool) -> String {
    let severity = match alert.label("severity") {
        "" => "unknown-severity",
        severity => severity,
    };
    let place = if budget {
        let (namespace, budget) = (alert.label("namespace"), alert.label("poddisruptionbudget"));
        format!("Namespace={namespace}, PodDisruptionBudget={budget}. ")
    } else {
        String::new()
    };
    let summary = alert.summary();
    let end = if summary.ends_with('.') { "" } else { "." };
    format!(
        "{severity} alert {name} {state}, {meaning}. {place}{summary}{end} {description} {runbook}",
        state = alert.state,
        meaning = group.meaning(),
        description = description(alert),
        runbook = runbook(alert),
    )
}
