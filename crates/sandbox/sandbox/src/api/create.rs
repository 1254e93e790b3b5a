//! Making objects.

use std::sync::Arc;

use serde_json::Value;

use super::custom::Custom;
use super::options::WriteOptions;
use super::request::Request;
use super::{Refusal, Reply, admission, body, lifecycle, meta, random};
use crate::apply::track_update;

/// How many generated names are tried; the API server's number.
const NAME_ATTEMPTS: usize = 8;

/// Makes an object.
pub(super) fn create(request: &Request<'_>) -> Result<Reply, Refusal> {
    let options = WriteOptions::parse("CreateOptions", request.call)?;
    if request.strategy.custom().is_some_and(Custom::is_terminating) {
        return Err(Refusal::definition_terminating(request.resource()));
    }
    let received = body::receive(request, request.body()?.clone(), &options)?;
    let mut object = received.object;
    body::check_new_place(request, &mut object)?;
    let api_version = request.resource().api_version();
    let object = track_update(None, &object, &request.writer(&options.manager, &api_version));
    let made = make(request, object, &options)?;
    Ok(request.shown(&made, true, received.warnings))
}

/// Makes an object whose fields have their owners already.
pub(super) fn make(
    request: &Request<'_>,
    mut object: Value,
    options: &WriteOptions,
) -> Result<Arc<Value>, Refusal> {
    admission::create(request, &mut object)?;
    lifecycle::begin(&mut object, request.now)?;
    let base = meta::text(&object, "generateName").to_owned();
    if base.is_empty() || !meta::text(&object, "name").is_empty() {
        return store(request, object, options);
    }
    let mut name = String::new();
    for _ in 0..NAME_ATTEMPTS {
        name = random::name(&base)?;
        let mut named = object.clone();
        meta::set(&mut named, "name", name.as_str());
        match store(request, named, options) {
            Err(refusal) if refusal.reason == "AlreadyExists" => {}
            other => return other,
        }
    }
    Err(Refusal::no_free_name(request.resource(), &name))
}

fn store(
    request: &Request<'_>,
    mut object: Value,
    options: &WriteOptions,
) -> Result<Arc<Value>, Refusal> {
    request.strategy.prepare_create(&mut object);
    let name = meta::text(&object, "name").to_owned();
    let errors = request.strategy.validate(&object);
    if !errors.is_empty() {
        return Err(Refusal::invalid(request.resource(), &name, &errors));
    }
    if !meta::text(&object, "resourceVersion").is_empty() {
        let message = "resourceVersion should not be set on objects to be created";
        return Err(Refusal::new(500, "", message));
    }
    request.insert(&request.key_of(&name)?, object, options.dry_run)
}
