//! Replacing objects.

use std::sync::Arc;

use serde_json::Value;

use super::options::WriteOptions;
use super::refusal::Cause;
use super::refusals::{no_number, other_uid};
use super::request::Request;
use super::write::{ATTEMPTS, Outcome};
use super::{Refusal, Reply, admission, body, create, lifecycle, meta};
use crate::apply::track_update;
use crate::catalog::Subresource;

/// An object after a write.
pub(super) struct Written {
    pub(super) object: Arc<Value>,
    pub(super) created: bool,
}

/// Replaces an object, or what a subresource shows of it.
pub(super) fn update(request: &Request<'_>) -> Result<Reply, Refusal> {
    let options = WriteOptions::parse("UpdateOptions", request.call)?;
    let received = body::receive(request, request.body()?.clone(), &options)?;
    let mut object = received.object;
    body::check_place(request, &mut object)?;
    let api_version = request.resource().api_version();
    let writer = request.writer(&options.manager, &api_version);
    let creates = request.strategy.is_made_by_updates() && request.call.subresource.is_none();
    let written = replace(request, &options, creates, |old| {
        check_uid(request, &object, old)?;
        Ok(track_update(old, &object, &writer))
    })?;
    Ok(request.shown(&written.object, written.created, received.warnings))
}

/// Replaces an object by what `next` makes of it, as often as others are faster; where `creates`,
/// also one that is not there.
pub(super) fn replace(
    request: &Request<'_>,
    options: &WriteOptions,
    creates: bool,
    mut next: impl FnMut(Option<&Value>) -> Result<Value, Refusal>,
) -> Result<Written, Refusal> {
    let key = request.key()?;
    for _ in 0..ATTEMPTS {
        let old = match request.existing(&key) {
            Ok(old) => old,
            Err(refusal) if !creates => return Err(refusal),
            Err(_) => match create::make(request, next(None)?, options) {
                Ok(object) => return Ok(Written { object, created: true }),
                Err(refusal) if refusal.reason == "AlreadyExists" => continue,
                Err(refusal) => return Err(refusal),
            },
        };
        let shown = request.strategy.shown(&old);
        let outcome = revise(request, next(Some(&shown))?, &shown)?;
        if let Some(object) = request.commit(&key, &old, outcome, options.dry_run)? {
            return Ok(Written { object, created: false });
        }
    }
    Err(Refusal::stale(request.resource(), key.name()))
}

/// What becomes of an object that is to be replaced by another, whose fields have their owners
/// already.
fn revise(request: &Request<'_>, mut object: Value, old: &Value) -> Result<Outcome, Refusal> {
    // A scale is a change of the object itself.
    let subresource = request.call.subresource.filter(|it| *it != Subresource::Scale);
    check_version(request, &mut object, old)?;
    admission::update(request, &mut object, old)?;
    lifecycle::keep(&mut object, old);
    request.strategy.prepare_update(&mut object, old, subresource);
    let errors = request.strategy.validate_update(&object, old, subresource);
    if !errors.is_empty() {
        let name = meta::text(old, "name");
        return Err(Refusal::invalid(request.resource(), name, &errors));
    }
    if lifecycle::is_finished(&object) {
        return Ok(Outcome::Remove(object));
    }
    Ok(Outcome::Write(object))
}

/// Who says which version they replace means no other.
fn check_version(request: &Request<'_>, object: &mut Value, old: &Value) -> Result<(), Refusal> {
    let current = meta::text(old, "resourceVersion");
    let name = meta::text(old, "name");
    match meta::text(object, "resourceVersion") {
        "" | "0" if request.strategy.needs_a_resource_version() => {
            Err(version_missing(request, name))
        }
        "" | "0" => {
            meta::set(object, "resourceVersion", current);
            Ok(())
        }
        given if given == current => Ok(()),
        // The real server makes no `Status` of its own of it, hence the 500 without a reason.
        given if given.parse::<u64>().is_err() => {
            Err(Refusal::new(500, "", no_number("ParseUint", given)))
        }
        _ => Err(Refusal::stale(request.resource(), name)),
    }
}

/// The real server speaks of the resource as if it were the kind.
fn version_missing(request: &Request<'_>, name: &str) -> Refusal {
    let resource = request.resource();
    let cause = Cause {
        reason: "FieldValueInvalid".to_owned(),
        message: "Invalid value: 0x0: must be specified for an update".to_owned(),
        field: "metadata.resourceVersion".to_owned(),
    };
    Refusal::invalid_because(&resource.plural, &resource.group, name, vec![cause])
}

/// Who says which object they mean means no other of the same name.
pub(super) fn check_uid(
    request: &Request<'_>,
    object: &Value,
    old: Option<&Value>,
) -> Result<(), Refusal> {
    let expected = meta::text(object, "uid");
    let actual = old.map_or("", |old| meta::text(old, "uid"));
    if expected.is_empty() || old.is_none() || expected == actual {
        return Ok(());
    }
    Err(other_uid(request.resource(), &request.key()?, expected, actual))
}
