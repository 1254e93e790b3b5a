//! Keys of objects.

use std::fmt;
use std::sync::Arc;

/// A resource, independent of its version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceKey {
    group: Arc<str>,
    plural: Arc<str>,
}

impl ResourceKey {
    /// The core group is the empty string.
    pub fn new(group: &str, plural: &str) -> Self {
        Self { group: group.into(), plural: plural.into() }
    }

    /// The group.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The plural name.
    pub fn plural(&self) -> &str {
        &self.plural
    }
}

/// Formats as in messages: `configmaps`, `deployments.apps`.
impl fmt::Display for ResourceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.group {
            "" => f.write_str(&self.plural),
            group => write!(f, "{}.{group}", self.plural),
        }
    }
}

/// The key of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    resource: ResourceKey,
    namespace: Option<Arc<str>>,
    name: Arc<str>,
}

/// A name that is not a valid path segment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is not a valid name: it is empty, '.' or '..', or contains '/' or '%'")]
pub struct InvalidKey {
    /// The name.
    pub name: String,
}

impl Key {
    /// The key of an object. `namespace` is `None` for cluster-scoped resources.
    pub fn new(
        resource: &ResourceKey,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Self, InvalidKey> {
        namespace.into_iter().chain([name]).try_for_each(check_segment)?;
        Ok(Self {
            resource: resource.clone(),
            namespace: namespace.map(Into::into),
            name: name.into(),
        })
    }

    /// The resource.
    pub fn resource(&self) -> &ResourceKey {
        &self.resource
    }

    /// The namespace; `None` for cluster-scoped resources.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Path within the resource, by which lists are sorted, as in etcd.
    pub(super) fn path(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}/{}", self.name),
            None => self.name.to_string(),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.resource, self.path())
    }
}

fn check_segment(name: &str) -> Result<(), InvalidKey> {
    let invalid = matches!(name, "" | "." | "..") || name.contains(['/', '%']);
    if invalid { Err(InvalidKey { name: name.to_owned() }) } else { Ok(()) }
}
