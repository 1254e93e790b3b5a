//! Objects as clients send them.

use serde_json::Value;

use super::options::{UnknownFields, WriteOptions};
use super::request::Request;
use super::{Refusal, meta};
use crate::catalog::Resource;

/// An object that a client sent, as its kind sees it.
pub(super) struct Received {
    pub(super) object: Value,
    pub(super) warnings: Vec<String>,
}

/// Reads an object of the kind that the request is about, and fills in what the client left out.
pub(super) fn receive(
    request: &Request<'_>,
    mut object: Value,
    options: &WriteOptions,
) -> Result<Received, Refusal> {
    check_type(&mut object, request.resource())?;
    let read = request.strategy.read(object)?;
    let warnings = warnings(&read.unknown, options.unknown_fields, request.resource())?;
    let mut object = read.object;
    request.strategy.default(&mut object);
    Ok(Received { object, warnings })
}

/// Checks what a new object says about where it is.
pub(super) fn check_new_place(request: &Request<'_>, object: &mut Value) -> Result<(), Refusal> {
    let requested = request.call.namespace.as_deref().unwrap_or_default();
    match meta::text(object, "namespace") {
        given if given == requested => {}
        "" => meta::set(object, "namespace", requested),
        _ => {
            return Err(Refusal::bad_request(
                "the namespace of the provided object does not match the namespace sent on the \
                 request",
            ));
        }
    }
    Ok(())
}

/// Checks what the replacement of an object says about which one it is.
pub(super) fn check_place(request: &Request<'_>, object: &mut Value) -> Result<(), Refusal> {
    let requested = request.call.name.as_deref().unwrap_or_default();
    let given = meta::text(object, "name");
    if given.is_empty() {
        return Err(Refusal::bad_request(format!(
            "the name of the object ({requested} based on URL) was undeterminable: \
             name must be provided"
        )));
    }
    if given != requested {
        return Err(Refusal::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({requested})"
        )));
    }
    let requested = request.call.namespace.as_deref().unwrap_or_default();
    match meta::text(object, "namespace") {
        given if given == requested => {}
        "" => meta::set(object, "namespace", requested),
        given => {
            return Err(Refusal::bad_request(format!(
                "the namespace of the object ({given}) does not match the namespace on the \
                 request ({requested})"
            )));
        }
    }
    Ok(())
}

/// What an object does not say about its type follows from the address it is sent to.
fn check_type(object: &mut Value, resource: &Resource) -> Result<(), Refusal> {
    let Some(fields) = object.as_object_mut() else {
        let kind = &resource.kind;
        return Err(Refusal::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): couldn't get \
             version/kind; json parse error: an object is expected"
        )));
    };
    let expected = resource.api_version();
    let mut word = |field: &str, default: &str| {
        let value = fields.entry(field).or_insert_with(|| default.into());
        if value.as_str() == Some("") {
            *value = default.into();
        }
        value.as_str().map(str::to_owned)
    };
    let (version, kind) = (word("apiVersion", &expected), word("kind", &resource.kind));
    match (version, kind) {
        (Some(version), Some(kind)) if version == expected && kind == resource.kind => Ok(()),
        (Some(version), Some(kind)) => {
            let short = version.rsplit('/').next().unwrap_or_default();
            let wanted = &resource.kind;
            Err(Refusal::bad_request(format!(
                "{kind} in version {short:?} cannot be handled as a {wanted}: \
                 no kind {kind:?} is registered for version {version:?}"
            )))
        }
        _ => Err(Refusal::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): couldn't get version/kind; \
             json parse error: apiVersion and kind are texts",
            resource.kind
        ))),
    }
}

fn warnings(
    unknown: &[String],
    treatment: UnknownFields,
    resource: &Resource,
) -> Result<Vec<String>, Refusal> {
    let texts = unknown.iter().map(|path| format!("unknown field {path:?}"));
    match treatment {
        UnknownFields::Ignored => Ok(Vec::new()),
        UnknownFields::Warned => Ok(texts.collect()),
        UnknownFields::Refused if unknown.is_empty() => Ok(Vec::new()),
        UnknownFields::Refused => {
            let (kind, version) = (&resource.kind, &resource.version);
            let problems = texts.collect::<Vec<_>>().join(", ");
            Err(Refusal::bad_request(format!(
                "{kind} in version {version:?} cannot be handled as a {kind}: \
                 strict decoding error: {problems}"
            )))
        }
    }
}
