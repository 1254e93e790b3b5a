//! `StatefulSets`.

use serde_json::{Value, json};

use super::check::{Errors, not_negative, without};
use super::rules::{Generation, NOTHING_SPECIAL, Rules};
use super::value::{default, get_mut, items_mut, text};
use super::{pod, volume_claim, workload};
use crate::field_error::{FieldError, Path};

pub(super) const RULES: Rules = Rules {
    default: set_defaults,
    validate,
    validate_update,
    generation: Generation::Of(&["spec"]),
    ..NOTHING_SPECIAL
};

fn set_defaults(set: &mut Value) {
    let Some(spec) = get_mut(set, "spec") else { return };
    default(spec, "replicas", 1);
    default(spec, "revisionHistoryLimit", 10);
    default(spec, "podManagementPolicy", "OrderedReady");
    default(spec, "persistentVolumeClaimRetentionPolicy", json!({}));
    if let Some(retention) = get_mut(spec, "persistentVolumeClaimRetentionPolicy") {
        default(retention, "whenDeleted", "Retain");
        default(retention, "whenScaled", "Retain");
    }
    if let Some(strategy) = get_mut(spec, "updateStrategy") {
        default(strategy, "type", "RollingUpdate");
        if text(strategy, "type") == "RollingUpdate" {
            default(strategy, "rollingUpdate", json!({}));
            default(&mut strategy["rollingUpdate"], "partition", 0);
        }
    }
    for claim in items_mut(spec, "volumeClaimTemplates") {
        default(claim, "apiVersion", "v1");
        default(claim, "kind", "PersistentVolumeClaim");
        (volume_claim::RULES.default)(claim);
    }
    pod::default_template(&mut spec["template"]);
}

fn validate(set: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::new("spec");
    let spec = &set["spec"];
    let policy = text(spec, "podManagementPolicy");
    if !matches!(policy, "OrderedReady" | "Parallel") {
        let why = "must be 'OrderedReady' or 'Parallel'";
        errors.push(FieldError::invalid(path.field("podManagementPolicy"), policy, why));
    }
    let strategy = &spec["updateStrategy"];
    let at = path.field("updateStrategy");
    not_negative(
        &strategy["rollingUpdate"],
        &["partition"],
        &at.field("rollingUpdate"),
        &mut errors,
    );
    let kind = text(strategy, "type");
    if !matches!(kind, "RollingUpdate" | "OnDelete") {
        let shown = format!(
            "apps.StatefulSetUpdateStrategy{{Type:{kind:?}, \
             RollingUpdate:(*apps.RollingUpdateStatefulSetStrategy)(nil)}}"
        );
        let why = "must be 'RollingUpdate' or 'OnDelete'";
        errors.push(FieldError::invalid_as(at, shown, why));
    }
    not_negative(spec, &["replicas"], &path, &mut errors);
    workload::check(spec, "statefulset", &path, &mut errors);
    errors
}

fn validate_update(new: &Value, old: &Value) -> Errors {
    const CAN_CHANGE: [&str; 7] = [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
        "revisionHistoryLimit",
    ];
    if without(&new["spec"], &CAN_CHANGE) == without(&old["spec"], &CAN_CHANGE) {
        return Errors::new();
    }
    let why = "updates to statefulset spec for fields other than 'replicas', 'ordinals', \
        'template', 'updateStrategy', 'revisionHistoryLimit', \
        'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
    vec![FieldError::forbidden("spec", why)]
}
