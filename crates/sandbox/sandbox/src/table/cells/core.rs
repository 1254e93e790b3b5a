//! Namespaces, nodes, and what holds data.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::table::age::UNKNOWN;
use crate::table::subject::{NONE, Subject, or_none};

pub(in crate::table) fn config_map(it: Subject<'_>) -> Vec<Value> {
    vec![it.name(), json!(it.count("/data") + it.count("/binaryData")), it.age()]
}

pub(in crate::table) fn secret(it: Subject<'_>) -> Vec<Value> {
    vec![it.name(), json!(it.text("/type")), json!(it.count("/data")), it.age()]
}

pub(in crate::table) fn service_account(it: Subject<'_>) -> Vec<Value> {
    vec![it.name(), json!(it.count("/secrets")), it.age()]
}

pub(in crate::table) fn namespace(it: Subject<'_>) -> Vec<Value> {
    vec![it.name(), json!(it.text("/status/phase")), it.age()]
}

pub(in crate::table) fn quota(it: Subject<'_>) -> Vec<Value> {
    let hard = it.fields("/status/hard").into_iter().flatten();
    let used = it.fields("/status/used");
    let mut shown: Vec<_> = hard
        .map(|(resource, hard)| {
            let used = used.and_then(|used| used.get(resource)?.as_str()).unwrap_or("0");
            (resource, format!("{resource}: {used}/{}", hard.as_str().unwrap_or_default()))
        })
        .collect();
    shown.sort();
    let those = |limits: bool| {
        let those = shown.iter().filter(|(resource, _)| resource.starts_with("limits") == limits);
        those.map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(", ")
    };
    vec![it.name(), it.age(), json!(those(false)), json!(those(true))]
}

pub(in crate::table) fn node(it: Subject<'_>) -> Vec<Value> {
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

fn node_status(it: Subject<'_>) -> String {
    let ready = it.parts("/status/conditions").find(|part| part.text("/type") == "Ready");
    let status = match ready.map(|ready| ready.text("/status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    let disabled = if it.flag("/spec/unschedulable") { ",SchedulingDisabled" } else { "" };
    format!("{status}{disabled}")
}

fn roles(it: Subject<'_>) -> String {
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

fn address<'a>(it: Subject<'a>, kind: &str) -> &'a str {
    let found = it.parts("/status/addresses").find(|part| part.text("/type") == kind);
    found.map_or(NONE, |part| part.text("/address"))
}
