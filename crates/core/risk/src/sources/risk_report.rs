//! Risk reports: what a component publishes in `status.extension` of its ClusterOperator.
//!
//! `{kind: RiskReport, version: v1, risks: [{name, message, url, targets: <range of versions>}]}`

use fairway_api::ConditionStatus;
use fairway_api::reason::applies;
use serde_json::Value;

use super::names::RISK_REPORT;
use super::{MAX_TEXT, docs};
use crate::fit;
use crate::risk::{Claim, Concern, Risk, Source, Targets};
use crate::text;

/// Bytes of a report.
const MAX_BYTES: usize = 64 << 10;

/// Risks of a report; all updates together have room for 500.
const MAX_RISKS: usize = 50;

/// What the report says, where the extension is one; a report that cannot be read is a concern of
/// its own, for every update.
pub(super) fn read(operator: &str, extension: &Value) -> Option<Result<Vec<Concern>, Concern>> {
    if extension.get("kind").and_then(Value::as_str) != Some("RiskReport") {
        return None;
    }
    Some(risks(operator, extension).map_err(|why| unreadable(operator, &why)))
}

fn risks(operator: &str, report: &Value) -> Result<Vec<Concern>, String> {
    let size = fit::size(report);
    if size > MAX_BYTES {
        return Err(format!("{size} bytes exceed the limit of {MAX_BYTES} bytes"));
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
    if risks.len() > MAX_RISKS {
        return Err(format!("it has {} risks; the limit is {MAX_RISKS}", risks.len()));
    }
    Ok(risks.iter().map(|risk| concern(operator, risk)).collect())
}

/// One risk. A missing text makes it illegal, so that the ledger has a stand-in for it; a missing
/// or unreadable range makes it concern every update.
fn concern(operator: &str, risk: &Value) -> Concern {
    let field = |name: &str| risk.get(name).and_then(Value::as_str).unwrap_or_default();
    let message = text::excerpt(field("message"), MAX_TEXT);
    let range = match risk.get("targets") {
        None | Some(Value::Null) => Ok(Targets::All),
        Some(targets) => targets.as_str().unwrap_or_default().parse().map(Targets::Range),
    };
    let (targets, message) = match range {
        Ok(targets) => (targets, message),
        Err(_) if message.is_empty() => (Targets::All, message),
        Err(error) => (
            Targets::All,
            format!(
                "{message} The risk counts for all updates, because its targets are invalid: \
                {error}."
            ),
        ),
    };
    let url = match field("url") {
        "" => docs("risk-reports"),
        url => url.to_owned(),
    };
    let source = Source::RiskReport(operator.to_owned());
    Concern { risk: Risk::always(field("name"), message, url), source, targets }
}

fn unreadable(operator: &str, why: &str) -> Concern {
    let message = format!("Cannot read the risk report of cluster operator {operator}: {why}.");
    let claim = Claim::new(ConditionStatus::Unknown, applies::INVALID_RISK, message.clone());
    let name = format!("{RISK_REPORT}{operator}");
    let risk = Risk::always(name, message, docs("risk-reports")).claiming(claim);
    Concern { risk, source: Source::RiskReport(operator.to_owned()), targets: Targets::All }
}
