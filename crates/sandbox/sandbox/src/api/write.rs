//! The verbs create, update and patch.

use std::sync::Arc;

use serde_json::Value;

use super::context::{MAX_ATTEMPTS, RequestContext, WriteAction};
use super::options::WriteOptions;
use super::status_error::{go_parse_error, uid_conflict};
use super::strategy::CustomVersion;
use super::{ApiResult, PatchType, RequestBody, StatusError, admission, decode, meta};
use crate::apply::{self, ApplyError, Conflict, track_update};
use crate::catalog::Subresource;
use crate::field_error::FieldError;
use crate::patch::{self, PatchError};
use crate::schema::Schema;

/// Attempts to generate a free name, as in the API server.
const MAX_NAME_ATTEMPTS: usize = 8;

/// Creates an object.
pub(super) fn create(context: &RequestContext<'_>) -> ApiResult {
    let options = WriteOptions::parse("CreateOptions", context.request)?;
    if context.strategy.custom().is_some_and(CustomVersion::is_terminating) {
        return Err(StatusError::crd_terminating(context.resource()));
    }
    let received = decode::decode(context, context.body()?.clone(), &options)?;
    let mut object = received.object;
    decode::check_new_namespace(context, &mut object)?;
    let api_version = context.resource().api_version();
    let object = track_update(None, &object, &context.writer(&options.manager, &api_version));
    let made = create_object(context, object, &options)?;
    Ok(context.object_response(&made, true, received.warnings))
}

/// Creates an object whose managedFields are already set.
pub(super) fn create_object(
    context: &RequestContext<'_>,
    mut object: Value,
    options: &WriteOptions,
) -> ApiResult<Arc<Value>> {
    admission::create(context, &mut object)?;
    meta::set_creation_fields(&mut object, context.now)?;
    let base = meta::text(&object, "generateName").to_owned();
    if base.is_empty() || !meta::text(&object, "name").is_empty() {
        return store_new(context, object, options);
    }
    let mut name = String::new();
    for _ in 0..MAX_NAME_ATTEMPTS {
        name = meta::generate_name(&base)?;
        let mut named = object.clone();
        meta::set(&mut named, "name", name.as_str());
        match store_new(context, named, options) {
            Err(error) if error.reason == "AlreadyExists" => {}
            other => return other,
        }
    }
    Err(StatusError::no_free_name(context.resource(), &name))
}

fn store_new(
    context: &RequestContext<'_>,
    mut object: Value,
    options: &WriteOptions,
) -> ApiResult<Arc<Value>> {
    context.strategy.prepare_create(&mut object);
    let name = meta::text(&object, "name").to_owned();
    let errors = context.strategy.validate(&object);
    if !errors.is_empty() {
        return Err(StatusError::invalid(context.resource(), &name, &errors));
    }
    if !meta::text(&object, "resourceVersion").is_empty() {
        let message = "resourceVersion should not be set on objects to be created";
        return Err(StatusError::new(500, "", message));
    }
    context.insert(&context.key_for(&name)?, object, options.dry_run)
}

/// A stored object.
pub(super) struct StoredObject {
    pub(super) object: Arc<Value>,
    pub(super) created: bool,
}

/// Replaces an object or its status.
pub(super) fn update(context: &RequestContext<'_>) -> ApiResult {
    let options = WriteOptions::parse("UpdateOptions", context.request)?;
    let received = decode::decode(context, context.body()?.clone(), &options)?;
    let mut object = received.object;
    decode::check_identity(context, &mut object)?;
    let api_version = context.resource().api_version();
    let writer = context.writer(&options.manager, &api_version);
    let creates = context.strategy.creates_on_update() && context.request.subresource.is_none();
    let stored = replace(context, &options, creates, |old| {
        check_uid(context, &object, old)?;
        Ok(track_update(old, &object, &writer))
    })?;
    Ok(context.object_response(&stored.object, stored.created, received.warnings))
}

/// Replaces an object by the result of `next` and retries after concurrent writes. With `creates`,
/// it creates a missing object.
pub(super) fn replace(
    context: &RequestContext<'_>,
    options: &WriteOptions,
    creates: bool,
    mut next: impl FnMut(Option<&Value>) -> ApiResult<Value>,
) -> ApiResult<StoredObject> {
    let key = context.key()?;
    for _ in 0..MAX_ATTEMPTS {
        let old = match context.stored_object(&key) {
            Ok(old) => old,
            Err(error) if !creates => return Err(error),
            Err(_) => match create_object(context, next(None)?, options) {
                Ok(object) => return Ok(StoredObject { object, created: true }),
                Err(error) if error.reason == "AlreadyExists" => continue,
                Err(error) => return Err(error),
            },
        };
        let shown = context.strategy.to_requested_version(&old);
        let action = prepare_update(context, next(Some(&shown))?, &shown)?;
        if let Some(object) = context.commit(&key, &old, action, options.dry_run)? {
            return Ok(StoredObject { object, created: false });
        }
    }
    Err(StatusError::stale(context.resource(), key.name()))
}

/// Validates an update and decides whether it stores or removes the object. The managedFields are
/// already set.
fn prepare_update(
    context: &RequestContext<'_>,
    mut object: Value,
    old: &Value,
) -> ApiResult<WriteAction> {
    // A scale changes the object itself.
    let subresource = context.request.subresource.filter(|it| *it != Subresource::Scale);
    check_version(context, &mut object, old)?;
    admission::update(context, &mut object, old)?;
    meta::keep_server_fields(&mut object, old);
    context.strategy.prepare_update(&mut object, old, subresource);
    let errors = context.strategy.validate_update(&object, old, subresource);
    if !errors.is_empty() {
        let name = meta::text(old, "name");
        return Err(StatusError::invalid(context.resource(), name, &errors));
    }
    if meta::is_deletable(&object) {
        return Ok(WriteAction::Remove(object));
    }
    Ok(WriteAction::Store(object))
}

/// Checks the resource version of an update.
fn check_version(context: &RequestContext<'_>, object: &mut Value, old: &Value) -> ApiResult<()> {
    let current = meta::text(old, "resourceVersion");
    let name = meta::text(old, "name");
    match meta::text(object, "resourceVersion") {
        "" | "0" if context.strategy.requires_resource_version() => {
            Err(version_missing(context, name))
        }
        "" | "0" => {
            meta::set(object, "resourceVersion", current);
            Ok(())
        }
        given if given == current => Ok(()),
        // The API server reports it as 500 without a reason.
        given if given.parse::<u64>().is_err() => {
            Err(StatusError::new(500, "", go_parse_error("ParseUint", given)))
        }
        _ => Err(StatusError::stale(context.resource(), name)),
    }
}

/// 422 for a missing resource version. The API server uses the resource in place of the kind.
fn version_missing(context: &RequestContext<'_>, name: &str) -> StatusError {
    let resource = context.resource();
    StatusError::invalid_value(
        (&resource.plural, &resource.group, name),
        "metadata.resourceVersion",
        "0x0",
        "must be specified for an update",
    )
}

/// Checks the UID of an update.
pub(super) fn check_uid(
    context: &RequestContext<'_>,
    object: &Value,
    old: Option<&Value>,
) -> ApiResult<()> {
    let expected = meta::text(object, "uid");
    let actual = old.map_or("", |old| meta::text(old, "uid"));
    if expected.is_empty() || old.is_none() || expected == actual {
        return Ok(());
    }
    Err(uid_conflict(context.resource(), &context.key()?, expected, actual))
}

/// Applies a patch.
pub(super) fn patch(context: &RequestContext<'_>) -> ApiResult {
    let RequestBody::Patch(kind, patch) = &context.request.body else {
        return Err(StatusError::bad_request("a patch is missing"));
    };
    let options = WriteOptions::parse("PatchOptions", context.request)?;
    match kind {
        PatchType::Apply => server_side_apply(context, patch, &options),
        kind => apply_patch(context, *kind, patch, &options),
    }
}

fn apply_patch(
    context: &RequestContext<'_>,
    kind: PatchType,
    patch: &Value,
    options: &WriteOptions,
) -> ApiResult {
    if context.request.query.get("force").is_some() {
        let detail = "may not be specified for non-apply patch";
        let error = FieldError::forbidden("force", detail);
        return Err(StatusError::invalid_options("PatchOptions", &[error]));
    }
    let api_version = context.resource().api_version();
    let writer = context.writer(&options.manager, &api_version);
    let mut warnings = Vec::new();
    let stored = replace(context, options, false, |old| {
        let old = old.unwrap_or(&Value::Null);
        if kind == PatchType::Strategic && context.strategy.custom().is_some() {
            return Err(PatchError::StrategicOnCustomResource.into());
        }
        let patched = patched(kind, patch, old, context.strategy.schema())?;
        let received = decode::decode_patched(context, patched, options)?;
        let mut object = received.object;
        decode::check_identity(context, &mut object)?;
        warnings = received.warnings;
        Ok(track_update(Some(old), &object, &writer))
    })?;
    Ok(context.object_response(&stored.object, stored.created, warnings))
}

/// Applies a JSON, merge or strategic merge patch.
pub(super) fn patched(
    kind: PatchType,
    patch: &Value,
    old: &Value,
    schema: &Schema,
) -> Result<Value, PatchError> {
    match kind {
        PatchType::Json => patch::json(patch, old),
        PatchType::Merge => patch::merge(patch, old),
        PatchType::Strategic | PatchType::Apply => patch::strategic(patch, old, schema),
    }
}

fn server_side_apply(
    context: &RequestContext<'_>,
    manifest: &Value,
    options: &WriteOptions,
) -> ApiResult {
    let query = &context.request.query;
    if query.get("fieldManager").unwrap_or_default().is_empty() {
        let detail = "is required for apply patch";
        let error = FieldError::required("fieldManager", detail);
        return Err(StatusError::invalid_options("PatchOptions", &[error]));
    }
    check_manifest(context, manifest)?;
    // The API server treats every other value as true.
    let force = query.get("force").is_some_and(|force| !matches!(force, "" | "0" | "false"));
    let api_version = context.resource().api_version();
    let writer = context.writer(&options.manager, &api_version);
    let creates = context.request.subresource.is_none();
    let mut warnings = Vec::new();
    let stored = replace(context, options, creates, |old| {
        let applied = apply::apply(old, manifest, force, &writer);
        if !matches!(applied, Err(ApplyError::Manifest(_))) {
            check_fields(context, manifest)?;
        }
        let applied = applied?;
        let received = decode::decode(context, applied.object, options)?;
        let mut object = received.object;
        decode::check_identity(context, &mut object)?;
        let uid = meta::text(&object, "uid");
        if old.is_none() && !uid.is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, \
                 and no existing object was found"
            );
            return Err(StatusError::conflict(
                context.resource(),
                meta::text(&object, "name"),
                why,
            ));
        }
        warnings = received.warnings;
        Ok(object)
    })?;
    Ok(context.object_response(&stored.object, stored.created, warnings))
}

fn check_manifest(context: &RequestContext<'_>, manifest: &Value) -> ApiResult<()> {
    let text = |field: &str| manifest.get(field).and_then(Value::as_str).unwrap_or_default();
    if !manifest.is_object() {
        return Err(StatusError::bad_request("error decoding YAML: a manifest is an object"));
    }
    let (given, expected) = (text("apiVersion"), context.resource().api_version());
    if given != expected {
        return Err(StatusError::bad_request(format!(
            "Incorrect version specified in apply patch. \
             Specified patch version: {given}, expected: {expected}"
        )));
    }
    match text("kind") {
        kind if kind == context.resource().kind => Ok(()),
        "" => Err(StatusError::new(
            500,
            "",
            format!(
                "failed to create typed patch object: no corresponding type for {given}, Kind="
            ),
        )),
        _ => Err(StatusError::new(
            500,
            "",
            "failed to merge config: expected objects of the same type",
        )),
    }
}

/// Refuses unknown fields. Unlike other writes, server-side apply does not drop them.
fn check_fields(context: &RequestContext<'_>, manifest: &Value) -> ApiResult<()> {
    let untyped = |why: &str| {
        StatusError::new(500, "", format!("failed to create typed patch object: {why}"))
    };
    let read = context.strategy.read(manifest.clone());
    let read = read.map_err(|explain| untyped(&explain))?;
    match read.unknown.iter().min() {
        Some(path) => Err(untyped(&format!(".{path}: field not declared in schema"))),
        None => Ok(()),
    }
}

impl From<ApplyError> for StatusError {
    fn from(error: ApplyError) -> Self {
        let message = error.to_string();
        match error {
            ApplyError::Conflict(conflicts) => conflicts.all().iter().fold(
                Self::new(409, "Conflict", message),
                |error, conflict| {
                    error.with_cause(Conflict::CAUSE, &conflict.message(), &conflict.field)
                },
            ),
            ApplyError::ManagedFieldsGiven => Self::bad_request(message),
            // The API server reports these as 500 without a reason.
            ApplyError::Manifest(_) | ApplyError::Live(_) | ApplyError::ManagedFields(_) => {
                Self::new(500, "", message)
            }
        }
    }
}
