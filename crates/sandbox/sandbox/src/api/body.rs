//! Objects as clients send them.

use serde_json::Value;

use super::options::{UnknownFields, WriteOptions};
use super::request::Request;
use super::{Refusal, meta};
use crate::catalog::Verb;
use crate::field_error::FieldError;

/// Where the real server has the list of its types, which is in its messages.
const SCHEME: &str = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30";

/// An object that a client sent, as its kind sees it.
pub(super) struct Received {
    pub(super) object: Value,
    pub(super) warnings: Vec<String>,
}

/// Why an object cannot be taken for what it should be.
pub(super) enum Unfit {
    /// It cannot be read. How the client is told depends on how it came.
    Unreadable { kind: String, version: String, why: String },
    /// The client is told this.
    Refused(Refusal),
}

impl From<Refusal> for Unfit {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Reads an object of the kind that the request is about, and fills in what the client left out.
pub(super) fn receive(
    request: &Request<'_>,
    object: Value,
    options: &WriteOptions,
) -> Result<Received, Refusal> {
    understand(request, object, options).map_err(|unfit| match unfit {
        Unfit::Refused(refusal) => refusal,
        Unfit::Unreadable { kind, version, why } => {
            let expected = &request.resource().kind;
            Refusal::bad_request(format!(
                "{kind} in version {version:?} cannot be handled as a {expected}: {why}"
            ))
        }
    })
}

/// The same for what a patch came to.
pub(super) fn receive_patched(
    request: &Request<'_>,
    patched: Value,
    options: &WriteOptions,
) -> Result<Received, Refusal> {
    let text = patched.to_string();
    understand(request, patched, options).map_err(|unfit| match unfit {
        Unfit::Refused(refusal) => refusal,
        Unfit::Unreadable { why, .. } => {
            Refusal::invalid_thing("", "", "", &[FieldError::invalid("patch", text, why)])
        }
    })
}

fn understand(
    request: &Request<'_>,
    mut object: Value,
    options: &WriteOptions,
) -> Result<Received, Unfit> {
    check_type(&mut object, request)?;
    let resource = request.resource();
    let unreadable = |why: String| Unfit::Unreadable {
        kind: resource.kind.clone(),
        version: resource.version.clone(),
        why,
    };
    let read = request.strategy.read(object).map_err(unreadable)?;
    let warnings = match options.unknown_fields {
        UnknownFields::Ignored => Vec::new(),
        UnknownFields::Refused if !read.unknown.is_empty() => {
            let problems = unknown_fields(&read.unknown).join(", ");
            return Err(unreadable(format!("strict decoding error: {problems}")));
        }
        UnknownFields::Warned | UnknownFields::Refused => unknown_fields(&read.unknown),
    };
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

/// What a built-in object does not say about its type follows from the address it is sent to;
/// others have to say it.
fn check_type(object: &mut Value, request: &Request<'_>) -> Result<(), Unfit> {
    let resource = request.resource();
    let unrecognized = |why: &str| {
        Refusal::bad_request(format!(
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
        check_custom_type(object, request)
    } else {
        check_built_in_type(object, request)
    }
}

fn check_custom_type(object: &Value, request: &Request<'_>) -> Result<(), Unfit> {
    let resource = request.resource();
    let (expected, version) = (&resource.kind, &resource.version);
    let kind = word(object, "kind");
    if kind.is_empty() {
        return Err(Unfit::Unreadable {
            kind: expected.clone(),
            version: version.clone(),
            why: format!("unmarshalerDecoder: Object 'Kind' is missing in '{object}'"),
        });
    }
    let (given, api_version) = (word(object, "apiVersion"), resource.api_version());
    let must_be = |field: &str, value: &str, expected: &str| {
        let error = FieldError::invalid(field, value, format!("must be {expected}"));
        Refusal::invalid_thing(kind, &resource.group, meta::text(object, "name"), &[error])
    };
    if given != api_version {
        if request.call.verb == Verb::Patch {
            return Err(must_be("apiVersion", given, &api_version).into());
        }
        return Err(Unfit::Refused(Refusal::bad_request(format!(
            "the API version in the data ({given}) does not match the expected API version \
             ({api_version})"
        ))));
    }
    if kind != expected {
        return Err(must_be("kind", kind, expected).into());
    }
    Ok(())
}

fn check_built_in_type(object: &Value, request: &Request<'_>) -> Result<(), Unfit> {
    let resource = request.resource();
    let (given, kind) = (word(object, "apiVersion"), word(object, "kind"));
    if given == resource.api_version() && kind == resource.kind {
        return Ok(());
    }
    let (group, version) = given.rsplit_once('/').unwrap_or(("", given));
    let catalog = request.api.catalog();
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
    Err(Unfit::Unreadable { kind: kind.to_owned(), version: version.to_owned(), why })
}

fn word<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn unknown_fields(paths: &[String]) -> Vec<String> {
    paths.iter().map(|path| format!("unknown field {path:?}")).collect()
}
