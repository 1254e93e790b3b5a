//! The risk report: which operators stand against which targets.
//!
//! One risk an operator, so that each can be accepted by name. What does not fit into a report is
//! one risk together, and never left out.

use fairway_api::limits;
use serde_json::{Value, json};

use super::{Declaration, Operator, Policy, Stream, Verdict, text};

/// Risks that a report names: readers take 50, and one of them stands for the rest.
const MAX_RISKS: usize = 49;

/// Bytes of a report that readers take.
const MAX_REPORT: usize = 64 << 10;

/// Bytes of a message, where a report has room for that.
const MAX_MESSAGE: usize = 500;

/// Bytes of a message otherwise: a character may take six as JSON, and names of channels are
/// anybody's. 50 of these have room with the longest names and notes.
const SHORT_MESSAGE: usize = 50;

/// Bytes of a note, of which there are three.
const MAX_NOTE: usize = 2000;

/// Where people read about it.
const DOCS: &str = "https://fairway.dev/docs/olm";

/// The risks of operators, as `status.extension` of a ClusterOperator: what matters for the next
/// version first, then in the order of names.
pub(super) fn report(operators: &[Operator], running: Stream, policy: Policy) -> Value {
    let risks = operators.iter().flat_map(|operator| {
        let maximum = maximum(operator, running, policy);
        maximum.into_iter().chain(missing_apis(operator))
    });
    let (mut named, mut rest): (Vec<Risk>, Vec<Risk>) = risks.partition(Risk::has_legal_name);
    named.sort_by_key(|risk| risk.first);
    rest.extend(named.drain(named.len().min(MAX_RISKS)..));
    named.extend(stand_in(&rest));
    let notes = [
        unclear(operators, running, policy),
        apis_in_doubt(operators),
        apis_ahead(operators, running),
    ];
    let notes: Vec<Value> = notes.into_iter().flatten().collect();
    let whole = assemble(&named, &notes, policy, MAX_MESSAGE);
    if whole.to_string().len() <= MAX_REPORT {
        return whole;
    }
    assemble(&named, &notes, policy, SHORT_MESSAGE)
}

fn assemble(risks: &[Risk], notes: &[Value], policy: Policy, message: usize) -> Value {
    let risks: Vec<Value> = risks.iter().map(|risk| risk.to_json(message)).collect();
    // Others that judge the same operators go by it.
    let mut report =
        json!({"kind": "RiskReport", "version": "v1", "policy": policy, "risks": risks});
    if !notes.is_empty() {
        report["notes"] = json!(notes);
    }
    report
}

/// What is shown with updates to a version and later ones, and holds nothing up.
fn note(message: &str, first: Stream) -> Value {
    json!({"message": fairway_text::excerpt(message, MAX_NOTE), "targets": first.and_later()})
}

/// Operators of which nobody knows whether they run on what follows.
fn unclear(operators: &[Operator], running: Stream, policy: Policy) -> Option<Value> {
    let next = running.next();
    let may_not_run =
        |it: &&Operator| policy.verdict(&it.declared, running, next) == Verdict::MayNotRun;
    let doubtful: Vec<&Operator> = operators.iter().filter(may_not_run).collect();
    let message = format!(
        "These operators may not run on the target, because they declare no valid maximum \
         version: {}",
        text::list(&doubtful, ", ")
    );
    (!doubtful.is_empty()).then(|| note(&message, next))
}

/// Operators of which it cannot be told whether they miss something. Most have wildcards in their
/// permissions, so they are counted, not named.
fn apis_in_doubt(operators: &[Operator]) -> Option<Value> {
    let doubts = operators.iter().filter_map(|it| Some(it.apis.as_ref()?.doubt()?.0));
    let first = doubts.clone().min()?;
    let count = match doubts.count() {
        1 => "1 operator".to_owned(),
        count => format!("{count} operators"),
    };
    let message = format!(
        "Unknown for {count} whether all required APIs are served, because permissions contain \
         wildcards or no versions. For details, run `fairway olm list -o json`"
    );
    Some(note(&message, first))
}

/// Operators that use what goes with a later Kubernetes, though nobody knows when that comes.
fn apis_ahead(operators: &[Operator], running: Stream) -> Option<Value> {
    let told = operators.iter().filter_map(|operator| {
        let (kubernetes, outlook) = operator.api_loss_ahead.as_ref()?;
        Some(format!("{operator} with Kubernetes {kubernetes}: {outlook}"))
    });
    let told: Vec<String> = told.collect();
    let message = format!(
        "These operators may stop working with a later Kubernetes version (the release that \
         contains it is unknown): {}",
        text::list(&told, "; ")
    );
    (!told.is_empty()).then(|| note(&message, running.next()))
}

struct Risk {
    /// What an administrator accepts.
    name: String,
    message: String,
    /// The first version that it is about.
    first: Stream,
}

impl Risk {
    fn new(what: &str, operator: &Operator, message: String, first: Stream) -> Self {
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
            "url": DOCS,
            "targets": self.first.and_later(),
        })
    }
}

/// The risk that an operator does not run, by what it declares.
fn maximum(operator: &Operator, running: Stream, policy: Policy) -> Option<Risk> {
    let first = policy.first_without(&operator.declared, running)?;
    let problem = match &operator.declared {
        Declaration::Maximum(maximum, origin) if *maximum < running => format!(
            "The operator {operator} does not support versions after {maximum} (declared by \
             {origin}), and the cluster already runs {running}."
        ),
        Declaration::Maximum(maximum, origin) => format!(
            "The operator {operator} does not support versions after {maximum} (declared by \
             {origin})."
        ),
        Declaration::Missing => format!(
            "The operator {operator} declares no maximum version, and the OLM guard requires one."
        ),
        Declaration::Invalid(why) => {
            format!("The operator {operator} declares an invalid maximum version: {why}.")
        }
    };
    let message = match operator.way_out(policy, running, first) {
        Some(way_out) => format!("{problem} To resolve this, {way_out}."),
        None => problem,
    };
    Some(Risk::new("OperatorWillNotRun", operator, message, first))
}

/// The risk that an operator misses what it uses.
fn missing_apis(operator: &Operator) -> Option<Risk> {
    let (first, outlook) = operator.apis.as_ref()?.loss()?;
    let message = format!("The operator {operator} may stop working on {first}: {outlook}.");
    Some(Risk::new("OperatorApisMissing", operator, message, first))
}

/// One risk for those that have no room of their own.
fn stand_in(rest: &[Risk]) -> Option<Risk> {
    let first = rest.iter().map(|risk| risk.first).min()?;
    let names: Vec<&String> = rest.iter().map(|risk| &risk.name).collect();
    let message = format!(
        "{} more operator risks exceed the size limit of this report: {}.",
        rest.len(),
        text::list(&names, ", ")
    );
    Some(Risk { name: "OperatorWillNotRun-more".to_owned(), message, first })
}
