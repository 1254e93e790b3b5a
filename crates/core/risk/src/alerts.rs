//! The alerts of a cluster, as its monitoring lists them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;

use crate::text;

/// Bytes of the list of alerts: thousands of them.
pub const MAX_BYTES: usize = 16 << 20;

/// Alerts that are looked at; clusters in trouble have hundreds.
const MAX_ALERTS: usize = 10_000;

/// Bytes that are quoted of what a server says in place of a list.
const QUOTED: usize = 200;

/// Why a list of alerts cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AlertsError {
    /// It is too large to be looked at.
    #[error("the list of alerts has {0} bytes; the limit is {MAX_BYTES} bytes")]
    TooLarge(usize),
    /// It is not a list of alerts.
    #[error("cannot parse the list of alerts: {0}")]
    Malformed(String),
    /// The server says that it has none.
    #[error("the metrics server returned no list of alerts: {0}")]
    Refused(String),
    /// Nobody can look at so many.
    #[error("{0} alerts exceed the limit of {MAX_ALERTS}")]
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
    /// Alerts are also listed with the rules that they are of.
    groups: Vec<Group>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Group {
    rules: Vec<Rule>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Rule {
    alerts: Vec<Alert>,
}

impl Data {
    fn into_alerts(self) -> Vec<Alert> {
        let rules = self.groups.into_iter().flat_map(|group| group.rules);
        self.alerts.into_iter().chain(rules.flat_map(|rule| rule.alerts)).collect()
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
    active_at: Option<String>,
}

/// Reads the answer of `/api/v1/alerts`, or of `/api/v1/rules`.
pub fn read(json: &[u8]) -> Result<Vec<Alert>, AlertsError> {
    if json.len() > MAX_BYTES {
        return Err(AlertsError::TooLarge(json.len()));
    }
    let answer: Answer = serde_json::from_slice(json)
        .map_err(|error| AlertsError::Malformed(text::excerpt(&error.to_string(), QUOTED)))?;
    match answer.data.into_alerts() {
        _ if answer.status != "success" => {
            Err(AlertsError::Refused(text::excerpt(&answer.error, QUOTED)))
        }
        alerts if alerts.len() > MAX_ALERTS => Err(AlertsError::TooMany(alerts.len())),
        alerts => Ok(alerts),
    }
}

impl Alert {
    /// A label; empty where there is none.
    pub fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }

    /// What people are told under that name; empty where that is nothing.
    pub fn annotation(&self, name: &str) -> &str {
        self.annotations.get(name).map_or("", |text| text.trim())
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        self.label("alertname")
    }

    /// What it is about, in short: the name where it does not say.
    pub fn summary(&self) -> &str {
        match self.annotation("summary") {
            "" => self.name(),
            summary => summary,
        }
    }

    /// Since when it is there, if it says so.
    pub fn since(&self) -> Option<Timestamp> {
        self.active_at.as_ref()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_alerts_is_read() {
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
    fn alerts_are_also_read_from_the_rules_that_they_are_of() {
        let json = br#"{"status": "success", "data": {"groups": [{"name": "g", "rules": [
            {"type": "recording", "name": "r"},
            {"type": "alerting", "name": "A", "alerts": [{"labels": {"alertname": "A"}, "state": "firing"}]}]}]}}"#;
        assert_eq!(read(json).unwrap()[0].name(), "A");
    }

    #[test]
    fn what_is_no_list_says_why_and_not_more() {
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
        assert!(read(long.as_bytes()).unwrap_err().to_string().len() < 2 * QUOTED);
    }
}
