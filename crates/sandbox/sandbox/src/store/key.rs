//! What identifies an object.

use std::fmt;
use std::sync::Arc;

/// A resource, whatever its version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    group: Arc<str>,
    plural: Arc<str>,
}

impl Resource {
    /// The core group is the empty one.
    pub fn new(group: &str, plural: &str) -> Self {
        Self { group: group.into(), plural: plural.into() }
    }

    /// Its group.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// Its name in URLs.
    pub fn plural(&self) -> &str {
        &self.plural
    }
}

/// As error messages name a resource: `configmaps`, `deployments.apps`.
impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.group {
            "" => f.write_str(&self.plural),
            group => write!(f, "{}.{group}", self.plural),
        }
    }
}

/// What identifies an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    resource: Resource,
    namespace: Option<Arc<str>>,
    name: Arc<str>,
}

/// A name that cannot stand in a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is not a valid name: it is empty, '.' or '..', or contains '/' or '%'")]
pub struct InvalidKey {
    /// The name.
    pub name: String,
}

impl Key {
    /// The key of an object; `namespace` is `None` where the resource has none.
    pub fn new(
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Self, InvalidKey> {
        namespace.into_iter().chain([name]).try_for_each(check)?;
        Ok(Self {
            resource: resource.clone(),
            namespace: namespace.map(Into::into),
            name: name.into(),
        })
    }

    /// The resource.
    pub fn resource(&self) -> &Resource {
        &self.resource
    }

    /// The namespace, for resources that have one.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its path among the objects of its resource; lists are in the order of these, as in etcd.
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

fn check(name: &str) -> Result<(), InvalidKey> {
    let invalid = matches!(name, "" | "." | "..") || name.contains(['/', '%']);
    if invalid { Err(InvalidKey { name: name.to_owned() }) } else { Ok(()) }
}
