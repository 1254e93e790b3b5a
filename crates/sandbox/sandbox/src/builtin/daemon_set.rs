//! `DaemonSets`.

use serde_json::{Value, json};

use super::check::{Errors, amount, at_most_all, int_or_string, not_negative, percent};
use super::rules::{Generation, NOTHING_SPECIAL, Rules};
use super::value::{default, get_mut, object_at, text};
use super::{pod, workload};
use crate::catalog::Subresource;
use crate::field_error::{FieldError, Path};

pub(super) const RULES: Rules = Rules {
    default: set_defaults,
    create,
    update,
    validate,
    validate_update,
    generation: Generation::Of(&["spec"]),
    ..NOTHING_SPECIAL
};

/// How often the template changed, which once was a field.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

fn set_defaults(set: &mut Value) {
    if set["metadata"]["annotations"].get(TEMPLATE_GENERATION).is_none() {
        annotate(set, 0);
    }
    let Some(spec) = get_mut(set, "spec") else { return };
    default(spec, "revisionHistoryLimit", 10);
    if let Some(strategy) = get_mut(spec, "updateStrategy") {
        default(strategy, "type", "RollingUpdate");
        if text(strategy, "type") == "RollingUpdate" {
            default(strategy, "rollingUpdate", json!({}));
            default(&mut strategy["rollingUpdate"], "maxUnavailable", 1);
            default(&mut strategy["rollingUpdate"], "maxSurge", 0);
        }
    }
    pod::default_template(&mut spec["template"]);
}

fn create(set: &mut Value) {
    annotate(set, 1);
}

fn update(set: &mut Value, old: &Value, _: Option<Subresource>) {
    let generation = &old["metadata"]["annotations"][TEMPLATE_GENERATION];
    let generation = generation.as_str().and_then(|text| text.parse::<i64>().ok()).unwrap_or(1);
    let changed = set["spec"]["template"] != old["spec"]["template"];
    annotate(set, generation.saturating_add(i64::from(changed)));
}

fn annotate(set: &mut Value, generation: i64) {
    if let Some(annotations) = object_at(&mut set["metadata"], "annotations") {
        annotations.insert(TEMPLATE_GENERATION.to_owned(), generation.to_string().into());
    }
}

fn validate(set: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::new("spec");
    let spec = &set["spec"];
    workload::check(spec, "daemonset", &path, &mut errors);
    strategy(&spec["updateStrategy"], &path.field("updateStrategy"), &mut errors);
    not_negative(spec, &["minReadySeconds", "revisionHistoryLimit"], &path, &mut errors);
    errors
}

fn strategy(strategy: &Value, path: &Path, errors: &mut Errors) {
    match text(strategy, "type") {
        "OnDelete" => {}
        "RollingUpdate" => {
            rolling(&strategy["rollingUpdate"], &path.field("rollingUpdate"), errors);
        }
        other => {
            let words = ["RollingUpdate", "OnDelete"].map(Value::from);
            errors.push(FieldError::not_supported(path, other, &words).shown_as(format!(
                "apps.DaemonSetUpdateStrategy{{Type:{other:?}, \
                 RollingUpdate:(*apps.RollingUpdateDaemonSet)(nil)}}"
            )));
        }
    }
}

fn rolling(rolling: &Value, path: &Path, errors: &mut Errors) {
    let is_nothing = |field: &str| match &rolling[field] {
        Value::String(_) => percent(&rolling[field]).unwrap_or_default() == 0,
        number => number.as_i64().unwrap_or_default() == 0,
    };
    for field in ["maxUnavailable", "maxSurge"] {
        amount(rolling, field, path, errors);
        at_most_all(rolling, field, path, errors);
    }
    let [unavailable, surge] = ["maxUnavailable", "maxSurge"].map(is_nothing);
    let at = path.field("maxUnavailable");
    let shown = int_or_string(&rolling["maxUnavailable"]);
    if unavailable && surge {
        errors.push(FieldError::invalid_as(at, shown, "cannot be 0 when maxSurge is 0"));
    } else if !unavailable && !surge {
        errors.push(FieldError::invalid_as(
            path.field("maxSurge"),
            int_or_string(&rolling["maxSurge"]),
            "may not be set when maxUnavailable is non-zero",
        ));
    }
}

fn validate_update(new: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    workload::selector_stays(new, old, &mut errors);
    errors
}
