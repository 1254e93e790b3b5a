//! Cells of core, RBAC, admission, event and storage kinds.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::table::age::UNKNOWN;
use crate::table::row::{NONE, RowContext, or_none};

pub(in crate::table) fn config_map(it: RowContext<'_>) -> Vec<Value> {
    vec![it.name(), json!(it.count("/data") + it.count("/binaryData")), it.age()]
}

pub(in crate::table) fn secret(it: RowContext<'_>) -> Vec<Value> {
    vec![it.name(), json!(it.text("/type")), json!(it.count("/data")), it.age()]
}

pub(in crate::table) fn service_account(it: RowContext<'_>) -> Vec<Value> {
    vec![it.name(), json!(it.count("/secrets")), it.age()]
}

pub(in crate::table) fn namespace(it: RowContext<'_>) -> Vec<Value> {
    vec![it.name(), json!(it.text("/status/phase")), it.age()]
}

pub(in crate::table) fn node(it: RowContext<'_>) -> Vec<Value> {
    let info =
        |field: &str, otherwise| json!(it.text_or(&format!("/status/nodeInfo/{field}"), otherwise));
    vec![
        it.name(),
        json!(node_status(it)),
        json!(roles(it)),
        it.age(),
        info("kubeletVersion", ""),
        json!(address(it, "InternalIP")),
        json!(address(it, "ExternalIP")),
        info("osImage", UNKNOWN),
        info("kernelVersion", UNKNOWN),
        info("containerRuntimeVersion", UNKNOWN),
    ]
}

fn node_status(it: RowContext<'_>) -> String {
    let ready = it.parts("/status/conditions").find(|part| part.text("/type") == "Ready");
    let status = match ready.map(|ready| ready.text("/status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    let disabled = if it.flag("/spec/unschedulable") { ",SchedulingDisabled" } else { "" };
    format!("{status}{disabled}")
}

fn roles(it: RowContext<'_>) -> String {
    let labels = it.fields("/metadata/labels").into_iter().flatten();
    let role = |(key, value): (&String, &Value)| match key.strip_prefix("node-role.kubernetes.io/")
    {
        Some(role) => Some(role.to_owned()),
        None if key == "kubernetes.io/role" => value.as_str().map(str::to_owned),
        None => None,
    };
    let roles: BTreeSet<_> = labels.filter_map(role).filter(|role| !role.is_empty()).collect();
    or_none(roles.into_iter().collect::<Vec<_>>().join(","))
}

fn address<'a>(it: RowContext<'a>, kind: &str) -> &'a str {
    let found = it.parts("/status/addresses").find(|part| part.text("/type") == kind);
    found.map_or(NONE, |part| part.text("/address"))
}

pub(in crate::table) fn binding(it: RowContext<'_>) -> Vec<Value> {
    let role = format!("{}/{}", it.text("/roleRef/kind"), it.text("/roleRef/name"));
    let subjects = |kind: &str| {
        let subjects = it.parts("/subjects").filter(|subject| subject.text("/kind") == kind);
        json!(subjects.map(subject_name).collect::<Vec<_>>().join(", "))
    };
    let (users, groups) = (subjects("User"), subjects("Group"));
    vec![it.name(), json!(role), it.age(), users, groups, subjects("ServiceAccount")]
}

fn subject_name(subject: RowContext<'_>) -> String {
    match subject.text("/namespace") {
        "" => subject.text("/name").to_owned(),
        namespace => format!("{namespace}/{}", subject.text("/name")),
    }
}

pub(in crate::table) fn webhooks(it: RowContext<'_>) -> Vec<Value> {
    vec![it.name(), json!(it.count("/webhooks")), it.age()]
}

pub(in crate::table) fn lease(it: RowContext<'_>) -> Vec<Value> {
    vec![it.name(), json!(it.text("/spec/holderIdentity")), it.age()]
}

pub(in crate::table) fn api_service(it: RowContext<'_>) -> Vec<Value> {
    let service = match it.fields("/spec/service") {
        None => "Local".to_owned(),
        Some(_) => {
            format!("{}/{}", it.text("/spec/service/namespace"), it.text("/spec/service/name"))
        }
    };
    let condition = it.parts("/status/conditions").find(|part| part.text("/type") == "Available");
    let available = match condition.map(|it| (it.text("/status"), it.text("/reason"))) {
        None => "Unknown".to_owned(),
        Some(("True", _)) => "True".to_owned(),
        Some((status, reason)) => format!("{status} ({reason})"),
    };
    vec![it.name(), json!(service), json!(available), it.age()]
}

struct EventFields {
    first: &'static str,
    last: &'static str,
    count: &'static str,
    object: &'static str,
    source: &'static str,
    reporter: &'static str,
    message: &'static str,
}

pub(in crate::table) fn core_event(it: RowContext<'_>) -> Vec<Value> {
    event_cells(
        it,
        &EventFields {
            first: "/firstTimestamp",
            last: "/lastTimestamp",
            count: "/count",
            object: "/involvedObject",
            source: "/source",
            reporter: "/reportingComponent",
            message: "/message",
        },
    )
}

pub(in crate::table) fn event(it: RowContext<'_>) -> Vec<Value> {
    event_cells(
        it,
        &EventFields {
            first: "/deprecatedFirstTimestamp",
            last: "/deprecatedLastTimestamp",
            count: "/deprecatedCount",
            object: "/regarding",
            source: "/deprecatedSource",
            reporter: "/reportingController",
            message: "/note",
        },
    )
}

fn event_cells(it: RowContext<'_>, names: &EventFields) -> Vec<Value> {
    let first = if it.text(names.first).is_empty() { "/eventTime" } else { names.first };
    let series = it.fields("/series").is_some();
    let last = match it.text(names.last) {
        _ if series => "/series/lastObservedTime",
        "" => first,
        _ => names.last,
    };
    // A series counts the events after the first one.
    let count = if series {
        it.number("/series/count").saturating_add(1)
    } else {
        it.number(names.count).max(1)
    };
    vec![
        json!(it.age_of(last)),
        json!(it.text("/type")),
        json!(it.text("/reason")),
        json!(event_object(it, names.object)),
        json!(it.text(&format!("{}/fieldPath", names.object))),
        json!(event_source(it, names)),
        json!(it.text(names.message).trim()),
        json!(it.age_of(first)),
        json!(count),
        it.name(),
    ]
}

fn event_object(it: RowContext<'_>, path: &str) -> String {
    let kind = it.text(&format!("{path}/kind")).to_lowercase();
    match it.text(&format!("{path}/name")) {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

fn event_source(it: RowContext<'_>, names: &EventFields) -> String {
    let component = it.text_or(&format!("{}/component", names.source), it.text(names.reporter));
    match it.text_or(&format!("{}/host", names.source), it.text("/reportingInstance")) {
        "" => component.to_owned(),
        host => format!("{component}, {host}"),
    }
}

pub(in crate::table) fn storage_class(it: RowContext<'_>) -> Vec<Value> {
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
