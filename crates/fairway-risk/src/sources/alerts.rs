//! Alerts that should be looked into before an update.

use std::collections::BTreeMap;

use fairway_api::ConditionStatus;
use fairway_api::reason::applies;
use jiff::Timestamp;
use serde::Deserialize;

use super::{MAX_TEXT, docs};
use crate::legal;
use crate::risk::{Claim, Concern, Risk, Source, Targets};
use crate::text;

/// Bytes of the list of alerts: thousands of them.
const MAX_BYTES: usize = 16 << 20;

/// Alerts of different names that become risks; the names of more are listed in one.
const MAX_NAMES: usize = 100;

/// Where alerts without a runbook of their own lead.
const NO_RUNBOOK: &str =
    "https://github.com/openshift/runbooks/tree/master/alerts?runbook=notfound";

/// Alerts about nodes, which an update drains one by one.
const NODE_ALERTS: &[&str] = &[
    "KubeContainerWaiting",
    "KubeletHealthState",
    "KubeNodeNotReady",
    "KubeNodeReadinessFlapping",
    "KubeNodeUnreachable",
    "VirtHandlerDaemonSetRolloutFailing",
    "VMCannotBeEvicted",
];

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
    #[error("the metrics server has no list of alerts: {0}")]
    Refused(String),
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
struct Data {
    #[serde(default)]
    alerts: Vec<Alert>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Alert {
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    #[serde(default)]
    state: String,
    active_at: Option<String>,
}

/// The concerns that firing alerts raise, from the answer of `/api/v1/alerts`, by name.
pub fn alerts(json: &[u8]) -> Result<Vec<Concern>, AlertsError> {
    if json.len() > MAX_BYTES {
        return Err(AlertsError::TooLarge(json.len()));
    }
    let answer: Answer = serde_json::from_slice(json)
        .map_err(|error| AlertsError::Malformed(text::excerpt(&error.to_string(), 200)))?;
    if answer.status != "success" {
        return Err(AlertsError::Refused(text::excerpt(&answer.error, 200)));
    }
    let mut by_name: BTreeMap<&str, Vec<(&Alert, &str)>> = BTreeMap::new();
    for alert in &answer.data.alerts {
        if let Some(impact) = alert.impact() {
            by_name.entry(alert.name()).or_default().push((alert, impact));
        }
    }
    let surplus = by_name.keys().skip(MAX_NAMES).map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let shown = by_name.iter().take(MAX_NAMES).map(|(name, alerts)| concern(name, alerts));
    Ok(shown.chain((!surplus.is_empty()).then(|| more(&surplus))).collect())
}

impl Alert {
    fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }

    fn annotation(&self, name: &str) -> &str {
        self.annotations.get(name).map_or("", |text| text.trim())
    }

    fn name(&self) -> &str {
        self.label("alertname")
    }

    /// What a firing alert means for an update; none where it means nothing.
    fn impact(&self) -> Option<&'static str> {
        if self.state != "firing" {
            return None;
        }
        match self.name() {
            _ if self.label("severity") == "critical" => {
                Some("suggesting significant cluster issues worth investigating")
            }
            "PodDisruptionBudgetAtLimit" => Some("which might slow node drains"),
            name if NODE_ALERTS.contains(&name) => {
                Some("which may slow workload redistribution during rolling node updates")
            }
            _ if self.label("openShiftUpdatePrecheck") == "true" => {
                Some("suggesting issues worth investigating before updating the cluster")
            }
            _ => None,
        }
    }

    fn summary(&self) -> String {
        let summary = match self.annotation("summary") {
            "" => self.name(),
            summary => summary,
        };
        let end = if summary.ends_with('.') { "" } else { "." };
        format!("{}{end}", text::excerpt(summary, MAX_TEXT))
    }

    fn runbook(&self) -> &str {
        let url = self.annotation("runbook_url");
        if legal::url_defect(url).is_none() { url } else { NO_RUNBOOK }
    }

    /// Everything there is to say about this one.
    fn told(&self, impact: &str) -> String {
        let severity = match self.label("severity") {
            "" => "alert".to_owned(),
            severity => format!("{severity} alert"),
        };
        let place = match self.name() {
            "PodDisruptionBudgetAtLimit" => format!(
                " Namespace={}, PodDisruptionBudget={}.",
                self.label("namespace"),
                self.label("poddisruptionbudget")
            ),
            _ => String::new(),
        };
        let description = match (self.annotation("description"), self.annotation("message")) {
            ("", "") => "The alert has no description.".to_owned(),
            ("", text) | (text, _) => format!("The alert description is: {text}"),
        };
        let told = format!(
            "{severity} {name} firing, {impact}.{place} {summary} {description} {runbook}",
            name = self.name(),
            summary = self.summary(),
            runbook = self.runbook(),
        );
        text::excerpt(&told, MAX_TEXT)
    }
}

/// The concern of all alerts of one name.
fn concern(name: &str, alerts: &[(&Alert, &str)]) -> Concern {
    let mut told: Vec<String> = alerts.iter().map(|(alert, impact)| alert.told(impact)).collect();
    told.sort();
    told.dedup();
    let times = alerts.iter().filter_map(|(alert, _)| alert.active_at.as_ref()?.parse().ok());
    let since: Option<Timestamp> = times.min();
    let told = text::join(&told, "; ", 2 * MAX_TEXT);
    let claim = Claim { since, ..Claim::new(ConditionStatus::True, applies::ALERT_FIRING, told) };
    let first = alerts.iter().map(|(alert, _)| (alert.summary(), alert.runbook())).min();
    let (summary, runbook) = first.unwrap_or_default();
    let risk = Risk::always(name, summary, runbook).claiming(claim);
    Concern { risk, source: Source::Alert, targets: Targets::All }
}

fn more(names: &[String]) -> Concern {
    let message = format!(
        "{} more alerts are firing that should be looked into before an update: {}",
        names.len(),
        text::join(names, ", ", MAX_TEXT)
    );
    let claim = Claim::new(ConditionStatus::True, applies::ALERT_FIRING, message.clone());
    let risk = Risk::always("MoreAlerts", message, docs("alerts")).claiming(claim);
    Concern { risk, source: Source::Alert, targets: Targets::All }
}
