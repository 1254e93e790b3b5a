//! DaemonSets.

use serde_json::{Value, json};

use super::pod;
use super::rules::{Generation, NOTHING_SPECIAL, Rules};
use super::value::{default, get_mut, object_at, text};
use crate::catalog::Subresource;

pub(super) const RULES: Rules = Rules {
    default: set_defaults,
    create,
    update,
    generation: Generation::Of(&["spec"]),
    ..NOTHING_SPECIAL
};

/// How often the template changed, which once was a field.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

fn set_defaults(set: &mut Value) {
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
