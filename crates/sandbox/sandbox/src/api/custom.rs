//! Custom resources in one version of their definition.

use std::sync::Arc;

use serde_json::{Value, json};

use super::definitions::{Defined, ScalePaths};
use super::meta;
use crate::builtin::{self, Read};
use crate::catalog::Subresource;
use crate::definition::Version;
use crate::field_error::FieldError;
use crate::schema::Schema;

/// One version of a definition.
#[derive(Clone)]
pub(super) struct Custom {
    defined: Arc<Defined>,
    version: usize,
}

impl Custom {
    pub(super) fn new(defined: Arc<Defined>, version: usize) -> Self {
        Self { defined, version }
    }

    /// The version, by which objects are judged.
    pub(super) fn version(&self) -> &Version {
        &self.defined.definition.versions()[self.version]
    }

    /// How objects merge.
    pub(super) fn schema(&self) -> &Schema {
        &self.defined.versions[self.version].schema
    }

    /// Where objects say how many replicas they want and have.
    pub(super) fn scale(&self) -> Option<&ScalePaths> {
        self.defined.versions[self.version].scale.as_ref()
    }

    /// Whether the definition is being deleted, with all its objects.
    pub(super) fn is_terminating(&self) -> bool {
        self.defined.is_terminating
    }

    /// Takes away what the schema does not know, and reads the metadata, which all objects share.
    pub(super) fn read(&self, mut object: Value) -> Result<Read, String> {
        let mut unknown = Vec::new();
        if let Some(metadata) = object.get_mut("metadata").map(Value::take)
            // Any kind will do, for what it has in common with all others.
            && let Some(kind) = builtin::kind("", "ConfigMap")
        {
            let read = kind.read(json!({ "metadata": metadata }));
            let mut read = read.map_err(|error| {
                error.to_string().replace("struct field ConfigMap.metadata", "value")
            })?;
            unknown.append(&mut read.unknown);
            object["metadata"] = read.object["metadata"].take();
            // Objects of no fixed type have no empty time.
            if meta::field(&object, "creationTimestamp").is_none() {
                meta::remove(&mut object, "creationTimestamp");
            }
        }
        let mut pruned = object.clone();
        self.version().prune(&mut pruned);
        lost(&object, &pruned, "", &mut unknown);
        Ok(Read { object: pruned, unknown })
    }

    /// What a client cannot choose when it makes an object.
    pub(super) fn prepare_create(&self, object: &mut Value) {
        self.version().keep_status(object, None);
        meta::set(object, "generation", 1);
    }

    /// What a client cannot change.
    pub(super) fn prepare_update(
        &self,
        object: &mut Value,
        old: &Value,
        subresource: Option<Subresource>,
    ) {
        let version = self.version();
        if subresource == Some(Subresource::Status) {
            *object = version.take_status(object, old);
            return;
        }
        version.keep_status(object, Some(old));
        let content = |object: &Value| {
            let mut fields = object.as_object().cloned().unwrap_or_default();
            fields.remove("metadata");
            if version.has_status() {
                fields.remove("status");
            }
            fields
        };
        if content(object) != content(old) {
            let generation = meta::field(old, "generation").and_then(Value::as_i64);
            meta::set(object, "generation", generation.unwrap_or_default().saturating_add(1));
        }
    }

    /// Everything that is wrong with an object.
    pub(super) fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = self.version().validate(object, old);
        errors.extend(self.scale().and_then(|scale| scale.problem(object)));
        errors
    }

    /// The object in this version. What an older definition let through is seen by the new one.
    pub(super) fn shown(&self, object: &Arc<Value>) -> Arc<Value> {
        if self.is_shown_as_stored() {
            return Arc::clone(object);
        }
        let version = format!("{}/{}", self.defined.definition.group(), self.version().name());
        let mut object = in_version((**object).clone(), version);
        self.version().prune(&mut object);
        self.version().default(&mut object);
        Arc::new(object)
    }

    /// The object in the version that is stored.
    pub(super) fn stored(&self, object: Value) -> Value {
        let definition = &self.defined.definition;
        in_version(object, format!("{}/{}", definition.group(), definition.storage().name()))
    }

    /// Whether objects are stored in this version, and always were under this definition.
    pub(super) fn is_shown_as_stored(&self) -> bool {
        let storage = self.defined.definition.storage().name();
        self.defined.is_original && self.version().name() == storage
    }
}

fn in_version(mut object: Value, version: String) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), version.into());
    }
    object
}

/// The paths of what was in `before` and is not in `after`. What came from outside is not deeper
/// than its reader allows.
fn lost(before: &Value, after: &Value, path: &str, paths: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (name, value) in before {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match after.get(name) {
                    Some(kept) => lost(value, kept, &path, paths),
                    None => paths.push(path),
                }
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            for (index, (value, kept)) in before.iter().zip(after).enumerate() {
                lost(value, kept, &format!("{path}[{index}]"), paths);
            }
        }
        _ => {}
    }
}
