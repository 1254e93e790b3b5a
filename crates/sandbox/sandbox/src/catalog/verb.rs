//! What can be done with a resource.

use serde::Serialize;

/// What can be done with objects, by the words of discovery and of access rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Makes an object.
    Create,
    /// Removes an object.
    Delete,
    /// Removes all objects that are selected.
    DeleteCollection,
    /// Reads an object.
    Get,
    /// Reads all objects that are selected.
    List,
    /// Changes parts of an object.
    Patch,
    /// Replaces an object.
    Update,
    /// Follows the changes of all objects that are selected.
    Watch,
}

impl Verb {
    /// Everything.
    pub const ALL: &'static [Self] = &[
        Self::Create,
        Self::Delete,
        Self::DeleteCollection,
        Self::Get,
        Self::List,
        Self::Patch,
        Self::Update,
        Self::Watch,
    ];

    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Get => "get",
            Self::List => "list",
            Self::Patch => "patch",
            Self::Update => "update",
            Self::Watch => "watch",
        }
    }
}

/// A part of an object, or something about it, that has an address of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subresource {
    /// Pods: puts them on a node.
    Binding,
    /// Namespaces: takes finalizers off.
    Finalize,
    /// Pods: what a container printed.
    Log,
    /// How many replicas there are to be.
    Scale,
    /// What was observed of the object.
    Status,
    /// ServiceAccounts: a token.
    Token,
}

impl Subresource {
    pub(super) const ALL: [Self; 6] =
        [Self::Binding, Self::Finalize, Self::Log, Self::Scale, Self::Status, Self::Token];

    /// The word in a path.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Binding => "binding",
            Self::Finalize => "finalize",
            Self::Log => "log",
            Self::Scale => "scale",
            Self::Status => "status",
            Self::Token => "token",
        }
    }

    /// What can be done with it.
    pub fn verbs(self) -> &'static [Verb] {
        match self {
            Self::Finalize => &[Verb::Update],
            Self::Log => &[Verb::Get],
            Self::Scale | Self::Status => &[Verb::Get, Verb::Patch, Verb::Update],
            Self::Binding | Self::Token => &[Verb::Create],
        }
    }

    /// The group, version and kind that are read and written there; `None` where it is the kind of
    /// the resource.
    pub fn own_kind(self) -> Option<(&'static str, &'static str, &'static str)> {
        match self {
            Self::Binding => Some(("", "v1", "Binding")),
            Self::Scale => Some(("autoscaling", "v1", "Scale")),
            Self::Token => Some(("authentication.k8s.io", "v1", "TokenRequest")),
            Self::Finalize | Self::Log | Self::Status => None,
        }
    }
}
