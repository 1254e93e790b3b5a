//! Firing alerts to investigate before an update. The selection and texts follow `oc adm upgrade
//! recommend`.

use std::collections::BTreeMap;

use fairway_api::ConditionStatus;
use fairway_api::reason::applies;
use jiff::Timestamp;

use super::names::MORE_ALERTS;
use super::{MAX_TEXT_BYTES, docs};
use crate::alerts::{self, Alert, AlertsError};
use crate::risk::{AffectedUpdates, ReportedRisk, Risk, RiskAssessment, RiskSource};
use crate::text;
use crate::validation;

/// Alert names that become risks; further names are listed in one risk.
const MAX_ALERT_NAMES: usize = 100;

/// URL for alerts without a runbook.
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

/// The risks of firing alerts in a response of `/api/v1/alerts`, by name.
pub fn alerts(json: &[u8]) -> Result<Vec<ReportedRisk>, AlertsError> {
    let alerts = alerts::read(json)?;
    let mut by_name: BTreeMap<&str, Vec<(&Alert, &str)>> = BTreeMap::new();
    for alert in &alerts {
        if let Some(impact) = impact(alert) {
            by_name.entry(alert.name()).or_default().push((alert, impact));
        }
    }
    let surplus =
        by_name.keys().skip(MAX_ALERT_NAMES).map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let shown = by_name.iter().take(MAX_ALERT_NAMES).map(|(name, alerts)| alert_risk(name, alerts));
    Ok(shown.chain((!surplus.is_empty()).then(|| more_alerts(&surplus))).collect())
}

/// Impact of a firing alert on an update; `None` if it has none.
fn impact(alert: &Alert) -> Option<&'static str> {
    if alert.state != "firing" {
        return None;
    }
    match alert.name() {
        _ if alert.label("severity") == "critical" => {
            Some("suggesting significant cluster issues worth investigating")
        }
        "PodDisruptionBudgetAtLimit" => Some("which might slow node drains"),
        name if NODE_ALERTS.contains(&name) => {
            Some("which may slow workload redistribution during rolling node updates")
        }
        _ if alert.label("openShiftUpdatePrecheck") == "true" => {
            Some("suggesting issues worth investigating before updating the cluster")
        }
        _ => None,
    }
}

/// Summary of an alert as a sentence.
fn sentence(alert: &Alert) -> String {
    let summary = alert.summary();
    let end = if summary.ends_with('.') { "" } else { "." };
    format!("{}{end}", text::truncate(summary, MAX_TEXT_BYTES))
}

fn runbook(alert: &Alert) -> &str {
    let url = alert.annotation("runbook_url");
    if validation::url_defect(url).is_none() { url } else { NO_RUNBOOK }
}

/// Description of one alert.
fn description(alert: &Alert, impact: &str) -> String {
    let severity = match alert.label("severity") {
        "" => "alert".to_owned(),
        severity => format!("{severity} alert"),
    };
    let location = match alert.name() {
        "PodDisruptionBudgetAtLimit" => format!(
            " Namespace={}, PodDisruptionBudget={}.",
            alert.label("namespace"),
            alert.label("poddisruptionbudget")
        ),
        _ => String::new(),
    };
    let description = match (alert.annotation("description"), alert.annotation("message")) {
        ("", "") => "The alert has no description.".to_owned(),
        ("", text) | (text, _) => format!("The alert description is: {text}"),
    };
    let description = format!(
        "{severity} {name} firing, {impact}.{location} {summary} {description} {runbook}",
        name = alert.name(),
        summary = sentence(alert),
        runbook = runbook(alert),
    );
    text::truncate(&description, MAX_TEXT_BYTES)
}

/// The risk of all alerts with one name.
fn alert_risk(name: &str, alerts: &[(&Alert, &str)]) -> ReportedRisk {
    let mut description: Vec<String> =
        alerts.iter().map(|(alert, impact)| description(alert, impact)).collect();
    description.sort();
    description.dedup();
    let times = alerts.iter().filter_map(|(alert, _)| alert.since());
    let since: Option<Timestamp> = times.min();
    let description = text::join(&description, "; ", 2 * MAX_TEXT_BYTES);
    let claim = RiskAssessment {
        since,
        ..RiskAssessment::new(ConditionStatus::True, applies::ALERT_FIRING, description)
    };
    let first = alerts.iter().map(|(alert, _)| (sentence(alert), runbook(alert))).min();
    let (summary, runbook) = first.unwrap_or_default();
    let risk = Risk::always(name, summary, runbook).with_assessment(claim);
    ReportedRisk { risk, source: RiskSource::Alert, targets: AffectedUpdates::All }
}

fn more_alerts(names: &[String]) -> ReportedRisk {
    let message = format!(
        "{} more firing alerts to investigate before an update: {}",
        names.len(),
        text::join(names, ", ", MAX_TEXT_BYTES)
    );
    let claim = RiskAssessment::new(ConditionStatus::True, applies::ALERT_FIRING, message.clone());
    let risk = Risk::always(MORE_ALERTS, message, docs("alerts")).with_assessment(claim);
    ReportedRisk { risk, source: RiskSource::Alert, targets: AffectedUpdates::All }
}
