//! What the cluster itself is made of: access, admission, leases.

use serde_json::{Value, json};

use crate::table::subject::Subject;

pub(in crate::table) fn binding(it: Subject<'_>) -> Vec<Value> {
    let role = format!("{}/{}", it.text("/roleRef/kind"), it.text("/roleRef/name"));
    let subjects = |kind: &str| {
        let subjects = it.parts("/subjects").filter(|subject| subject.text("/kind") == kind);
        json!(subjects.map(subject_name).collect::<Vec<_>>().join(", "))
    };
    let (users, groups) = (subjects("User"), subjects("Group"));
    vec![it.name(), json!(role), it.age(), users, groups, subjects("ServiceAccount")]
}

fn subject_name(subject: Subject<'_>) -> String {
    match subject.text("/namespace") {
        "" => subject.text("/name").to_owned(),
        namespace => format!("{namespace}/{}", subject.text("/name")),
    }
}

pub(in crate::table) fn webhooks(it: Subject<'_>) -> Vec<Value> {
    vec![it.name(), json!(it.count("/webhooks")), it.age()]
}

pub(in crate::table) fn lease(it: Subject<'_>) -> Vec<Value> {
    vec![it.name(), json!(it.text("/spec/holderIdentity")), it.age()]
}

pub(in crate::table) fn priority_class(it: Subject<'_>) -> Vec<Value> {
    vec![it.name(), json!(it.number("/value")), json!(it.flag("/globalDefault")), it.age()]
}

pub(in crate::table) fn api_service(it: Subject<'_>) -> Vec<Value> {
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
