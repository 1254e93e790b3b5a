//! The scale of an object: how many replicas there are to be, whatever its kind.

use serde_json::{Value, json};

use super::custom::Custom;
use super::definitions::at;
use super::options::WriteOptions;
use super::patch::patched;
use super::request::Request;
use super::update::{check_uid, replace};
use super::{Body, PatchKind, Refusal, Reply, body, meta};
use crate::apply::track_update;
use crate::catalog::Subresource;
use crate::field_error::FieldError;
use crate::patch::PatchError;
use crate::schema::Schema;
use crate::table::selector_text;

/// The scale of an object.
pub(super) fn get(request: &Request<'_>) -> Result<Reply, Refusal> {
    let object = request.existing(&request.key()?).map_err(|refusal| named(request, refusal))?;
    Ok(Reply::Document(scale_of(request, &request.strategy.shown(&object))))
}

/// Replaces the scale of an object.
pub(super) fn update(request: &Request<'_>) -> Result<Reply, Refusal> {
    let options = WriteOptions::parse("UpdateOptions", request.call)?;
    let wanted = request.body()?;
    write(request, &options, |_| Ok(wanted.clone()))
}

/// Changes the scale of an object.
pub(super) fn patch(request: &Request<'_>) -> Result<Reply, Refusal> {
    let options = WriteOptions::parse("PatchOptions", request.call)?;
    let Body::Patch(kind, patch) = &request.call.body else {
        return Err(Refusal::bad_request("a patch is missing"));
    };
    match kind {
        PatchKind::Apply => return Err(Refusal::not_implemented("applying a scale")),
        PatchKind::Strategic if request.strategy.custom().is_some() => {
            return Err(PatchError::StrategicOnCustomResource.into());
        }
        _ => {}
    }
    write(request, &options, |scale| Ok(patched(*kind, patch, scale, &Schema::Deduced)?))
}

fn write(
    request: &Request<'_>,
    options: &WriteOptions,
    next: impl Fn(&Value) -> Result<Value, Refusal>,
) -> Result<Reply, Refusal> {
    let api_version = request.resource().api_version();
    let writer = request.writer(&options.manager, &api_version);
    let written = replace(request, options, false, |old| {
        let old = old.unwrap_or(&Value::Null);
        let scale = next(&scale_of(request, old))?;
        let replicas = check(request, &scale)?;
        check_uid(request, &scale, Some(old))?;
        let mut object = old.clone();
        set_replicas(&mut object, request.strategy.custom(), replicas);
        meta::carry(&scale, &mut object, "resourceVersion");
        // Who says nothing about the version means the newest, also where others may not.
        if meta::field(&object, "resourceVersion").is_none() {
            meta::carry(old, &mut object, "resourceVersion");
        }
        Ok(track_update(Some(old), &object, &writer))
    })?;
    Ok(Reply::Document(scale_of(request, &request.strategy.shown(&written.object))))
}

/// How many replicas a scale asks for, if it is one.
fn check(request: &Request<'_>, scale: &Value) -> Result<i64, Refusal> {
    let mut place = scale.clone();
    body::check_place(request, &mut place)?;
    let replicas = scale.pointer("/spec/replicas").filter(|value| !value.is_null());
    let count = replicas.map_or(Some(0), Value::as_i64).filter(|it| i32::try_from(*it).is_ok());
    let Some(count) = count else {
        return Err(Refusal::bad_request("spec.replicas is not a number of replicas"));
    };
    let mut errors = Vec::new();
    if meta::text(scale, "namespace").is_empty() && request.strategy.custom().is_none() {
        errors.push(FieldError::required("metadata.namespace", ""));
    }
    if count < 0 && request.strategy.custom().is_none() {
        let why = "must be greater than or equal to 0";
        errors.push(FieldError::invalid("spec.replicas", count, why));
    }
    if errors.is_empty() {
        return Ok(count);
    }
    Err(Refusal::invalid_thing("Scale", "autoscaling", meta::text(scale, "name"), &errors))
}

fn set_replicas(object: &mut Value, custom: Option<&Custom>, replicas: i64) {
    let built_in = ["spec".to_owned(), "replicas".to_owned()];
    let path = custom.and_then(Custom::scale).map_or(&built_in[..], |paths| &paths.spec);
    let mut place = object;
    for name in path {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[name.as_str()];
    }
    *place = replicas.into();
}

fn scale_of(request: &Request<'_>, object: &Value) -> Value {
    let count = |value: Option<&Value>| value.and_then(Value::as_i64).unwrap_or_default();
    let (wanted, there, selector) = match request.strategy.custom().and_then(Custom::scale) {
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
        "spec": {}, "status": { "replicas": there },
    });
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        meta::carry(object, &mut scale, field);
    }
    // What is zero is left out where it is wanted, and shown where it is there.
    if wanted != 0 {
        scale["spec"]["replicas"] = json!(wanted);
    }
    if !selector.is_empty() {
        scale["status"]["selector"] = json!(selector);
    }
    scale
}

/// The real server names the subresource where a built-in object that is to be read is missing.
fn named(request: &Request<'_>, refusal: Refusal) -> Refusal {
    if refusal.code != 404 || request.strategy.custom().is_some() {
        return refusal;
    }
    let mut resource = request.resource().clone();
    resource.plural = format!("{}/{}", resource.plural, Subresource::Scale.as_str());
    Refusal::not_found(&resource, request.call.name.as_deref().unwrap_or_default())
}
