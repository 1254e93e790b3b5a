//! Tolerations, affinity and topology spread.

use serde_json::Value;

use crate::builtin::validation::{ErrorList, Errors, expression, qualified, selector, unsupported};
use crate::builtin::value::{get, items, text};
use crate::field_error::FieldPath;
use crate::selector::validate::{key_problems, value_problems};

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

pub(super) fn check(spec: &Value, path: &FieldPath, errors: &mut Errors) {
    tolerations(spec, &path.field("tolerations"), errors);
    if let Some(affinity) = get(spec, "affinity") {
        self::affinity(affinity, &path.field("affinity"), errors);
    }
    spread(spec, &path.field("topologySpreadConstraints"), errors);
    for (index, gate) in items(spec, "readinessGates").iter().enumerate() {
        let at = path.field("readinessGates").index(index).field("conditionType");
        qualified(text(gate, "conditionType"), &at, errors);
    }
}

fn tolerations(spec: &Value, path: &FieldPath, errors: &mut Errors) {
    for (index, toleration) in items(spec, "tolerations").iter().enumerate() {
        self::toleration(toleration, &path.index(index), errors);
    }
}

fn toleration(toleration: &Value, at: &FieldPath, errors: &mut Errors) {
    let (key, operator) = (text(toleration, "key"), text(toleration, "operator"));
    let (value, effect) = (text(toleration, "value"), text(toleration, "effect"));
    if !key.is_empty() {
        qualified(key, &at.field("key"), errors);
    }
    if key.is_empty() && operator != "Exists" {
        let why = "operator must be Exists when `key` is empty, which means \"match all values \
            and all keys\"";
        errors.invalid(at.field("operator"), operator, why);
    }
    if toleration["tolerationSeconds"].is_i64() && effect != "NoExecute" {
        let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        errors.invalid(at.field("effect"), effect, why);
    }
    match operator {
        "" | "Equal" => {
            for problem in value_problems(value) {
                errors.invalid(at.field("operator"), value, problem);
            }
        }
        "Exists" if !value.is_empty() => errors.invalid_as(
            at.field("operator"),
            in_go(toleration),
            "value must be empty when `operator` is 'Exists'",
        ),
        "Exists" => {}
        other => errors.push(unsupported(at.field("operator"), other, &["Equal", "Exists"])),
    }
    if !effect.is_empty() && !EFFECTS.contains(&effect) {
        errors.push(unsupported(at.field("effect"), effect, &EFFECTS));
    }
}

/// A toleration without seconds in Go syntax, as in the API server's messages.
fn in_go(toleration: &Value) -> String {
    let [key, operator, value, effect] =
        ["key", "operator", "value", "effect"].map(|field| text(toleration, field));
    format!(
        "core.Toleration{{Key:{key:?}, Operator:{operator:?}, Value:{value:?}, \
         Effect:{effect:?}, TolerationSeconds:(*int64)(nil)}}"
    )
}

fn affinity(affinity: &Value, path: &FieldPath, errors: &mut Errors) {
    if let Some(node) = get(affinity, "nodeAffinity") {
        node_affinity(node, &path.field("nodeAffinity"), errors);
    }
    for name in ["podAffinity", "podAntiAffinity"] {
        let Some(pods) = get(affinity, name) else { continue };
        let path = path.field(name);
        for (index, term) in items(pods, REQUIRED).iter().enumerate() {
            pod_term(term, &path.field(REQUIRED).index(index), errors);
        }
        for (index, term) in items(pods, PREFERRED).iter().enumerate() {
            let at = path.field(PREFERRED).index(index);
            weight(term, &at, errors);
            pod_term(&term["podAffinityTerm"], &at.field("podAffinityTerm"), errors);
        }
    }
}

fn node_affinity(affinity: &Value, path: &FieldPath, errors: &mut Errors) {
    if let Some(required) = get(affinity, REQUIRED) {
        let at = path.field(REQUIRED).field("nodeSelectorTerms");
        if items(required, "nodeSelectorTerms").is_empty() {
            errors.required_because(&at, "must have at least one node selector term");
        }
        for (index, term) in items(required, "nodeSelectorTerms").iter().enumerate() {
            node_term(term, &at.index(index), errors);
        }
    }
    for (index, term) in items(affinity, PREFERRED).iter().enumerate() {
        let at = path.field(PREFERRED).index(index);
        weight(term, &at, errors);
        node_term(&term["preference"], &at.field("preference"), errors);
    }
}

fn node_term(term: &Value, path: &FieldPath, errors: &mut Errors) {
    for (index, requirement) in items(term, "matchExpressions").iter().enumerate() {
        let at = path.field("matchExpressions").index(index);
        expression(
            requirement,
            &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"],
            &at,
            errors,
        );
    }
}

fn weight(term: &Value, at: &FieldPath, errors: &mut Errors) {
    let weight = term["weight"].as_i64().unwrap_or_default();
    if !(1..=100).contains(&weight) {
        errors.invalid(at.field("weight"), weight, "must be in the range 1-100");
    }
}

/// The field path of the selector is the one that the API server reports.
fn pod_term(term: &Value, path: &FieldPath, errors: &mut Errors) {
    selector(&term["labelSelector"], &path.field("matchExpressions"), errors);
    let key = text(term, "topologyKey");
    let at = path.field("topologyKey");
    if key.is_empty() {
        errors.required_because(&at, "can not be empty");
    }
    for problem in key_problems(key) {
        errors.invalid(&at, key, problem);
    }
}

fn spread(spec: &Value, path: &FieldPath, errors: &mut Errors) {
    let constraints = items(spec, "topologySpreadConstraints");
    for (index, constraint) in constraints.iter().enumerate() {
        let at = path.index(index);
        let skew = constraint["maxSkew"].as_i64().unwrap_or_default();
        if skew < 1 {
            errors.invalid(at.field("maxSkew"), skew, "must be greater than zero");
        }
        let (key, action) =
            (text(constraint, "topologyKey"), text(constraint, "whenUnsatisfiable"));
        if key.is_empty() {
            errors.required_because(at.field("topologyKey"), "can not be empty");
        }
        let supported = ["DoNotSchedule", "ScheduleAnyway"];
        if !supported.contains(&action) {
            errors.push(unsupported(at.field("whenUnsatisfiable"), action, &supported));
        }
        let same = |other: &Value| {
            text(other, "topologyKey") == key && text(other, "whenUnsatisfiable") == action
        };
        if constraints.iter().skip(index + 1).any(same) {
            let at = at.field("{topologyKey, whenUnsatisfiable}");
            errors.duplicate(at, format!("{{{key}, {action}}}"));
        }
        if let Some(labels) = get(constraint, "labelSelector") {
            selector(labels, &at.field("labelSelector"), errors);
        }
    }
}
