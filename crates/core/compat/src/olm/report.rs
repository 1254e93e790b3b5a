//! The risk report: the operators that block updates, and the affected targets.
//!
//! Each operator is one risk, so that it can be accepted by name. Risks beyond the limits are
//! combined into one, never omitted.

use fairway_api::limits;
use serde_json::{Value, json};

use super::{MaximumVersion, MinorVersion, OlmOperator, OlmPolicy, OperatorVerdict, text};

/// Risks in a report: readers accept 50, and one combines the rest.
const MAX_RISKS: usize = 49;

/// Maximum size of a report that readers accept.
const MAX_REPORT_BYTES: usize = 64 << 10;

/// Bytes of a message if the report has room.
const MAX_MESSAGE_BYTES: usize = 500;

/// Bytes of a message otherwise. A character can take six bytes in JSON, and users choose names of
/// channels. 50 such risks fit with the longest names and notes.
const SHORT_MESSAGE_BYTES: usize = 50;

/// Bytes of a note, of which there are three.
const MAX_NOTE_BYTES: usize = 2000;

/// Documentation of the risks.
const DOCS_URL: &str = "https://fairway.dev/docs/olm";

/// The risk report for `status.extension` of a ClusterOperator: risks of the next version first,
/// then by name.
pub(super) fn report(operators: &[OlmOperator], running: MinorVersion, policy: OlmPolicy) -> Value {
    let risks = operators.iter().flat_map(|operator| {
        let maximum = maximum(operator, running, policy);
        maximum.into_iter().chain(missing_apis(operator))
    });
    let (mut named, mut rest): (Vec<OperatorRisk>, Vec<OperatorRisk>) =
        risks.partition(OperatorRisk::has_legal_name);
    named.sort_by_key(|risk| risk.first);
    rest.extend(named.drain(named.len().min(MAX_RISKS)..));
    named.extend(combined_risk(&rest));
    let notes = [
        missing_declarations(operators, running, policy),
        unknown_apis(operators),
        later_api_losses(operators, running),
    ];
    let notes: Vec<Value> = notes.into_iter().flatten().collect();
    let whole = assemble(&named, &notes, policy, MAX_MESSAGE_BYTES);
    if whole.to_string().len() <= MAX_REPORT_BYTES {
        return whole;
    }
    assemble(&named, &notes, policy, SHORT_MESSAGE_BYTES)
}

fn assemble(risks: &[OperatorRisk], notes: &[Value], policy: OlmPolicy, message: usize) -> Value {
    let risks: Vec<Value> = risks.iter().map(|risk| risk.to_json(message)).collect();
    // Other readers, such as `fairway olm`, evaluate operators with the same policy.
    let mut report =
        json!({"kind": "RiskReport", "version": "v1", "policy": policy, "risks": risks});
    if !notes.is_empty() {
        report["notes"] = json!(notes);
    }
    report
}

/// A note for updates to a version and later ones; it does not block updates.
fn note(message: &str, first: MinorVersion) -> Value {
    json!({"message": fairway_text::excerpt(message, MAX_NOTE_BYTES), "targets": first.and_later()})
}

/// Operators without a valid declaration.
fn missing_declarations(
    operators: &[OlmOperator],
    running: MinorVersion,
    policy: OlmPolicy,
) -> Option<Value> {
    let next = running.next();
    let may_not_run = |it: &&OlmOperator| {
        policy.verdict(&it.declared, running, next) == OperatorVerdict::MayNotRun
    };
    let doubtful: Vec<&OlmOperator> = operators.iter().filter(may_not_run).collect();
    let message = format!(
        "These operators may not run on the target, because they declare no valid maximum \
         version: {}",
        text::list(&doubtful, ", ")
    );
    (!doubtful.is_empty()).then(|| note(&message, next))
}

/// Operators for which the availability of APIs is unknown. They are counted, because most
/// operators have wildcard permissions.
fn unknown_apis(operators: &[OlmOperator]) -> Option<Value> {
    let doubts = operators.iter().filter_map(|it| Some(it.apis.as_ref()?.doubt()?.0));
    let first = doubts.clone().min()?;
    let count = match doubts.count() {
        1 => "1 operator".to_owned(),
        count => format!("{count} operators"),
    };
    let message = format!(
        "For {count}, it is unknown whether the target serves all required APIs, because \
         permissions contain wildcards or omit API versions. For details, run `fairway olm list \
         -o json`"
    );
    Some(note(&message, first))
}

/// Operators that use APIs which a later Kubernetes removes, with an unknown cluster version.
fn later_api_losses(operators: &[OlmOperator], running: MinorVersion) -> Option<Value> {
    let texts = operators.iter().filter_map(|operator| {
        let (kubernetes, outlook) = operator.api_loss_ahead.as_ref()?;
        Some(format!("{operator} with Kubernetes {kubernetes}: {outlook}"))
    });
    let texts: Vec<String> = texts.collect();
    let message = format!(
        "These operators may stop working with a later Kubernetes version (the release that \
         contains it is unknown): {}",
        text::list(&texts, "; ")
    );
    (!texts.is_empty()).then(|| note(&message, running.next()))
}

struct OperatorRisk {
    /// Name for acceptance.
    name: String,
    message: String,
    /// First affected version.
    first: MinorVersion,
}

impl OperatorRisk {
    fn new(what: &str, operator: &OlmOperator, message: String, first: MinorVersion) -> Self {
        let name = format!("{what}-{}:{}", operator.namespace, operator.name);
        Self { name, message, first }
    }

    fn has_legal_name(&self) -> bool {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:".contains(&byte);
        self.name.len() <= limits::RISK_NAME
            && self.name.bytes().all(legal)
            && self.name.ends_with(|last: char| last.is_ascii_alphanumeric())
    }

    fn to_json(&self, message: usize) -> Value {
        json!({
            "name": self.name,
            "message": fairway_text::excerpt(&self.message, message),
            "url": DOCS_URL,
            "targets": self.first.and_later(),
        })
    }
}

/// The risk that an operator does not support a version according to its declaration.
fn maximum(
    operator: &OlmOperator,
    running: MinorVersion,
    policy: OlmPolicy,
) -> Option<OperatorRisk> {
    let first = policy.first_without(&operator.declared, running)?;
    let problem = match &operator.declared {
        MaximumVersion::Maximum(maximum, origin) if *maximum < running => format!(
            "The operator {operator} does not support versions after {maximum} (declared by \
             {origin}), but the cluster already runs {running}."
        ),
        MaximumVersion::Maximum(maximum, origin) => format!(
            "The operator {operator} does not support versions after {maximum} (declared by \
             {origin})."
        ),
        MaximumVersion::Missing => format!(
            "The operator {operator} declares no maximum version, and the OLM guard requires one."
        ),
        MaximumVersion::Invalid(why) => {
            format!("The operator {operator} declares an invalid maximum version: {why}.")
        }
    };
    let message = match operator.nearest_upgrade(policy, running, first) {
        Some(nearest_upgrade) => format!("{problem} To resolve this, {nearest_upgrade}."),
        None => problem,
    };
    Some(OperatorRisk::new("OperatorWillNotRun", operator, message, first))
}

/// The risk that an API is missing.
fn missing_apis(operator: &OlmOperator) -> Option<OperatorRisk> {
    let (first, outlook) = operator.apis.as_ref()?.loss()?;
    let message = format!("The operator {operator} may stop working on {first}: {outlook}.");
    Some(OperatorRisk::new("OperatorApisMissing", operator, message, first))
}

/// One risk for all that exceed the limits.
fn combined_risk(rest: &[OperatorRisk]) -> Option<OperatorRisk> {
    let first = rest.iter().map(|risk| risk.first).min()?;
    let names: Vec<&String> = rest.iter().map(|risk| &risk.name).collect();
    let message = format!(
        "{} more operator risks exceed the size limit of this report: {}.",
        rest.len(),
        text::list(&names, ", ")
    );
    Some(OperatorRisk { name: "OperatorWillNotRun-more".to_owned(), message, first })
}
