//! Errors of the API in the form of a `Status`.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::catalog::Resource;
use crate::field_error::{FieldError, FieldErrorKind};
use crate::patch::PatchError;
use crate::store::{InvalidKey, Key, QueryError, ReadError, StoreError};

const STALE_MESSAGE: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// An error response: the content of a `Status`.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusError {
    /// The HTTP status.
    pub code: u16,
    /// Machine-readable reason such as `NotFound`; may be empty.
    pub reason: &'static str,
    /// Message for people.
    pub message: String,
    /// The affected object and the causes.
    pub details: Option<Box<StatusDetails>>,
    /// `metadata.continue` of the `Status`, with which a list can continue.
    pub continue_token: Option<String>,
    /// Further fields of a `Status` that a webhook returned.
    pub webhook_status: Option<Box<Map<String, Value>>>,
}

/// The affected object and the causes of an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusDetails {
    /// The name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Resource or kind, depending on the error.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The UID of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// All causes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<StatusCause>,
    /// Delay before a retry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u32>,
}

/// One cause of an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StatusCause {
    /// Machine-readable reason.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Message for people.
    pub message: String,
    /// The field.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

impl StatusError {
    /// An error without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, reason, message, details: None, continue_token: None, webhook_status: None }
    }

    /// Adds fields of a `Status` that a webhook returned.
    #[must_use]
    pub fn with_webhook_status(self, fields_of_webhook: Map<String, Value>) -> Self {
        Self { webhook_status: Some(Box::new(fields_of_webhook)), ..self }
    }

    /// Adds details.
    #[must_use]
    pub fn with_details(self, details: StatusDetails) -> Self {
        Self { details: Some(Box::new(details)), ..self }
    }

    /// 404 for an object.
    pub fn not_found(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {name:?} not found", resource_name(resource));
        Self::new(404, "NotFound", message).with_details(StatusDetails {
            name: name.to_owned(),
            group: resource.group.clone(),
            kind: resource.plural.clone(),
            ..StatusDetails::default()
        })
    }

    /// 400 Bad Request.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 500 Internal Server Error.
    pub fn internal(message: impl fmt::Display) -> Self {
        let message = format!("Internal error occurred: {message}");
        Self::new(500, "InternalError", message)
    }

    /// 501 for features of the API server that the sandbox lacks.
    pub fn not_implemented(what: &str) -> Self {
        Self::new(501, "NotImplemented", format!("the sandbox does not support {what}"))
    }

    /// The `Status` document.
    pub fn to_status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": self.details,
            "code": self.code,
        });
        if let Some(token) = &self.continue_token {
            status["metadata"]["continue"] = json!(token);
        }
        if let Some(fields) = status.as_object_mut() {
            for (name, value) in
                self.webhook_status.iter().flat_map(|fields_of_webhook| fields_of_webhook.iter())
            {
                fields.insert(name.clone(), value.clone());
            }
            fields.retain(|_, value| !value.is_null() && *value != "");
        }
        status
    }
}

impl fmt::Display for StatusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StatusError {}

/// The resource in messages: `configmaps`, `deployments.apps`.
pub(super) fn resource_name(resource: &Resource) -> String {
    match resource.group.as_str() {
        "" => resource.plural.clone(),
        group => format!("{}.{group}", resource.plural),
    }
}

impl StatusError {
    /// 500 with the message as cause.
    pub(crate) fn internal_with_cause(why: &str) -> Self {
        let cause =
            StatusCause { reason: String::new(), message: why.to_owned(), field: String::new() };
        Self::internal(why)
            .with_details(StatusDetails { causes: vec![cause], ..StatusDetails::default() })
    }

    /// 409 for an existing object.
    pub(super) fn already_exists(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", resource_name(resource));
        Self::new(409, "AlreadyExists", message).with_details(resource_details(resource, name))
    }

    /// 409 if all generated names exist.
    pub(super) fn no_free_name(resource: &Resource, name: &str) -> Self {
        let message = format!(
            "{} {name:?} already exists, the server was not able to generate a unique name for \
             the object",
            resource_name(resource)
        );
        let details =
            StatusDetails { retry_after_seconds: Some(1), ..resource_details(resource, name) };
        Self::new(409, "AlreadyExists", message).with_details(details)
    }

    /// 404 for a resource that is not served.
    pub(super) fn unknown_resource() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource")
    }

    /// 409 with a reason.
    pub(super) fn conflict(resource: &Resource, name: &str, why: impl fmt::Display) -> Self {
        let subject = resource_name(resource);
        let message = format!("Operation cannot be fulfilled on {subject} {name:?}: {why}");
        Self::new(409, "Conflict", message).with_details(resource_details(resource, name))
    }

    /// 409 for a stale resource version.
    pub(super) fn stale(resource: &Resource, name: &str) -> Self {
        Self::conflict(resource, name, STALE_MESSAGE)
    }

    /// 409 of a deletion precondition, which names the kind.
    pub(super) fn precondition(resource: &Resource, name: &str, why: &str) -> Self {
        let subject = qualified(&resource.kind, &resource.group);
        let message = format!("Operation cannot be fulfilled on {subject} {name:?}: {why}");
        Self::new(409, "Conflict", message).with_details(kind_details(resource, name))
    }

    /// 403 by admission.
    pub(super) fn forbidden(resource: &Resource, name: &str, why: impl fmt::Display) -> Self {
        let subject = resource_name(resource);
        // Objects without a name yet are not named.
        let message = match name {
            "" => format!("{subject} is forbidden: {why}"),
            name => format!("{subject} {name:?} is forbidden: {why}"),
        };
        Self::new(403, "Forbidden", message).with_details(resource_details(resource, name))
    }

    /// 422 for an invalid object.
    pub(super) fn invalid(resource: &Resource, name: &str, errors: &[FieldError]) -> Self {
        Self::invalid_fields(&resource.kind, &resource.group, name, errors)
    }

    /// 422 for invalid request options.
    pub(super) fn invalid_options(kind: &str, errors: &[FieldError]) -> Self {
        Self::invalid_fields(kind, "meta.k8s.io", "", errors)
    }

    /// 422 with field errors.
    pub(super) fn invalid_fields(
        kind: &str,
        group: &str,
        name: &str,
        errors: &[FieldError],
    ) -> Self {
        Self::invalid_with_causes(kind, group, name, errors.iter().map(StatusCause::from).collect())
    }

    /// 422 with causes that are not formatted like field errors.
    pub(crate) fn invalid_with_causes(
        kind: &str,
        group: &str,
        name: &str,
        causes: Vec<StatusCause>,
    ) -> Self {
        let mut texts: Vec<String> = Vec::new();
        for StatusCause { field, message, .. } in &causes {
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
        let details = StatusDetails { causes, ..details(kind, group, name) };
        Self::new(422, "Invalid", message).with_details(details)
    }

    /// 422 for one field, with a value that is already formatted.
    pub(crate) fn invalid_value(
        (kind, group, name): (&str, &str, &str),
        field: &str,
        value: &str,
        detail: &str,
    ) -> Self {
        let cause = StatusCause {
            reason: FieldErrorKind::Invalid.reason().to_owned(),
            message: format!("Invalid value: {value}: {detail}"),
            field: field.to_owned(),
        };
        Self::invalid_with_causes(kind, group, name, vec![cause])
    }

    /// Adds a cause.
    #[must_use]
    pub(super) fn with_cause(mut self, reason: &str, message: &str, field: &str) -> Self {
        let cause = StatusCause {
            reason: reason.to_owned(),
            message: message.to_owned(),
            field: field.to_owned(),
        };
        self.details.get_or_insert_default().causes.push(cause);
        self
    }

    /// 405 for new custom resources of a terminating CRD.
    pub(super) fn crd_terminating(resource: &Resource) -> Self {
        let message = "create not allowed while custom resource definition is terminating";
        Self::new(405, "MethodNotAllowed", message).with_details(resource_details(resource, ""))
    }

    /// The error of a failed write.
    pub(super) fn from_store(error: &StoreError, resource: &Resource) -> Self {
        match error {
            StoreError::NotFound { key } => Self::not_found(resource, key.name()),
            StoreError::AlreadyExists { key, .. } => Self::already_exists(resource, key.name()),
            StoreError::Conflict { key, .. } => Self::stale(resource, key.name()),
        }
    }
}

/// 409 for an update whose body has the UID of another object with the same name.
pub(super) fn uid_conflict(
    resource: &Resource,
    key: &Key,
    expected: &str,
    actual: &str,
) -> StatusError {
    let etcd_directory = etcd_directory(resource);
    let namespace = key.namespace().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{etcd_directory}/{namespace}{}, \
         ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: \
         UID in precondition: {expected}, UID in object meta: {actual}",
        key.name()
    );
    StatusError::conflict(resource, key.name(), why)
}

/// The etcd directory of a resource, which is part of some messages.
fn etcd_directory(resource: &Resource) -> String {
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

impl From<QueryError> for StatusError {
    fn from(error: QueryError) -> Self {
        const FIELD: &str = "resourceVersionMatch";
        let options = |kind, value: &str, detail: &str| {
            Self::invalid_options("ListOptions", &[FieldError::of(kind, FIELD, value, detail)])
        };
        match &error {
            // The API server reports it as 500 without a reason.
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

/// The error of Go's `field.Invalid` for a resource version that is not a number.
fn invalid_version(field: &str, value: &str) -> String {
    format!("{field}Invalid value: {value:?}: {}", go_parse_error("ParseUint", value))
}

/// The error of Go's `strconv` for a string that is not a number.
pub(crate) fn go_parse_error(function: &str, value: &str) -> String {
    format!("strconv.{function}: parsing {value:?}: invalid syntax")
}

impl From<ReadError> for StatusError {
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
                let details =
                    StatusDetails { retry_after_seconds: Some(1), ..StatusDetails::default() };
                Self::new(504, "Timeout", format!("Timeout: {message}"))
                    .with_details(details)
                    .with_cause("ResourceVersionTooLarge", "Too large resource version", "")
            }
            ReadError::InvalidContinue { .. } => Self::bad_request(message),
        }
    }
}

impl From<InvalidKey> for StatusError {
    fn from(error: InvalidKey) -> Self {
        Self::bad_request(error.to_string())
    }
}

impl From<PatchError> for StatusError {
    fn from(error: PatchError) -> Self {
        let message = error.to_string();
        match error.code() {
            413 => Self::new(413, "RequestEntityTooLarge", message),
            415 => Self::new(415, "UnsupportedMediaType", message),
            // The API server does not report why an operation failed.
            422 => {
                let message = "the server rejected our request due to an error in our request";
                Self::new(422, "Invalid", message).with_details(StatusDetails::default())
            }
            500 => Self::new(500, "", message),
            _ => Self::bad_request(message),
        }
    }
}

impl From<&FieldError> for StatusCause {
    fn from(error: &FieldError) -> Self {
        let text = error.to_string();
        // The field is reported separately.
        let message = text.split_once(": ").map_or(text.as_str(), |(_, message)| message);
        let field = if error.path.is_empty() { "<nil>" } else { &error.path };
        Self {
            reason: error.kind.reason().to_owned(),
            message: message.to_owned(),
            field: field.to_owned(),
        }
    }
}

fn resource_details(resource: &Resource, name: &str) -> StatusDetails {
    details(&resource.plural, &resource.group, name)
}

fn kind_details(resource: &Resource, name: &str) -> StatusDetails {
    details(&resource.kind, &resource.group, name)
}

fn details(kind: &str, group: &str, name: &str) -> StatusDetails {
    StatusDetails {
        name: name.to_owned(),
        group: group.to_owned(),
        kind: kind.to_owned(),
        ..StatusDetails::default()
    }
}

fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}
