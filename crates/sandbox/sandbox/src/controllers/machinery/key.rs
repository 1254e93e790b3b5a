//! Names of objects.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

/// The namespace, empty for cluster-wide objects, and the name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::controllers) struct ObjectKey {
    pub(in crate::controllers) namespace: String,
    pub(in crate::controllers) name: String,
}

impl ObjectKey {
    pub(in crate::controllers) fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// The key of an object as it is stored.
    pub(in crate::controllers) fn of(object: &Value) -> Self {
        let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default();
        Self::new(text("/metadata/namespace"), text("/metadata/name"))
    }

    /// The key of an object by its metadata.
    pub(in crate::controllers) fn of_metadata(metadata: &ObjectMeta) -> Self {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        Self { namespace: text(&metadata.namespace), name: text(&metadata.name) }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => f.write_str(&self.name),
            namespace => write!(f, "{namespace}/{}", self.name),
        }
    }
}
