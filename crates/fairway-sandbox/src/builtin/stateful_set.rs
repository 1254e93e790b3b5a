//! StatefulSets.

use serde_json::{Value, json};

use super::rules::{Generation, NOTHING_SPECIAL, Rules};
use super::value::{default, get_mut, items_mut, text};
use super::{pod, volume_claim};

pub(super) const RULES: Rules =
    Rules { default: set_defaults, generation: Generation::Of(&["spec"]), ..NOTHING_SPECIAL };

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
