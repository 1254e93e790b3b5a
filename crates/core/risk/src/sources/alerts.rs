//! Alerts that should be looked into before an update.

use std::collections::BTreeMap;

use fairway_api::ConditionStatus;
use fairway_api::reason::applies;
use jiff::Timestamp;

use super::names::MORE_ALERTS;
use super::{MAX_TEXT, docs};
use crate::alerts::{self, Alert, AlertsError};
use crate::legal;
use crate::risk::{Claim, Concern, Risk, Source, Targets};
use crate::text;

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

/// The concerns that firing alerts raise, from the answer of `/api/v1/alerts`, by name.
pub fn alerts(json: &[u8]) -> Result<Vec<Concern>, AlertsError> {
    let alerts = alerts::read(json)?;
    let mut by_name: BTreeMap<&str, Vec<(&Alert, &str)>> = BTreeMap::new();
    for alert in &alerts {
        if let Some(impact) = impact(alert) {
            by_name.entry(alert.name()).or_default().push((alert, impact));
        }
    }
    let surplus = by_name.keys().skip(MAX_NAMES).map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let shown = by_name.iter().take(MAX_NAMES).map(|(name, alerts)| concern(name, alerts));
    Ok(shown.chain((!surplus.is_empty()).then(|| more(&surplus))).collect())
}

/// What a firing alert means for an update; none where it means nothing.
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

/// Its summary, as a sentence.
fn sentence(alert: &Alert) -> String {
    let summary = alert.summary();
    let end = if summary.ends_with('.') { "" } else { "." };
    format!("{}{end}", text::excerpt(summary, MAX_TEXT))
}

fn runbook(alert: &Alert) -> &str {
    let url = alert.annotation("runbook_url");
    if legal::url_defect(url).is_none() { url } else { NO_RUNBOOK }
}

/// Everything there is to say about this one.
fn told(alert: &Alert, impact: &str) -> String {
    let severity = match alert.label("severity") {
        "" => "alert".to_owned(),
        severity => format!("{severity} alert"),
    };
    let place = match alert.name() {
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
    let told = format!(
        "{severity} {name} firing, {impact}.{place} {summary} {description} {runbook}",
        name = alert.name(),
        summary = sentence(alert),
        runbook = runbook(alert),
    );
    text::excerpt(&told, MAX_TEXT)
}

/// The concern of all alerts of one name.
fn concern(name: &str, alerts: &[(&Alert, &str)]) -> Concern {
    let mut told: Vec<String> = alerts.iter().map(|(alert, impact)| told(alert, impact)).collect();
    told.sort();
    told.dedup();
    let times = alerts.iter().filter_map(|(alert, _)| alert.since());
    let since: Option<Timestamp> = times.min();
    let told = text::join(&told, "; ", 2 * MAX_TEXT);
    let claim = Claim { since, ..Claim::new(ConditionStatus::True, applies::ALERT_FIRING, told) };
    let first = alerts.iter().map(|(alert, _)| (sentence(alert), runbook(alert))).min();
    let (summary, runbook) = first.unwrap_or_default();
    let risk = Risk::always(name, summary, runbook).claiming(claim);
    Concern { risk, source: Source::Alert, targets: Targets::All }
}

fn more(names: &[String]) -> Concern {
    let message = format!(
        "{} more firing alerts to investigate before an update: {}",
        names.len(),
        text::join(names, ", ", MAX_TEXT)
    );
    let claim = Claim::new(ConditionStatus::True, applies::ALERT_FIRING, message.clone());
    let risk = Risk::always(MORE_ALERTS, message, docs("alerts")).claiming(claim);
    Concern { risk, source: Source::Alert, targets: Targets::All }
}
