//! Deployments.

use serde_json::{Value, json};

use super::check::{Errors, amount, at_most_all, int_or_string, not_negative, percent};
use super::rules::{Generation, NOTHING_SPECIAL, Rules};
use super::value::{default, get, get_mut, text};
use super::{pod, workload};
use crate::field_error::{FieldError, Path};

pub(super) const RULES: Rules = Rules {
    default: set_defaults,
    validate,
    validate_update,
    generation: Generation::SpecAndAnnotations,
    metadata_beside_status: &["labels"],
    ..NOTHING_SPECIAL
};

fn set_defaults(deployment: &mut Value) {
    let Some(spec) = get_mut(deployment, "spec") else { return };
    default(spec, "replicas", 1);
    default(spec, "revisionHistoryLimit", 10);
    default(spec, "progressDeadlineSeconds", 600);
    if let Some(strategy) = get_mut(spec, "strategy") {
        default(strategy, "type", "RollingUpdate");
        if text(strategy, "type") == "RollingUpdate" {
            default(strategy, "rollingUpdate", json!({}));
            let rolling = &mut strategy["rollingUpdate"];
            default(rolling, "maxUnavailable", "25%");
            default(rolling, "maxSurge", "25%");
        }
    }
    pod::default_template(&mut spec["template"]);
}

fn validate(deployment: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::new("spec");
    let spec = &deployment["spec"];
    not_negative(spec, &["replicas"], &path, &mut errors);
    workload::check(spec, "deployment", &path, &mut errors);
    strategy(&spec["strategy"], &path.field("strategy"), &mut errors);
    not_negative(
        spec,
        &["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"],
        &path,
        &mut errors,
    );
    if let Some(deadline) = spec["progressDeadlineSeconds"].as_i64()
        && deadline <= spec["minReadySeconds"].as_i64().unwrap_or_default()
    {
        let why = "must be greater than minReadySeconds";
        errors.push(FieldError::invalid(path.field("progressDeadlineSeconds"), deadline, why));
    }
    errors
}

fn strategy(strategy: &Value, path: &Path, errors: &mut Errors) {
    match text(strategy, "type") {
        "Recreate" => {
            if get(strategy, "rollingUpdate").is_some() {
                let why = "may not be specified when strategy `type` is 'Recreate'";
                errors.push(FieldError::forbidden(path.field("rollingUpdate"), why));
            }
        }
        "RollingUpdate" => {
            rolling(&strategy["rollingUpdate"], &path.field("rollingUpdate"), errors);
        }
        other => {
            let words = ["Recreate", "RollingUpdate"].map(Value::from);
            errors.push(FieldError::not_supported(path, other, &words).shown_as(format!(
                "apps.DeploymentStrategy{{Type:{other:?}, \
                 RollingUpdate:(*apps.RollingUpdateDeployment)(nil)}}"
            )));
        }
    }
}

fn rolling(rolling: &Value, path: &Path, errors: &mut Errors) {
    amount(rolling, "maxUnavailable", path, errors);
    amount(rolling, "maxSurge", path, errors);
    let is_nothing = |field: &str| rolling[field] == 0 || percent(&rolling[field]) == Some(0);
    if is_nothing("maxUnavailable") && is_nothing("maxSurge") {
        let shown = int_or_string(&rolling["maxUnavailable"]);
        let path = path.field("maxUnavailable");
        let why = "may not be 0 when `maxSurge` is 0";
        errors.push(FieldError::invalid_as(path, shown, why));
    }
    at_most_all(rolling, "maxUnavailable", path, errors);
}

fn validate_update(new: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    workload::selector_stays(new, old, &mut errors);
    errors
}
