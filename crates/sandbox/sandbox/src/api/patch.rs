//! Changing parts of objects.

use serde_json::Value;

use super::options::WriteOptions;
use super::request::Request;
use super::update::replace;
use super::{Body, PatchKind, Refusal, Reply, body, meta};
use crate::apply::{self, ApplyError, Conflict, track_update};
use crate::field_error::FieldError;
use crate::patch::{self, PatchError};
use crate::schema::Schema;

/// Changes parts of an object.
pub(super) fn patch(request: &Request<'_>) -> Result<Reply, Refusal> {
    let Body::Patch(kind, patch) = &request.call.body else {
        return Err(Refusal::bad_request("a patch is missing"));
    };
    let options = WriteOptions::parse("PatchOptions", request.call)?;
    match kind {
        PatchKind::Apply => apply(request, patch, &options),
        kind => change(request, *kind, patch, &options),
    }
}

fn change(
    request: &Request<'_>,
    kind: PatchKind,
    patch: &Value,
    options: &WriteOptions,
) -> Result<Reply, Refusal> {
    if request.call.query.get("force").is_some() {
        let detail = "may not be specified for non-apply patch";
        let error = FieldError::forbidden("force", detail);
        return Err(Refusal::invalid_options("PatchOptions", &[error]));
    }
    let api_version = request.resource().api_version();
    let writer = request.writer(&options.manager, &api_version);
    let mut warnings = Vec::new();
    let written = replace(request, options, false, |old| {
        let old = old.unwrap_or(&Value::Null);
        if kind == PatchKind::Strategic && request.strategy.custom().is_some() {
            return Err(PatchError::StrategicOnCustomResource.into());
        }
        let patched = patched(kind, patch, old, request.strategy.schema())?;
        let received = body::receive_patched(request, patched, options)?;
        let mut object = received.object;
        body::check_place(request, &mut object)?;
        warnings = received.warnings;
        Ok(track_update(Some(old), &object, &writer))
    })?;
    Ok(request.shown(&written.object, written.created, warnings))
}

/// What an object is after a patch; applying a manifest is another matter.
pub(super) fn patched(
    kind: PatchKind,
    patch: &Value,
    old: &Value,
    schema: &Schema,
) -> Result<Value, PatchError> {
    match kind {
        PatchKind::Json => patch::json(patch, old),
        PatchKind::Merge => patch::merge(patch, old),
        PatchKind::Strategic | PatchKind::Apply => patch::strategic(patch, old, schema),
    }
}

fn apply(
    request: &Request<'_>,
    manifest: &Value,
    options: &WriteOptions,
) -> Result<Reply, Refusal> {
    let query = &request.call.query;
    if query.get("fieldManager").unwrap_or_default().is_empty() {
        let detail = "is required for apply patch";
        let error = FieldError::required("fieldManager", detail);
        return Err(Refusal::invalid_options("PatchOptions", &[error]));
    }
    check_manifest(request, manifest)?;
    // Everything but these is a yes.
    let force = query.get("force").is_some_and(|force| !matches!(force, "" | "0" | "false"));
    let api_version = request.resource().api_version();
    let writer = request.writer(&options.manager, &api_version);
    let creates = request.call.subresource.is_none();
    let mut warnings = Vec::new();
    let written = replace(request, options, creates, |old| {
        let applied = apply::apply(old, manifest, force, &writer);
        if !matches!(applied, Err(ApplyError::Manifest(_))) {
            check_fields(request, manifest)?;
        }
        let applied = applied?;
        let received = body::receive(request, applied.object, options)?;
        let mut object = received.object;
        body::check_place(request, &mut object)?;
        let uid = meta::text(&object, "uid");
        if old.is_none() && !uid.is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, \
                 and no existing object was found"
            );
            return Err(Refusal::conflict(request.resource(), meta::text(&object, "name"), why));
        }
        warnings = received.warnings;
        Ok(object)
    })?;
    Ok(request.shown(&written.object, written.created, warnings))
}

fn check_manifest(request: &Request<'_>, manifest: &Value) -> Result<(), Refusal> {
    let word = |field: &str| manifest.get(field).and_then(Value::as_str).unwrap_or_default();
    if !manifest.is_object() {
        return Err(Refusal::bad_request("error decoding YAML: a manifest is an object"));
    }
    let (given, expected) = (word("apiVersion"), request.resource().api_version());
    if given != expected {
        return Err(Refusal::bad_request(format!(
            "Incorrect version specified in apply patch. \
             Specified patch version: {given}, expected: {expected}"
        )));
    }
    match word("kind") {
        kind if kind == request.resource().kind => Ok(()),
        "" => Err(Refusal::new(
            500,
            "",
            format!(
                "failed to create typed patch object: no corresponding type for {given}, Kind="
            ),
        )),
        _ => {
            Err(Refusal::new(500, "", "failed to merge config: expected objects of the same type"))
        }
    }
}

/// Whoever applies has to know what they say: unlike other writes, nothing is dropped.
fn check_fields(request: &Request<'_>, manifest: &Value) -> Result<(), Refusal> {
    let untyped =
        |why: &str| Refusal::new(500, "", format!("failed to create typed patch object: {why}"));
    let read = request.strategy.read(manifest.clone());
    let read = read.map_err(|why| untyped(&why))?;
    match read.unknown.iter().min() {
        Some(path) => Err(untyped(&format!(".{path}: field not declared in schema"))),
        None => Ok(()),
    }
}

impl From<ApplyError> for Refusal {
    fn from(error: ApplyError) -> Self {
        let message = error.to_string();
        match error {
            ApplyError::Conflict(conflicts) => conflicts.all().iter().fold(
                Self::new(409, "Conflict", message),
                |refusal, conflict| {
                    refusal.because(Conflict::CAUSE, &conflict.message(), &conflict.field)
                },
            ),
            ApplyError::ManagedFieldsGiven => Self::bad_request(message),
            // The real server has no code for these.
            ApplyError::Manifest(_) | ApplyError::Live(_) | ApplyError::ManagedFields(_) => {
                Self::new(500, "", message)
            }
        }
    }
}
