//! Alerts of a cluster, as Prometheus lists them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;

use crate::text;

/// Bytes of a list of alerts: enough for thousands.
pub const MAX_BYTES: usize = 16 << 20;

/// Alerts in a list; clusters in trouble have hundreds.
const MAX_ALERTS: usize = 10_000;

/// Bytes that are quoted of an error response.
const MAX_QUOTED_BYTES: usize = 200;

/// Reason why a list of alerts cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AlertsError {
    /// The list has too many bytes.
    #[error("the list of alerts has {0} bytes; the limit is {MAX_BYTES} bytes")]
    TooLarge(usize),
    /// The response is not a list of alerts.
    #[error("cannot parse the list of alerts: {0}")]
    Malformed(String),
    /// The server returned an error.
    #[error("the metrics server returned no list of alerts: {0}")]
    Refused(String),
    /// The list has too many alerts.
    #[error("{0} alerts exceed the limit of {MAX_ALERTS}")]
    TooMany(usize),
}

#[derive(Deserialize)]
struct AlertsResponse {
    status: String,
    #[serde(default)]
    error: String,
    #[serde(default)]
    data: ResponseData,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseData {
    alerts: Vec<Alert>,
    /// `/api/v1/rules` lists alerts below their rules.
    groups: Vec<RuleGroup>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RuleGroup {
    rules: Vec<AlertingRule>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AlertingRule {
    alerts: Vec<Alert>,
}

impl ResponseData {
    fn into_alerts(self) -> Vec<Alert> {
        let rules = self.groups.into_iter().flat_map(|group| group.rules);
        self.alerts.into_iter().chain(rules.flat_map(|rule| rule.alerts)).collect()
    }
}

/// A pending or firing alert.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Alert {
    /// Labels of the alert.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the alert.
    pub annotations: BTreeMap<String, String>,
    /// `pending` or `firing`.
    pub state: String,
    active_at: Option<String>,
}

/// Reads a response of `/api/v1/alerts` or `/api/v1/rules`.
pub fn read(json: &[u8]) -> Result<Vec<Alert>, AlertsError> {
    if json.len() > MAX_BYTES {
        return Err(AlertsError::TooLarge(json.len()));
    }
    let response: AlertsResponse = serde_json::from_slice(json).map_err(|error| {
        AlertsError::Malformed(text::truncate(&error.to_string(), MAX_QUOTED_BYTES))
    })?;
    match response.data.into_alerts() {
        _ if response.status != "success" => {
            Err(AlertsError::Refused(text::truncate(&response.error, MAX_QUOTED_BYTES)))
        }
        alerts if alerts.len() > MAX_ALERTS => Err(AlertsError::TooMany(alerts.len())),
        alerts => Ok(alerts),
    }
}

impl Alert {
    /// Value of a label; empty if it is missing.
    pub fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }

    /// Value of an annotation; empty if it is missing.
    pub fn annotation(&self, name: &str) -> &str {
        self.annotations.get(name).map_or("", |text| text.trim())
    }

    /// Name of the alert.
    pub fn name(&self) -> &str {
        self.label("alertname")
    }

    /// Summary of the alert, or its name if it has none.
    pub fn summary(&self) -> &str {
        match self.annotation("summary") {
            "" => self.name(),
            summary => summary,
        }
    }

    /// Time since which the alert is active.
    pub fn since(&self) -> Option<Timestamp> {
        self.active_at.as_ref()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_returns_alerts() {
        let json = br#"{"status": "success", "data": {"alerts": [
            {"labels": {"alertname": "A"}, "state": "firing", "activeAt": "2026-01-01T00:00:00.5Z", "value": "1e+00"},
            {"labels": {"alertname": "B"}, "state": "pending", "activeAt": "yesterday"}, {"state": "firing"}]}}"#;
        let alerts = read(json).unwrap();
        let names: Vec<_> = alerts.iter().map(Alert::name).collect();
        assert_eq!(names, ["A", "B", ""]);
        assert_eq!(alerts.iter().filter(|alert| alert.since().is_some()).count(), 1);
        assert_eq!(alerts[0].summary(), "A");
    }

    #[test]
    fn read_of_rules_response_returns_alerts() {
        let json = br#"{"status": "success", "data": {"groups": [{"name": "g", "rules": [
            {"type": "recording", "name": "r"},
            {"type": "alerting", "name": "A", "alerts": [{"labels": {"alertname": "A"}, "state": "firing"}]}]}]}}"#;
        assert_eq!(read(json).unwrap()[0].name(), "A");
    }

    #[test]
    fn read_of_invalid_list_fails() {
        let long = format!(r#"{{"status": "error", "error": "{}"}}"#, "x".repeat(1000));
        let alerts = vec!["{}"; MAX_ALERTS + 1].join(",");
        let many = format!(r#"{{"status": "success", "data": {{"alerts": [{alerts}]}}}}"#);
        let refused = [
            &b"nothing"[..],
            br#"{"status": "error", "error": "shutting down"}"#,
            &vec![b' '; MAX_BYTES + 1],
            many.as_bytes(),
        ]
        .map(|json| read(json).unwrap_err().to_string());
        insta::assert_snapshot!(refused.join("\n"), @"
        cannot parse the list of alerts: expected ident at line 1 column 2
        the metrics server returned no list of alerts: shutting down
        the list of alerts has 16777217 bytes; the limit is 16777216 bytes
        10001 alerts exceed the limit of 10000
        ");
        assert!(read(long.as_bytes()).unwrap_err().to_string().len() < 2 * MAX_QUOTED_BYTES);
    }
}
