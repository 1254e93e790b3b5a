//! Risks of ClusterOperators: condition `Upgradeable`, and risk reports in `status.extension`:
//!
//! `{kind: RiskReport, version: v1, risks: [{name, message, url, targets: <version range>}]}`

use fairway_api::reason::applies;
use fairway_api::reason::cluster_operator::upgradeable;
use fairway_api::{ClusterOperator, ConditionStatus, Conditions as _, OperatorCondition};
use serde_json::Value;

use super::names::{OPERATORS_UNKNOWN, RISK_REPORT, UPGRADEABLE};
use super::{MAX_TEXT_BYTES, docs, minor_update_risk, with_unknown_assessment};
use crate::risk::{AffectedUpdates, ReportedRisk, Risk, RiskAssessment, RiskSource};
use crate::{status_limits, text, validation};

/// The risks of ClusterOperators. A risk report is more specific than the condition `Upgradeable`,
/// which blocks all later minor versions, and replaces it for the targets of its risks. For all
/// other targets the condition applies: the component may not have evaluated them.
///
/// The condition must be False: as in the Go operator, missing and Unknown do not block updates.
pub fn cluster_operators<'a>(
    operators: impl IntoIterator<Item = &'a ClusterOperator>,
) -> Vec<ReportedRisk> {
    operators.into_iter().flat_map(operator_risks).collect()
}

/// The risk of ClusterOperators that cannot be listed.
pub fn unlisted_cluster_operators(why: &str) -> ReportedRisk {
    let message = "Cannot determine whether the cluster operators allow an update to a later minor \
        or major version.";
    let source = RiskSource::ClusterOperators;
    let risk = minor_update_risk(OPERATORS_UNKNOWN, message, "cluster-operators", source);
    with_unknown_assessment(risk, &format!("Cannot list ClusterOperators: {why}."))
}

fn operator_risks(operator: &ClusterOperator) -> Vec<ReportedRisk> {
    let name = operator.metadata.name.as_deref().unwrap_or_default();
    let Some(status) = &operator.status else { return Vec::new() };
    let report = status.extension.as_ref().and_then(|extension| read_report(name, extension));
    let reported = match report {
        Some(Ok(operator_risks)) => operator_risks,
        Some(Err(invalid_report)) => vec![invalid_report],
        None => Vec::new(),
    };
    let upgradeable = upgradeable_risk(name, status.conditions.find(upgradeable::TYPE));
    let upgradeable = upgradeable.and_then(|risk| outside_of(risk, &reported));
    upgradeable.into_iter().chain(reported).collect()
}

/// The general risk of an operator for the targets that none of its reported risks affects; `None`
/// if they affect all targets. Only valid risks count: the ledger replaces the others.
fn outside_of(mut general: ReportedRisk, reported: &[ReportedRisk]) -> Option<ReportedRisk> {
    let valid = reported
        .iter()
        .filter(|it| it.risk.claim.is_none() && validation::defects(&it.risk).is_empty());
    let mut ranges = Vec::new();
    for ReportedRisk { targets, .. } in valid {
        match targets {
            AffectedUpdates::All => return None,
            AffectedUpdates::Range(range) => ranges.push(range.clone()),
            _ => {}
        }
    }
    if !ranges.is_empty() {
        general.targets = AffectedUpdates::MinorOrMajorOutside(ranges);
    }
    Some(general)
}

fn upgradeable_risk(
    operator: &str,
    upgradeable: Option<&OperatorCondition>,
) -> Option<ReportedRisk> {
    let condition = upgradeable.filter(|condition| condition.status == ConditionStatus::False)?;
    let message = match (condition.message.as_deref().map(str::trim), &condition.reason) {
        (Some(message), _) if !message.is_empty() => message.to_owned(),
        (_, Some(reason)) => {
            format!("Cluster operator {operator} is not upgradeable: {reason}.")
        }
        _ => {
            format!("Cluster operator {operator} is not upgradeable; its condition has no message.")
        }
    };
    let name = format!("{UPGRADEABLE}{operator}");
    let source = RiskSource::Upgradeable(operator.to_owned());
    Some(minor_update_risk(name, &message, "cluster-operators", source))
}

/// Bytes of a report.
const MAX_REPORT_BYTES: usize = 64 << 10;

/// Risks of a report; a status has room for 500.
const MAX_REPORT_RISKS: usize = 50;

/// Reads a risk report; `None` if the extension is not one. An invalid report is a risk for all
/// updates.
fn read_report(
    operator: &str,
    extension: &Value,
) -> Option<Result<Vec<ReportedRisk>, ReportedRisk>> {
    if extension.get("kind").and_then(Value::as_str) != Some("RiskReport") {
        return None;
    }
    Some(report_risks(operator, extension).map_err(|why| invalid_report(operator, &why)))
}

fn report_risks(operator: &str, report: &Value) -> Result<Vec<ReportedRisk>, String> {
    let size = status_limits::size(report);
    if size > MAX_REPORT_BYTES {
        return Err(format!("{size} bytes exceed the limit of {MAX_REPORT_BYTES} bytes"));
    }
    match report.get("version").and_then(Value::as_str) {
        Some("v1") => {}
        Some(other) => {
            return Err(format!("unsupported version {other:?}; the supported version is v1"));
        }
        None => return Err("it has no `version`".to_owned()),
    }
    let risks = match report.get("risks") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(risks) => risks.as_array().ok_or("`risks` is not a list")?,
    };
    if risks.len() > MAX_REPORT_RISKS {
        return Err(format!("it has {} risks; the limit is {MAX_REPORT_RISKS}", risks.len()));
    }
    Ok(risks.iter().map(|risk| report_risk(operator, risk)).collect())
}

/// One risk of a report. A missing text makes it invalid, so that the ledger replaces it. A missing
/// or invalid range affects all updates.
fn report_risk(operator: &str, risk: &Value) -> ReportedRisk {
    let field = |name: &str| risk.get(name).and_then(Value::as_str).unwrap_or_default();
    let message = text::truncate(field("message"), MAX_TEXT_BYTES);
    let range = match risk.get("targets") {
        None | Some(Value::Null) => Ok(AffectedUpdates::All),
        Some(targets) => targets.as_str().unwrap_or_default().parse().map(AffectedUpdates::Range),
    };
    let (targets, message) = match range {
        Ok(targets) => (targets, message),
        Err(_) if message.is_empty() => (AffectedUpdates::All, message),
        Err(error) => (
            AffectedUpdates::All,
            format!(
                "{message} The risk applies to all updates, because its targets are invalid: \
                {error}."
            ),
        ),
    };
    let url = match field("url") {
        "" => docs("risk-reports"),
        url => url.to_owned(),
    };
    let source = RiskSource::RiskReport(operator.to_owned());
    ReportedRisk { risk: Risk::always(field("name"), message, url), source, targets }
}

fn invalid_report(operator: &str, why: &str) -> ReportedRisk {
    let message = format!("Cannot read the risk report of cluster operator {operator}: {why}.");
    let claim =
        RiskAssessment::new(ConditionStatus::Unknown, applies::INVALID_RISK, message.clone());
    let name = format!("{RISK_REPORT}{operator}");
    let risk = Risk::always(name, message, docs("risk-reports")).with_assessment(claim);
    ReportedRisk {
        risk,
        source: RiskSource::RiskReport(operator.to_owned()),
        targets: AffectedUpdates::All,
    }
}
