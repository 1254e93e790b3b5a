//! Requests to the API, their responses, and the review of changes.

use std::sync::Arc;

use serde_json::Value;

use super::ApiResult;
use crate::catalog::{Resource, Subresource, Verb};
use crate::rbac::User;
use crate::store::{List, Watcher};

/// A request for objects of a resource.
#[derive(Clone, Debug)]
pub struct ApiRequest {
    /// The effective user.
    pub user: User,
    /// The user agent, which names the field manager if the request does not.
    pub user_agent: String,
    /// The requested resource.
    pub resource: Arc<Resource>,
    /// The namespace; `None` for cluster-scoped resources and for all namespaces.
    pub namespace: Option<String>,
    /// The name; `None` for collections and for objects to create.
    pub name: Option<String>,
    /// The requested subresource.
    pub subresource: Option<Subresource>,
    /// The verb.
    pub verb: Verb,
    /// The query parameters.
    pub query: QueryParams,
    /// The parsed body.
    pub body: RequestBody,
}

/// Query parameters of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryParams {
    pairs: Vec<(String, String)>,
}

impl QueryParams {
    /// Parses a query string.
    pub fn parse(query: &str) -> Self {
        let pairs = url::form_urlencoded::parse(query.as_bytes());
        Self { pairs: pairs.map(|(key, value)| (key.into_owned(), value.into_owned())).collect() }
    }

    /// The first value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All values of a parameter.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.pairs.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Adds a parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.pairs.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// The body of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum RequestBody {
    /// No body.
    #[default]
    None,
    /// An object or `DeleteOptions`.
    Object(Value),
    /// A patch.
    Patch(PatchType, Value),
}

/// The patch types of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchType {
    /// `application/json-patch+json`
    Json,
    /// `application/merge-patch+json`
    Merge,
    /// `application/strategic-merge-patch+json`
    Strategic,
    /// `application/apply-patch+yaml`
    Apply,
}

/// The response to a request.
#[derive(Debug)]
pub enum ApiResponse {
    /// An object; the last state if it is deleted.
    Object {
        /// The object.
        object: Arc<Value>,
        /// Whether the request created it (201).
        created: bool,
        /// Messages for `Warning` headers.
        warnings: Vec<String>,
    },
    /// A `Status`, `Scale` or review, which is not stored.
    Document(Value),
    /// An object whose deletion is not complete (202).
    Accepted(Value),
    /// A list of objects.
    List(List),
    /// A watch.
    Watch(Watcher),
}

/// A validated change that is not stored yet.
#[derive(Clone, Copy, Debug)]
pub struct ObjectChange<'a> {
    /// The request.
    pub request: &'a ApiRequest,
    /// The operation.
    pub operation: AdmissionOperation,
    /// The name of the object, if known.
    pub name: &'a str,
    /// The new object; `None` for a deletion.
    pub object: Option<&'a Value>,
    /// The current object; `None` for a creation.
    pub old: Option<&'a Value>,
    /// Whether it is a dry run.
    pub dry_run: bool,
}

/// The operation of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionOperation {
    /// An object is created.
    Create,
    /// An object is updated.
    Update,
    /// An object is deleted.
    Delete,
}

impl AdmissionOperation {
    /// The value in the field `operations` of webhook rules.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// Reviews changes before they are stored, for example with admission webhooks.
///
/// The write lock is released during a review. The change is stored only if no other write
/// interfered.
pub trait ChangeReviewer {
    /// Allows the change or returns the error for the client.
    fn review(&self, change: &ObjectChange<'_>) -> ApiResult<()>;
}

/// Allows all changes.
pub struct AllowAll;

impl ChangeReviewer for AllowAll {
    fn review(&self, _: &ObjectChange<'_>) -> ApiResult<()> {
        Ok(())
    }
}
