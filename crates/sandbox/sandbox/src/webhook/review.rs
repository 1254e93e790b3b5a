//! What a webhook is told.

use serde_json::{Value, json};

use super::Asked;
use crate::api::{Body, Change, Operation};
use crate::catalog::Subresource;

/// The request to a webhook, or why there is none that it would understand.
pub fn review(asked: &Asked<'_>, change: &Change<'_>, uid: &str) -> Result<Value, String> {
    let webhook = asked.webhook;
    if !webhook.admission_review_versions.iter().any(|version| version == "v1") {
        return Err("webhook does not accept known AdmissionReview versions (v1)".to_owned());
    }
    let call = change.call;
    let resource = &call.resource;
    let kind = |version: &str| json!({ "group": resource.group, "version": version, "kind": resource.kind });
    let place = |version: &str| json!({ "group": resource.group, "version": version, "resource": resource.plural });
    let mut request = json!({
        "uid": uid,
        "kind": kind(&asked.version),
        "resource": place(&asked.version),
        "requestKind": kind(&resource.version),
        "requestResource": place(&resource.version),
        "operation": change.operation.as_str(),
        "userInfo": { "username": call.user.name, "groups": call.user.groups },
        "object": change.object.map(|object| in_version(object, asked, change)),
        "oldObject": change.old.map(|object| in_version(object, asked, change)),
        "dryRun": change.dry_run,
        "options": options(change),
    });
    if !change.name.is_empty() {
        request["name"] = json!(change.name);
    }
    if let Some(namespace) = namespace(change) {
        request["namespace"] = json!(namespace);
    }
    if let Some(part) = call.subresource.map(Subresource::as_str) {
        request["subResource"] = json!(part);
        request["requestSubResource"] = json!(part);
    }
    Ok(
        json!({ "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request }),
    )
}

/// A namespace is in itself.
fn namespace<'a>(change: &Change<'a>) -> Option<&'a str> {
    let resource = &change.call.resource;
    if resource.group.is_empty() && resource.kind == "Namespace" {
        return Some(change.name);
    }
    change.call.namespace.as_deref().filter(|_| resource.namespaced)
}

/// Versions of one resource differ in nothing else.
fn in_version(object: &Value, asked: &Asked<'_>, change: &Change<'_>) -> Value {
    let resource = &change.call.resource;
    let mut object = object.clone();
    if asked.version != resource.version {
        object["apiVersion"] = json!(format!("{}/{}", resource.group, asked.version));
    }
    object
}

/// How it is done, in the words of what it comes to: a patch may create.
fn options(change: &Change<'_>) -> Value {
    let mut options = match (change.operation, &change.call.body) {
        (Operation::Delete, Body::Object(options)) => options.clone(),
        _ => json!({}),
    };
    let kind = match change.operation {
        Operation::Create => "CreateOptions",
        Operation::Update => "UpdateOptions",
        Operation::Delete => "DeleteOptions",
    };
    options["kind"] = json!(kind);
    options["apiVersion"] = json!("meta.k8s.io/v1");
    if change.dry_run {
        options["dryRun"] = json!(["All"]);
    }
    if let Some(manager) = change.call.query.get("fieldManager").filter(|it| !it.is_empty()) {
        options["fieldManager"] = json!(manager);
    }
    options
}
