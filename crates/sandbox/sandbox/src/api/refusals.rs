//! The refusals that several verbs share, in the words of the API server.

use super::refusal::{Cause, Details, Refusal, resource_name};
use crate::catalog::Resource;
use crate::field_error::{FieldError, FieldErrorKind};
use crate::patch::PatchError;
use crate::store::{InvalidKey, Key, QueryError, ReadError, StoreError};

const STALE: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

impl Refusal {
    /// 500, with the same again as its cause.
    pub(crate) fn internal_because(why: &str) -> Self {
        let cause = Cause { reason: String::new(), message: why.to_owned(), field: String::new() };
        Self::internal(why).about(Details { causes: vec![cause], ..Details::default() })
    }

    /// 409: there is one already.
    pub(super) fn already_exists(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", resource_name(resource));
        Self::new(409, "AlreadyExists", message).about(of_resource(resource, name))
    }

    /// 409: chance found no name that is free.
    pub(super) fn no_free_name(resource: &Resource, name: &str) -> Self {
        let message = format!(
            "{} {name:?} already exists, the server was not able to generate a unique name for \
             the object",
            resource_name(resource)
        );
        let details = Details { retry_after_seconds: Some(1), ..of_resource(resource, name) };
        Self::new(409, "AlreadyExists", message).about(details)
    }

    /// 404: there is no such resource, or no longer.
    pub(super) fn unknown_resource() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource")
    }

    /// 409: it is not in the state that was expected.
    pub(super) fn conflict(resource: &Resource, name: &str, why: impl std::fmt::Display) -> Self {
        let subject = resource_name(resource);
        let message = format!("Operation cannot be fulfilled on {subject} {name:?}: {why}");
        Self::new(409, "Conflict", message).about(of_resource(resource, name))
    }

    /// 409: somebody else was faster.
    pub(super) fn stale(resource: &Resource, name: &str) -> Self {
        Self::conflict(resource, name, STALE)
    }

    /// 409 of a deletion, which speaks of the kind.
    pub(super) fn precondition(resource: &Resource, name: &str, why: &str) -> Self {
        let subject = qualified(&resource.kind, &resource.group);
        let message = format!("Operation cannot be fulfilled on {subject} {name:?}: {why}");
        Self::new(409, "Conflict", message).about(of_kind(resource, name))
    }

    /// 403: a rule of the cluster forbids it.
    pub(super) fn forbidden(resource: &Resource, name: &str, why: impl std::fmt::Display) -> Self {
        let subject = resource_name(resource);
        // What has no name yet is not named.
        let message = match name {
            "" => format!("{subject} is forbidden: {why}"),
            name => format!("{subject} {name:?} is forbidden: {why}"),
        };
        Self::new(403, "Forbidden", message).about(of_resource(resource, name))
    }

    /// 422: the object is not valid.
    pub(super) fn invalid(resource: &Resource, name: &str, errors: &[FieldError]) -> Self {
        Self::invalid_thing(&resource.kind, &resource.group, name, errors)
    }

    /// 422: the parameters of the request are not valid.
    pub(super) fn invalid_options(kind: &str, errors: &[FieldError]) -> Self {
        Self::invalid_thing(kind, "meta.k8s.io", "", errors)
    }

    /// 422, about whatever is called so.
    pub(super) fn invalid_thing(
        kind: &str,
        group: &str,
        name: &str,
        errors: &[FieldError],
    ) -> Self {
        Self::invalid_because(kind, group, name, errors.iter().map(Cause::from).collect())
    }

    /// 422, for causes whose texts are no field errors as others are.
    pub(super) fn invalid_because(kind: &str, group: &str, name: &str, causes: Vec<Cause>) -> Self {
        let mut texts: Vec<String> = Vec::new();
        for Cause { field, message, .. } in &causes {
            let text = format!("{field}: {message}");
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let why = match texts.as_slice() {
            [only] => only.clone(),
            all => format!("[{}]", all.join(", ")),
        };
        let message = format!("{} {name:?} is invalid: {why}", qualified(kind, group));
        let details = Details { causes, ..about(kind, group, name) };
        Self::new(422, "Invalid", message).about(details)
    }

    /// The same as this, with one more cause.
    #[must_use]
    pub(super) fn because(mut self, reason: &str, message: &str, field: &str) -> Self {
        let cause = Cause {
            reason: reason.to_owned(),
            message: message.to_owned(),
            field: field.to_owned(),
        };
        self.details.get_or_insert_default().causes.push(cause);
        self
    }

    /// 405: no new objects, because their definition goes.
    pub(super) fn definition_terminating(resource: &Resource) -> Self {
        let message = "create not allowed while custom resource definition is terminating";
        Self::new(405, "MethodNotAllowed", message).about(of_resource(resource, ""))
    }

    /// What a failed write of the store means for the client.
    pub(super) fn of_store(error: &StoreError, resource: &Resource) -> Self {
        match error {
            StoreError::NotFound { key } => Self::not_found(resource, key.name()),
            StoreError::AlreadyExists { key, .. } => Self::already_exists(resource, key.name()),
            StoreError::Conflict { key, .. } => Self::stale(resource, key.name()),
            StoreError::OtherUid { key, .. } => {
                Self::precondition(resource, key.name(), &error.to_string())
            }
        }
    }
}

/// 409 of an update whose body names another object of the same name.
pub(super) fn other_uid(resource: &Resource, key: &Key, expected: &str, actual: &str) -> Refusal {
    let folder = folder(resource);
    let namespace = key.namespace().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{folder}/{namespace}{}, \
         ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: \
         UID in precondition: {expected}, UID in object meta: {actual}",
        key.name()
    );
    Refusal::conflict(resource, key.name(), why)
}

/// Where the real server's database has the objects of a resource.
fn folder(resource: &Resource) -> String {
    let Resource { group, plural, custom, .. } = resource;
    let own_server = ["apiextensions.k8s.io", "apiregistration.k8s.io"].contains(&group.as_str());
    match plural.as_str() {
        _ if custom.is_some() || own_server => format!("{group}/{plural}"),
        "endpoints" => "services/endpoints".to_owned(),
        "ingresses" => "ingress".to_owned(),
        "nodes" => "minions".to_owned(),
        "services" => "services/specs".to_owned(),
        other => other.to_owned(),
    }
}

impl From<QueryError> for Refusal {
    fn from(error: QueryError) -> Self {
        const FIELD: &str = "resourceVersionMatch";
        let options = |kind, value: &str, detail: &str| {
            Self::invalid_options("ListOptions", &[FieldError::of(kind, FIELD, value, detail)])
        };
        match &error {
            // The real server makes no `Status` of its own of it, hence the 500 without a reason.
            QueryError::ResourceVersion { value } => {
                Self::new(500, "", invalid_version("resourceVersion: ", value))
            }
            QueryError::VersionWithContinue => Self::bad_request(error.to_string()),
            QueryError::MatchForbidden { detail } => options(FieldErrorKind::Forbidden, "", detail),
            QueryError::MatchUnknown { value } => {
                let supported = "supported values: \"Exact\", \"NotOlderThan\", \"\"";
                options(FieldErrorKind::NotSupported, value, supported)
            }
        }
    }
}

/// What Go says of a text that is no number.
fn invalid_version(field: &str, value: &str) -> String {
    format!("{field}Invalid value: {value:?}: {}", no_number("ParseUint", value))
}

/// What Go says of a text that is no number.
pub(super) fn no_number(function: &str, value: &str) -> String {
    format!("strconv.{function}: parsing {value:?}: invalid syntax")
}

impl From<ReadError> for Refusal {
    fn from(error: ReadError) -> Self {
        let message = error.to_string();
        match error {
            ReadError::ListExpired { .. } | ReadError::WatchExpired { .. } => {
                Self::new(410, "Expired", message)
            }
            ReadError::ContinueExpired { token } => {
                Self { continue_token: Some(token), ..Self::new(410, "Expired", message) }
            }
            ReadError::TooLarge { .. } => {
                let details = Details { retry_after_seconds: Some(1), ..Details::default() };
                Self::new(504, "Timeout", format!("Timeout: {message}")).about(details).because(
                    "ResourceVersionTooLarge",
                    "Too large resource version",
                    "",
                )
            }
            ReadError::InvalidContinue { .. } => Self::bad_request(message),
        }
    }
}

impl From<InvalidKey> for Refusal {
    fn from(error: InvalidKey) -> Self {
        Self::bad_request(error.to_string())
    }
}

impl From<PatchError> for Refusal {
    fn from(error: PatchError) -> Self {
        let message = error.to_string();
        match error.code() {
            413 => Self::new(413, "RequestEntityTooLarge", message),
            415 => Self::new(415, "UnsupportedMediaType", message),
            // The real server says no more of an operation that fails.
            422 => {
                let message = "the server rejected our request due to an error in our request";
                Self::new(422, "Invalid", message).about(Details::default())
            }
            500 => Self::new(500, "", message),
            _ => Self::bad_request(message),
        }
    }
}

impl From<&FieldError> for Cause {
    fn from(error: &FieldError) -> Self {
        let text = error.to_string();
        // The field has a place of its own.
        let message = text.split_once(": ").map_or(text.as_str(), |(_, message)| message);
        let field = if error.path.is_empty() { "<nil>" } else { &error.path };
        Self {
            reason: error.kind.reason().to_owned(),
            message: message.to_owned(),
            field: field.to_owned(),
        }
    }
}

fn of_resource(resource: &Resource, name: &str) -> Details {
    about(&resource.plural, &resource.group, name)
}

fn of_kind(resource: &Resource, name: &str) -> Details {
    about(&resource.kind, &resource.group, name)
}

fn about(kind: &str, group: &str, name: &str) -> Details {
    Details {
        name: name.to_owned(),
        group: group.to_owned(),
        kind: kind.to_owned(),
        ..Details::default()
    }
}

fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}
