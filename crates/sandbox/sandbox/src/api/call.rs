//! Requests about objects, and what becomes of them.

use std::sync::Arc;

use serde_json::Value;

use crate::catalog::{Resource, Subresource, Verb};
use crate::rbac::User;
use crate::store::{List, Watcher};

/// A request about objects, read but not yet understood.
#[derive(Clone, Debug)]
pub struct Call {
    /// Who asks.
    pub user: User,
    /// Which fields change hands to whom, where the request does not say it.
    pub user_agent: String,
    /// What the objects are.
    pub resource: Arc<Resource>,
    /// Where they are; `None` for what is in no namespace, and for all namespaces.
    pub namespace: Option<String>,
    /// Which one; `None` for all of them, and for the one that is to be created.
    pub name: Option<String>,
    /// What of it.
    pub subresource: Option<Subresource>,
    /// What is to be done.
    pub verb: Verb,
    /// The parameters.
    pub query: Query,
    /// What came along.
    pub body: Body,
}

/// The parameters of a request, as they came; what is missing is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    /// Reads what follows the question mark.
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

    /// The same with this parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.pairs.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// What came along with a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Body {
    /// Nothing.
    #[default]
    None,
    /// An object, or the options of a deletion.
    Object(Value),
    /// A change.
    Patch(PatchKind, Value),
}

/// The languages of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    /// `application/json-patch+json`
    Json,
    /// `application/merge-patch+json`
    Merge,
    /// `application/strategic-merge-patch+json`
    Strategic,
    /// `application/apply-patch+yaml`
    Apply,
}

/// What became of a request.
#[derive(Debug)]
pub enum Reply {
    /// An object: as it is now, or the last state of what is gone.
    Object {
        /// It.
        object: Arc<Value>,
        /// Whether the request made it (201).
        created: bool,
        /// What the client should know, for headers of that name.
        warnings: Vec<String>,
    },
    /// A `Status` or a review: no object of the cluster.
    Document(Value),
    /// A deletion that goes on after the answer (202).
    Accepted(Value),
    /// Some objects.
    List(List),
    /// What happens to some objects from now on.
    Watch(Watcher),
}
