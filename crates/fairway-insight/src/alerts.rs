//! The alerts of a cluster, as its monitoring lists them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Bytes of the list of alerts: thousands of them.
pub const MAX_BYTES: usize = 16 << 20;

/// Alerts that are looked at; clusters in trouble have hundreds.
const MAX_ALERTS: usize = 10_000;

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

/// Whether alerts are known, for a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AlertsKnown {
    /// Whether they are.
    pub known: bool,
    /// Why they are not.
    pub why: Option<String>,
}

impl Alerts {
    /// Whether they are known, and why not.
    pub fn known(&self) -> AlertsKnown {
        let why = match self {
            Self::Known(_) => None,
            Self::NotRecorded => Some("the recording has no alerts".to_owned()),
            Self::NoMonitoring => Some("the cluster has no monitoring to ask".to_owned()),
            Self::Unreadable(why) => Some(why.clone()),
        };
        AlertsKnown { known: why.is_none(), why }
    }

    /// Those that are known.
    pub(crate) fn list(&self) -> &[Alert] {
        match self {
            Self::Known(alerts) => alerts,
            Self::NotRecorded | Self::NoMonitoring | Self::Unreadable(_) => &[],
        }
    }
}

/// An alert that is pending or firing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Alert {
    /// What it is about.
    pub labels: BTreeMap<String, String>,
    /// What people are told.
    pub annotations: BTreeMap<String, String>,
    /// `pending` or `firing`.
    pub state: String,
    /// Since when.
    pub active_at: Option<Timestamp>,
}

/// Why a list of alerts cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AlertsError {
    /// It is too large to be looked at.
    #[error("the list of alerts has {0} bytes, and at most {MAX_BYTES} are read")]
    TooLarge(usize),
    /// It is not a list of alerts.
    #[error("the list of alerts cannot be read: {0}")]
    Malformed(String),
    /// The server says that it has none.
    #[error("the monitoring has no list of alerts: {0}")]
    Refused(String),
    /// Nobody can look at so many.
    #[error("{0} alerts are more than the {MAX_ALERTS} that are looked at")]
    TooMany(usize),
}

#[derive(Deserialize)]
struct Answer {
    status: String,
    #[serde(default)]
    error: String,
    #[serde(default)]
    data: Data,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Data {
    alerts: Vec<Alert>,
}

/// Reads the answer of `/api/v1/alerts`.
pub fn read(json: &[u8]) -> Result<Vec<Alert>, AlertsError> {
    if json.len() > MAX_BYTES {
        return Err(AlertsError::TooLarge(json.len()));
    }
    let answer: Answer =
        serde_json::from_slice(json).map_err(|error| AlertsError::Malformed(error.to_string()))?;
    match answer.data.alerts {
        _ if answer.status != "success" => Err(AlertsError::Refused(answer.error)),
        alerts if alerts.len() > MAX_ALERTS => Err(AlertsError::TooMany(alerts.len())),
        alerts => Ok(alerts),
    }
}

impl Alert {
    /// A label; empty where there is none.
    pub(crate) fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }

    fn annotation(&self, name: &str) -> &str {
        self.annotations.get(name).map_or("", |text| text.trim())
    }

    /// Its name, where it has one and is more than pending.
    pub(crate) fn firing_name(&self) -> Option<&str> {
        let name = self.label("alertname");
        (!name.is_empty() && self.state != "pending").then_some(name)
    }

    /// What it is about, in short: the name where it does not say.
    pub(crate) fn summary(&self) -> &str {
        match self.annotation("summary") {
            "" => self.label("alertname"),
            summary => summary,
        }
    }

    /// What it says at length.
    pub(crate) fn description(&self) -> String {
        match (self.annotation("description"), self.annotation("message")) {
            ("", "") => "The alert has no description.".to_owned(),
            ("", text) | (text, "") => format!("The alert description is: {text}"),
            (description, message) => {
                format!("The alert description is: {description} | {message}")
            }
        }
    }

    /// Where to read what to do about it.
    pub(crate) fn runbook(&self) -> &str {
        match self.annotation("runbook_url") {
            "" => "<alert does not have a runbook_url annotation>",
            url => url,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_alerts_is_read() {
        let json = br#"{"status": "success", "data": {"alerts": [
            {"labels": {"alertname": "A"}, "state": "firing", "activeAt": "2026-01-01T00:00:00.5Z", "value": "1e+00"},
            {"labels": {"alertname": "B"}, "state": "pending"}, {"state": "firing"}]}}"#;
        let alerts = read(json).unwrap();
        let names: Vec<_> = alerts.iter().map(Alert::firing_name).collect();
        assert_eq!(names, [Some("A"), None, None]);
        assert!(alerts[0].active_at.is_some());
        assert_eq!(alerts[0].summary(), "A");
    }

    #[test]
    fn what_is_no_list_says_why() {
        let refused = [
            &b"nothing"[..],
            br#"{"status": "error", "error": "shutting down"}"#,
            &vec![b' '; MAX_BYTES + 1],
        ]
        .map(|json| read(json).unwrap_err().to_string());
        insta::assert_snapshot!(refused.join("\n"), @"
        the list of alerts cannot be read: expected ident at line 1 column 2
        the monitoring has no list of alerts: shutting down
        the list of alerts has 16777217 bytes, and at most 16777216 are read
        ");
    }
}
