//! Verbs and subresources of resources.

use serde::Serialize;

/// Verbs of discovery and RBAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Creates an object.
    Create,
    /// Deletes an object.
    Delete,
    /// Deletes all selected objects.
    DeleteCollection,
    /// Reads an object.
    Get,
    /// Lists the selected objects.
    List,
    /// Patches an object.
    Patch,
    /// Replaces an object.
    Update,
    /// Watches the selected objects.
    Watch,
}

impl Verb {
    /// All verbs.
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

    /// The verb in lower case.
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

/// A subresource of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subresource {
    /// Binds a pod to a node.
    Binding,
    /// Removes the finalizers of a namespace.
    Finalize,
    /// The log of a container.
    Log,
    /// The replica count.
    Scale,
    /// The status.
    Status,
    /// A token of a ServiceAccount.
    Token,
}

impl Subresource {
    pub(super) const ALL: [Self; 6] =
        [Self::Binding, Self::Finalize, Self::Log, Self::Scale, Self::Status, Self::Token];

    /// Its path segment.
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

    /// Supported verbs.
    pub fn verbs(self) -> &'static [Verb] {
        match self {
            Self::Finalize => &[Verb::Update],
            Self::Log => &[Verb::Get],
            Self::Scale | Self::Status => &[Verb::Get, Verb::Patch, Verb::Update],
            Self::Binding | Self::Token => &[Verb::Create],
        }
    }

    /// Its group, version and kind; `None` if it uses the kind of the resource.
    pub fn own_kind(self) -> Option<(&'static str, &'static str, &'static str)> {
        match self {
            Self::Binding => Some(("", "v1", "Binding")),
            Self::Scale => Some(("autoscaling", "v1", "Scale")),
            Self::Token => Some(("authentication.k8s.io", "v1", "TokenRequest")),
            Self::Finalize | Self::Log | Self::Status => None,
        }
    }
}
