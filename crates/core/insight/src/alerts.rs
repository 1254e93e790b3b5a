//! The alerts of a cluster, and what is known about them.

pub use fairway_risk::alerts::{Alert, AlertsError, MAX_BYTES, read};
use schemars::JsonSchema;
use serde::Serialize;

/// What is known about alerts. That nothing is known is never mistaken for silence.
#[derive(Clone, Debug)]
pub enum Alerts {
    /// These are pending or firing.
    Known(Vec<Alert>),
    /// The recording has none.
    NotRecorded,
    /// The cluster has no monitoring that could be asked.
    NoMonitoring,
    /// They could not be read, and this is why.
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
    /// Whether they are known, and why not.
    pub fn known(&self) -> AlertAvailability {
        let why = match self {
            Self::Known(_) => None,
            Self::NotRecorded => Some("the recorded cluster has no alerts".to_owned()),
            Self::NoMonitoring => Some("the cluster has no metrics service".to_owned()),
            Self::Unreadable(why) => Some(why.clone()),
        };
        AlertAvailability { available: why.is_none(), message: why }
    }

    /// Those that are known.
    pub(crate) fn list(&self) -> &[Alert] {
        match self {
            Self::Known(alerts) => alerts,
            Self::NotRecorded | Self::NoMonitoring | Self::Unreadable(_) => &[],
        }
    }
}

/// Its name, where it has one and is more than pending.
pub(crate) fn firing_name(alert: &Alert) -> Option<&str> {
    let name = alert.name();
    (!name.is_empty() && alert.state != "pending").then_some(name)
}

/// What it says at length.
pub(crate) fn description(alert: &Alert) -> String {
    match (alert.annotation("description"), alert.annotation("message")) {
        ("", "") => "The alert has no description.".to_owned(),
        ("", text) | (text, "") => format!("The alert description is: {text}"),
        (description, message) => format!("The alert description is: {description} | {message}"),
    }
}

/// Where to read what to do about it.
pub(crate) fn runbook(alert: &Alert) -> &str {
    match alert.annotation("runbook_url") {
        "" => "<alert does not have a runbook_url annotation>",
        url => url,
    }
}
