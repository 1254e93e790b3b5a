//! Alerts of a cluster, and whether they are available.

pub use fairway_risk::alerts::{Alert, AlertsError, MAX_BYTES, read};
use schemars::JsonSchema;
use serde::Serialize;

/// Alerts of a cluster. Unknown alerts are never treated as no alerts.
#[derive(Clone, Debug)]
pub enum Alerts {
    /// Pending and firing alerts.
    Known(Vec<Alert>),
    /// The recording has no alerts.
    NotRecorded,
    /// The cluster has no metrics service.
    NoMonitoring,
    /// The alerts could not be read, for this reason.
    Unreadable(String),
}

/// Whether the alerts of the cluster are available.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AlertAvailability {
    /// Whether the alerts could be read.
    pub available: bool,
    /// Why they could not be read.
    pub message: Option<String>,
}

impl Alerts {
    /// Whether the alerts are available, or why not.
    pub fn known(&self) -> AlertAvailability {
        let why = match self {
            Self::Known(_) => None,
            Self::NotRecorded => Some("the recorded cluster contains no alert data".to_owned()),
            Self::NoMonitoring => Some("the cluster has no metrics service".to_owned()),
            Self::Unreadable(why) => Some(why.clone()),
        };
        AlertAvailability { available: why.is_none(), message: why }
    }

    /// Available alerts.
    pub(crate) fn list(&self) -> &[Alert] {
        match self {
            Self::Known(alerts) => alerts,
            Self::NotRecorded | Self::NoMonitoring | Self::Unreadable(_) => &[],
        }
    }
}

/// Name of a firing alert.
pub(crate) fn firing_name(alert: &Alert) -> Option<&str> {
    let name = alert.name();
    (!name.is_empty() && alert.state != "pending").then_some(name)
}

/// Description of an alert, as in `oc adm upgrade status`.
pub(crate) fn description(alert: &Alert) -> String {
    match (alert.annotation("description"), alert.annotation("message")) {
        ("", "") => "The alert has no description.".to_owned(),
        ("", text) | (text, "") => format!("The alert description is: {text}"),
        (description, message) => format!("The alert description is: {description} | {message}"),
    }
}

/// URL of the runbook of an alert.
pub(crate) fn runbook(alert: &Alert) -> &str {
    match alert.annotation("runbook_url") {
        "" => "<alert does not have a runbook_url annotation>",
        url => url,
    }
}
