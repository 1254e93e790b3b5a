//! The subresources `scale` and `binding`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::context::{MAX_ATTEMPTS, RequestContext, WriteAction};
use super::crds::at;
use super::options::WriteOptions;
use super::strategy::CustomVersion;
use super::write::{check_uid, patched, replace};
use super::{ApiResponse, ApiResult, PatchType, RequestBody, StatusError, decode, meta};
use crate::apply::track_update;
use crate::catalog::Subresource;
use crate::field_error::FieldError;
use crate::patch::PatchError;
use crate::schema::Schema;
use crate::table::selector_text;

/// Returns the scale of an object.
pub(super) fn get_scale(context: &RequestContext<'_>) -> ApiResult {
    let object =
        context.stored_object(&context.key()?).map_err(|error| scale_not_found(context, error))?;
    Ok(ApiResponse::Document(scale_of(context, &context.strategy.to_requested_version(&object))))
}

/// Replaces the scale of an object.
pub(super) fn update_scale(context: &RequestContext<'_>) -> ApiResult {
    let options = WriteOptions::parse("UpdateOptions", context.request)?;
    let desired = context.body()?;
    write_scale(context, &options, |_| Ok(desired.clone()))
}

/// Patches the scale of an object.
pub(super) fn patch_scale(context: &RequestContext<'_>) -> ApiResult {
    let options = WriteOptions::parse("PatchOptions", context.request)?;
    let RequestBody::Patch(kind, patch) = &context.request.body else {
        return Err(StatusError::bad_request("a patch is missing"));
    };
    match kind {
        PatchType::Apply => {
            return Err(StatusError::not_implemented("server-side apply of the scale subresource"));
        }
        PatchType::Strategic if context.strategy.custom().is_some() => {
            return Err(PatchError::StrategicOnCustomResource.into());
        }
        _ => {}
    }
    write_scale(context, &options, |scale| Ok(patched(*kind, patch, scale, &Schema::Deduced)?))
}

fn write_scale(
    context: &RequestContext<'_>,
    options: &WriteOptions,
    next: impl Fn(&Value) -> ApiResult<Value>,
) -> ApiResult {
    let api_version = context.resource().api_version();
    let writer = context.writer(&options.manager, &api_version);
    let stored = replace(context, options, false, |old| {
        let old = old.unwrap_or(&Value::Null);
        let scale = next(&scale_of(context, old))?;
        let replicas = check_scale(context, &scale)?;
        check_uid(context, &scale, Some(old))?;
        let mut object = old.clone();
        set_replicas(&mut object, context.strategy.custom(), replicas);
        meta::carry(&scale, &mut object, "resourceVersion");
        // A scale without a resource version applies to the latest version, also for kinds whose
        // updates require one.
        if meta::field(&object, "resourceVersion").is_none() {
            meta::carry(old, &mut object, "resourceVersion");
        }
        Ok(track_update(Some(old), &object, &writer))
    })?;
    Ok(ApiResponse::Document(scale_of(
        context,
        &context.strategy.to_requested_version(&stored.object),
    )))
}

/// Validates a scale and returns its replica count.
fn check_scale(context: &RequestContext<'_>, scale: &Value) -> ApiResult<i64> {
    let mut object_meta = scale.clone();
    decode::check_identity(context, &mut object_meta)?;
    let replicas = scale.pointer("/spec/replicas").filter(|value| !value.is_null());
    let count = replicas.map_or(Some(0), Value::as_i64).filter(|it| i32::try_from(*it).is_ok());
    let Some(count) = count else {
        return Err(StatusError::bad_request("spec.replicas is not a number of replicas"));
    };
    let mut errors = Vec::new();
    if meta::text(scale, "namespace").is_empty() && context.strategy.custom().is_none() {
        errors.push(FieldError::required("metadata.namespace", ""));
    }
    if count < 0 && context.strategy.custom().is_none() {
        let why = "must be greater than or equal to 0";
        errors.push(FieldError::invalid("spec.replicas", count, why));
    }
    if errors.is_empty() {
        return Ok(count);
    }
    Err(StatusError::invalid_fields("Scale", "autoscaling", meta::text(scale, "name"), &errors))
}

fn set_replicas(object: &mut Value, custom: Option<&CustomVersion>, replicas: i64) {
    let built_in = ["spec".to_owned(), "replicas".to_owned()];
    let path = custom.and_then(CustomVersion::scale).map_or(&built_in[..], |paths| &paths.spec);
    let mut object_meta = object;
    for name in path {
        if !object_meta.is_object() {
            *object_meta = json!({});
        }
        object_meta = &mut object_meta[name.as_str()];
    }
    *object_meta = replicas.into();
}

fn scale_of(context: &RequestContext<'_>, object: &Value) -> Value {
    let count = |value: Option<&Value>| value.and_then(Value::as_i64).unwrap_or_default();
    let (desired, actual, selector) = match context.strategy.custom().and_then(CustomVersion::scale)
    {
        Some(paths) => {
            let selector = paths.selector.as_ref().and_then(|path| at(object, path)?.as_str());
            (
                count(at(object, &paths.spec)),
                count(at(object, &paths.status)),
                selector.unwrap_or_default().to_owned(),
            )
        }
        None => (
            count(object.pointer("/spec/replicas")),
            count(object.pointer("/status/replicas")),
            object.pointer("/spec/selector").map(selector_text).unwrap_or_default(),
        ),
    };
    let mut scale = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {},
        "spec": {}, "status": { "replicas": actual },
    });
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        meta::carry(object, &mut scale, field);
    }
    // `spec.replicas` is omitted if zero, `status.replicas` is not.
    if desired != 0 {
        scale["spec"]["replicas"] = json!(desired);
    }
    if !selector.is_empty() {
        scale["status"]["selector"] = json!(selector);
    }
    scale
}

/// The API server names the subresource if a built-in object is missing.
fn scale_not_found(context: &RequestContext<'_>, error: StatusError) -> StatusError {
    if error.code != 404 || context.strategy.custom().is_some() {
        return error;
    }
    let mut resource = context.resource().clone();
    resource.plural = format!("{}/{}", resource.plural, Subresource::Scale.as_str());
    StatusError::not_found(&resource, context.request.name.as_deref().unwrap_or_default())
}

/// Assigns a pod to the node of the Binding.
pub(super) fn bind(context: &RequestContext<'_>) -> ApiResult {
    let options = WriteOptions::parse("CreateOptions", context.request)?;
    let binding = context.body()?;
    let key = context.key()?;
    let named = meta::text(binding, "name");
    if !named.is_empty() && named != key.name() {
        return Err(StatusError::bad_request("name in URL does not match name in Binding object"));
    }
    let node = target_node(binding)?;
    for _ in 0..MAX_ATTEMPTS {
        let old = context.stored_object(&key)?;
        check_uid(context, binding, Some(&old))?;
        let bound = bound_pod(context, &old, binding, node)?;
        if context.commit(&key, &old, WriteAction::Store(bound), options.dry_run)?.is_some() {
            let done = json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
            });
            return Ok(ApiResponse::Object {
                object: Arc::new(done),
                created: true,
                warnings: Vec::new(),
            });
        }
    }
    Err(StatusError::stale(context.resource(), key.name()))
}

/// The node of a Binding. The API server reports these errors as 500 without a reason.
fn target_node(binding: &Value) -> ApiResult<&str> {
    let target = |field: &str| binding["target"][field].as_str().unwrap_or_default();
    let error = match (target("kind"), target("name")) {
        ("" | "Node", name) if !name.is_empty() => return Ok(name),
        ("" | "Node", _) => FieldError::required("target.name", ""),
        (kind, _) => {
            FieldError::not_supported("target.kind", kind, &["Node".into(), "<empty>".into()])
        }
    };
    Err(StatusError::new(500, "", error.to_string()))
}

/// The pod with its node and the condition `PodScheduled`. Bound and terminating pods are refused.
fn bound_pod(
    context: &RequestContext<'_>,
    pod: &Value,
    binding: &Value,
    node: &str,
) -> ApiResult<Value> {
    let name = meta::text(pod, "name");
    let conflict = |why: String| {
        let message = format!("Operation cannot be fulfilled on pods/binding {name:?}: {why}");
        StatusError::new(409, "Conflict", message)
    };
    if meta::is_terminating(pod) {
        return Err(conflict(format!("pod {name} is being deleted, cannot be assigned to a host")));
    }
    if let Some(assigned) = pod["spec"]["nodeName"].as_str().filter(|assigned| !assigned.is_empty())
    {
        return Err(conflict(format!("pod {name} is already assigned to node {assigned:?}")));
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
        "lastProbeTime": null, "lastTransitionTime": meta::time(context.now),
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
