//! Decoding of objects in request bodies.

use serde_json::Value;

use super::context::RequestContext;
use super::options::{UnknownFields, WriteOptions};
use super::{ApiResult, StatusError, meta};
use crate::catalog::Verb;
use crate::field_error::FieldError;

/// Source location that the API server prints in its decoding errors.
const SCHEME: &str = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30";

/// A decoded and defaulted object with the warnings for its client.
pub(super) struct DecodedObject {
    pub(super) object: Value,
    pub(super) warnings: Vec<String>,
}

/// Why an object cannot be decoded as the kind of the request.
pub(super) enum DecodeError {
    /// It does not decode. The message depends on whether the object was sent or patched.
    Undecodable { kind: String, version: String, why: String },
    /// The error for the client.
    Status(StatusError),
}

impl From<StatusError> for DecodeError {
    fn from(error: StatusError) -> Self {
        Self::Status(error)
    }
}

/// Decodes an object of the requested kind and applies defaults.
pub(super) fn decode(
    context: &RequestContext<'_>,
    object: Value,
    options: &WriteOptions,
) -> ApiResult<DecodedObject> {
    decode_object(context, object, options).map_err(|error| match error {
        DecodeError::Status(error) => error,
        DecodeError::Undecodable { kind, version, why } => {
            let expected = &context.resource().kind;
            StatusError::bad_request(format!(
                "{kind} in version {version:?} cannot be handled as a {expected}: {why}"
            ))
        }
    })
}

/// Decodes the result of a patch. Errors name the field `patch`.
pub(super) fn decode_patched(
    context: &RequestContext<'_>,
    patched: Value,
    options: &WriteOptions,
) -> ApiResult<DecodedObject> {
    let text = patched.to_string();
    decode_object(context, patched, options).map_err(|error| match error {
        DecodeError::Status(error) => error,
        DecodeError::Undecodable { why, .. } => {
            StatusError::invalid_fields("", "", "", &[FieldError::invalid("patch", text, why)])
        }
    })
}

fn decode_object(
    context: &RequestContext<'_>,
    mut object: Value,
    options: &WriteOptions,
) -> Result<DecodedObject, DecodeError> {
    check_type(&mut object, context)?;
    let resource = context.resource();
    let undecodable = |why: String| DecodeError::Undecodable {
        kind: resource.kind.clone(),
        version: resource.version.clone(),
        why,
    };
    let read = context.strategy.read(object).map_err(undecodable)?;
    let warnings = match options.unknown_fields {
        UnknownFields::Ignored => Vec::new(),
        UnknownFields::Refused if !read.unknown.is_empty() => {
            let problems = unknown_fields(&read.unknown).join(", ");
            return Err(undecodable(format!("strict decoding error: {problems}")));
        }
        UnknownFields::Warned | UnknownFields::Refused => unknown_fields(&read.unknown),
    };
    let mut object = read.object;
    context.strategy.default(&mut object);
    Ok(DecodedObject { object, warnings })
}

/// Checks the namespace of a new object against the request, or sets it.
pub(super) fn check_new_namespace(
    context: &RequestContext<'_>,
    object: &mut Value,
) -> ApiResult<()> {
    let requested = context.request.namespace.as_deref().unwrap_or_default();
    match meta::text(object, "namespace") {
        given if given == requested => {}
        "" => meta::set(object, "namespace", requested),
        _ => {
            return Err(StatusError::bad_request(
                "the namespace of the provided object does not match the namespace sent on the \
                 request",
            ));
        }
    }
    Ok(())
}

/// Checks name and namespace of an object against the request, or sets the namespace.
pub(super) fn check_identity(context: &RequestContext<'_>, object: &mut Value) -> ApiResult<()> {
    let requested = context.request.name.as_deref().unwrap_or_default();
    let given = meta::text(object, "name");
    if given.is_empty() {
        return Err(StatusError::bad_request(format!(
            "the name of the object ({requested} based on URL) was undeterminable: \
             name must be provided"
        )));
    }
    if given != requested {
        return Err(StatusError::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({requested})"
        )));
    }
    let requested = context.request.namespace.as_deref().unwrap_or_default();
    match meta::text(object, "namespace") {
        given if given == requested => {}
        "" => meta::set(object, "namespace", requested),
        given => {
            return Err(StatusError::bad_request(format!(
                "the namespace of the object ({given}) does not match the namespace on the \
                 request ({requested})"
            )));
        }
    }
    Ok(())
}

/// Checks `apiVersion` and `kind`. Built-in objects may omit them, custom resources may not.
fn check_type(object: &mut Value, context: &RequestContext<'_>) -> Result<(), DecodeError> {
    let resource = context.resource();
    let unrecognized = |why: &str| {
        StatusError::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): couldn't get version/kind; \
             json parse error: {why}",
            resource.kind
        ))
    };
    let Some(fields) = object.as_object_mut() else {
        return Err(unrecognized("expected an object").into());
    };
    let is_custom = resource.custom.is_some();
    for (field, default) in
        [("apiVersion", resource.api_version()), ("kind", resource.kind.clone())]
    {
        match fields.get(field) {
            Some(Value::String(text)) if !text.is_empty() => {}
            None | Some(Value::String(_) | Value::Null) if !is_custom => {
                fields.insert(field.to_owned(), default.into());
            }
            None | Some(Value::String(_) | Value::Null) => {}
            Some(_) => return Err(unrecognized(&format!("{field} is not a string")).into()),
        }
    }
    if is_custom {
        check_custom_type(object, context)
    } else {
        check_built_in_type(object, context)
    }
}

fn check_custom_type(object: &Value, context: &RequestContext<'_>) -> Result<(), DecodeError> {
    let resource = context.resource();
    let (expected, version) = (&resource.kind, &resource.version);
    let kind = text_field(object, "kind");
    if kind.is_empty() {
        return Err(DecodeError::Undecodable {
            kind: expected.clone(),
            version: version.clone(),
            why: format!("unmarshalerDecoder: Object 'Kind' is missing in '{object}'"),
        });
    }
    let (given, api_version) = (text_field(object, "apiVersion"), resource.api_version());
    let must_be = |field: &str, value: &str, expected: &str| {
        let error = FieldError::invalid(field, value, format!("must be {expected}"));
        StatusError::invalid_fields(kind, &resource.group, meta::text(object, "name"), &[error])
    };
    if given != api_version {
        if context.request.verb == Verb::Patch {
            return Err(must_be("apiVersion", given, &api_version).into());
        }
        return Err(DecodeError::Status(StatusError::bad_request(format!(
            "the API version in the data ({given}) does not match the expected API version \
             ({api_version})"
        ))));
    }
    if kind != expected {
        return Err(must_be("kind", kind, expected).into());
    }
    Ok(())
}

fn check_built_in_type(object: &Value, context: &RequestContext<'_>) -> Result<(), DecodeError> {
    let resource = context.resource();
    let (given, kind) = (text_field(object, "apiVersion"), text_field(object, "kind"));
    if given == resource.api_version() && kind == resource.kind {
        return Ok(());
    }
    let (group, version) = given.rsplit_once('/').unwrap_or(("", given));
    let catalog = context.api.catalog();
    let mut known = catalog.resources().filter(|it| it.group == group && it.version == version);
    let why = if known.any(|it| it.kind == kind && it.custom.is_none()) {
        let internal = resource.group.split('.').next().filter(|group| !group.is_empty());
        let internal = internal.unwrap_or("core");
        format!(
            "converting ({version}.{kind}) to ({internal}.{}): unknown conversion",
            resource.kind
        )
    } else {
        format!("no kind {kind:?} is registered for version {given:?} in scheme {SCHEME:?}")
    };
    Err(DecodeError::Undecodable { kind: kind.to_owned(), version: version.to_owned(), why })
}

fn text_field<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn unknown_fields(paths: &[String]) -> Vec<String> {
    paths.iter().map(|path| format!("unknown field {path:?}")).collect()
}
