//! Putting a pod on a node, which can be done once.

use std::sync::Arc;

use serde_json::{Value, json};

use super::options::WriteOptions;
use super::request::Request;
use super::update::check_uid;
use super::write::{ATTEMPTS, Outcome};
use super::{Refusal, Reply, meta};
use crate::field_error::FieldError;

/// Puts a pod on the node that the binding names.
pub(super) fn bind(request: &Request<'_>) -> Result<Reply, Refusal> {
    let options = WriteOptions::parse("CreateOptions", request.call)?;
    let binding = request.body()?;
    let key = request.key()?;
    let named = meta::text(binding, "name");
    if !named.is_empty() && named != key.name() {
        return Err(Refusal::bad_request("name in URL does not match name in Binding object"));
    }
    let node = node(binding)?;
    for _ in 0..ATTEMPTS {
        let old = request.existing(&key)?;
        check_uid(request, binding, Some(&old))?;
        let bound = bound(request, &old, binding, node)?;
        if request.commit(&key, &old, Outcome::Write(bound), options.dry_run)?.is_some() {
            let done = json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
            });
            return Ok(Reply::Object {
                object: Arc::new(done),
                created: true,
                warnings: Vec::new(),
            });
        }
    }
    Err(Refusal::stale(request.resource(), key.name()))
}

/// The node that a binding names. The real server makes no `Status` of its own of these errors.
fn node(binding: &Value) -> Result<&str, Refusal> {
    let target = |field: &str| binding["target"][field].as_str().unwrap_or_default();
    let error = match (target("kind"), target("name")) {
        ("" | "Node", name) if !name.is_empty() => return Ok(name),
        ("" | "Node", _) => FieldError::required("target.name", ""),
        (kind, _) => {
            FieldError::not_supported("target.kind", kind, &["Node".into(), "<empty>".into()])
        }
    };
    Err(Refusal::new(500, "", error.to_string()))
}

/// The pod on its node, if it waits for one.
fn bound(
    request: &Request<'_>,
    pod: &Value,
    binding: &Value,
    node: &str,
) -> Result<Value, Refusal> {
    let name = meta::text(pod, "name");
    let refuse = |why: String| {
        let message = format!("Operation cannot be fulfilled on pods/binding {name:?}: {why}");
        Refusal::new(409, "Conflict", message)
    };
    if meta::is_terminating(pod) {
        return Err(refuse(format!("pod {name} is being deleted, cannot be assigned to a host")));
    }
    if let Some(taken) = pod["spec"]["nodeName"].as_str().filter(|taken| !taken.is_empty()) {
        return Err(refuse(format!("pod {name} is already assigned to node {taken:?}")));
    }
    let mut pod = pod.clone();
    pod["spec"]["nodeName"] = json!(node);
    if let Some(annotations) = meta::field(binding, "annotations") {
        let mut all = meta::field(&pod, "annotations").cloned().unwrap_or_else(|| json!({}));
        json_patch::merge(&mut all, annotations);
        meta::set(&mut pod, "annotations", all);
    }
    let scheduled = json!({
        "type": "PodScheduled", "status": "True",
        "lastProbeTime": null, "lastTransitionTime": meta::time(request.now),
    });
    match pod["status"]["conditions"].as_array_mut() {
        Some(conditions) => {
            conditions.retain(|condition| condition["type"] != "PodScheduled");
            conditions.push(scheduled);
        }
        None => pod["status"]["conditions"] = json!([scheduled]),
    }
    Ok(pod)
}
