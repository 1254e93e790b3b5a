//! Volumes and who claims them.

use serde_json::{Value, json};

use crate::table::subject::Subject;

const UNSET: &str = "<unset>";

pub(in crate::table) fn volume(it: Subject<'_>) -> Vec<Value> {
    let claim = it.fields("/spec/claimRef").map(|_| {
        format!("{}/{}", it.text("/spec/claimRef/namespace"), it.text("/spec/claimRef/name"))
    });
    vec![
        it.name(),
        json!(it.text_or("/spec/capacity/storage", "0")),
        json!(access_modes(it, "/spec/accessModes")),
        json!(it.text("/spec/persistentVolumeReclaimPolicy")),
        json!(phase(it)),
        json!(claim.unwrap_or_default()),
        json!(storage_class(it)),
        json!(it.text("/status/reason")),
        it.age(),
        json!(it.text_or("/spec/volumeMode", UNSET)),
    ]
}

pub(in crate::table) fn claim(it: Subject<'_>) -> Vec<Value> {
    let bound = !it.text("/spec/volumeName").is_empty();
    let if_bound = |text: String| if bound { text } else { String::new() };
    vec![
        it.name(),
        json!(phase(it)),
        json!(it.text("/spec/volumeName")),
        json!(if_bound(it.text_or("/status/capacity/storage", "0").to_owned())),
        json!(if_bound(access_modes(it, "/status/accessModes"))),
        json!(storage_class(it)),
        it.age(),
        json!(it.text_or("/spec/volumeMode", UNSET)),
    ]
}

pub(in crate::table) fn class(it: Subject<'_>) -> Vec<Value> {
    let annotations = it.fields("/metadata/annotations");
    let is_default = |annotation: &str| {
        annotations.and_then(|all| all.get(annotation)?.as_str()) == Some("true")
    };
    let default = is_default("storageclass.kubernetes.io/is-default-class")
        || is_default("storageclass.beta.kubernetes.io/is-default-class");
    let name = it.text("/metadata/name");
    vec![
        json!(if default { format!("{name} (default)") } else { name.to_owned() }),
        json!(it.text("/provisioner")),
        json!(it.text_or("/reclaimPolicy", "Delete")),
        json!(it.text_or("/volumeBindingMode", "Immediate")),
        json!(it.flag("/allowVolumeExpansion")),
        it.age(),
    ]
}

fn phase(it: Subject<'_>) -> &str {
    if it.is_being_deleted() { "Terminating" } else { it.text("/status/phase") }
}

/// The annotation was there before the field, and still counts first.
fn storage_class(it: Subject<'_>) -> &str {
    let annotation = it.text("/metadata/annotations/volume.beta.kubernetes.io~1storage-class");
    if annotation.is_empty() { it.text("/spec/storageClassName") } else { annotation }
}

fn access_modes(it: Subject<'_>, path: &str) -> String {
    let modes: Vec<_> = it.items(path).iter().filter_map(Value::as_str).collect();
    let known = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let shown = known.into_iter().filter(|(mode, _)| modes.contains(mode)).map(|(_, short)| short);
    shown.collect::<Vec<_>>().join(",")
}
