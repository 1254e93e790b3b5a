//! Why a request was refused, as the API server tells it.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::catalog::Resource;

/// Why a request was refused: the content of a `Status`.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The HTTP status.
    pub code: u16,
    /// The word for machines, such as `NotFound`; empty where there is none.
    pub reason: &'static str,
    /// The sentence for people.
    pub message: String,
    /// What it is about.
    pub details: Option<Box<Details>>,
    /// What the `Status` has in its own metadata: a token with which a list can go on.
    pub continue_token: Option<String>,
    /// Reason, details and whatever else somebody else said, which is passed on as it is.
    pub passed_on: Option<Box<Map<String, Value>>>,
}

/// What a refusal is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Details {
    /// The name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The resource or the kind, whatever the API server names there.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The object's.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Everything that is wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// When to try again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u32>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// The word for machines.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The sentence for people.
    pub message: String,
    /// Where.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

impl Refusal {
    /// A refusal without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, reason, message, details: None, continue_token: None, passed_on: None }
    }

    /// The same with what somebody else said.
    #[must_use]
    pub fn passing_on(self, said: Map<String, Value>) -> Self {
        Self { passed_on: Some(Box::new(said)), ..self }
    }

    /// The same with details.
    #[must_use]
    pub fn about(self, details: Details) -> Self {
        Self { details: Some(Box::new(details)), ..self }
    }

    /// 404: there is no such object.
    pub fn not_found(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {name:?} not found", resource_name(resource));
        Self::new(404, "NotFound", message).about(Details {
            name: name.to_owned(),
            group: resource.group.clone(),
            kind: resource.plural.clone(),
            ..Details::default()
        })
    }

    /// 400
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 500
    pub fn internal(message: impl fmt::Display) -> Self {
        let message = format!("Internal error occurred: {message}");
        Self::new(500, "InternalError", message)
    }

    /// 501: the real server can do it, this one cannot.
    pub fn not_implemented(what: &str) -> Self {
        Self::new(501, "NotImplemented", format!("the sandbox does not support {what}"))
    }

    /// The `Status` that says so.
    pub fn body(&self) -> Value {
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
            for (name, value) in self.passed_on.iter().flat_map(|said| said.iter()) {
                fields.insert(name.clone(), value.clone());
            }
            fields.retain(|_, value| !value.is_null() && *value != "");
        }
        status
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

/// As messages name a resource: `configmaps`, `deployments.apps`.
pub(super) fn resource_name(resource: &Resource) -> String {
    match resource.group.as_str() {
        "" => resource.plural.clone(),
        group => format!("{}.{group}", resource.plural),
    }
}
