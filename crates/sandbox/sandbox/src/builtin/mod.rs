//! Built-in kinds: decoding, defaulting, validation and update rules of their objects.
//!
//! [`kind`] finds a [`Kind`], which has the rules. One module contains the rules of one kind or of
//! a few related kinds. Kinds without users here have no module: their objects are decoded into their
//! types and stored.
//!
//! | module | content |
//! | --- | --- |
//! | `kinds` | table of the built-in kinds |
//! | `decode` | decoding into the Go types of the API server and back |
//! | `pod` | pods and pod templates |
//! | `workload`, `batch` | Deployments, ReplicaSets, DaemonSets, Jobs |
//! | `service`, `config` | Services, `ConfigMaps`, Secrets |
//! | `access` | RBAC objects, access reviews, token requests |
//! | `cluster` | Namespaces, Nodes, Events, Leases, priorities |
//! | `extension` | CRDs, validating webhooks |
//! | `validation`, `quantity`, `value` | shared validation, resource quantities, JSON fields |

mod access;
mod batch;
mod cluster;
mod config;
mod decode;
mod extension;
mod kinds;
mod pod;
mod quantity;
mod service;
#[cfg(test)]
mod tests;
mod validation;
mod value;
mod workload;

use std::sync::OnceLock;

use schemars::SchemaGenerator;
use serde_json::{Value, json};

use crate::catalog::Subresource;
use crate::field_error::FieldError;
use crate::metadata::NameRule;
use value::{copy, set};

pub use decode::{DecodeError, Decoded};
pub(crate) use quantity::Quantity;

/// A built-in kind.
#[derive(Debug)]
pub struct Kind {
    group: &'static str,
    name: &'static str,
    api_version: &'static str,
    describe: fn(&mut SchemaGenerator),
    schema_name: fn() -> String,
    name_rule: NameRule,
    rules: Rules,
    blank: OnceLock<Value>,
}

/// Kind-specific rules: the strategy of a kind in the API server.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// Sets defaults.
    default: fn(&mut Value),
    /// Resets or sets fields that clients cannot set on create.
    create: fn(&mut Value),
    /// Restores fields that clients cannot change.
    update: fn(&mut Value, &Value, Option<Subresource>),
    /// Validates an object.
    validate: fn(&Value) -> Vec<FieldError>,
    /// Validates an update: new object, old object.
    validate_update: fn(&Value, &Value) -> Vec<FieldError>,
    /// Changes that increment the generation.
    generation: Generation,
    /// Metadata fields that an update of the status cannot change.
    metadata_immutable_in_status: &'static [&'static str],
    /// Whether the status can be set on create.
    status_on_create: bool,
}

/// Changes that increment `metadata.generation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Generation {
    /// Objects have no generation.
    None,
    /// Objects have a generation that never changes.
    Fixed,
    /// Changes of these top-level fields.
    Of(&'static [&'static str]),
    /// Changes of `spec` and of annotations.
    SpecAndAnnotations,
}

/// Rules of a kind without specific code: the schema of its type is the only validation.
const DEFAULT_RULES: Rules = Rules {
    default: |_| (),
    create: |_| (),
    update: |_, _, _| (),
    validate: |_| Vec::new(),
    validate_update: |_, _| Vec::new(),
    generation: Generation::None,
    metadata_immutable_in_status: &[],
    status_on_create: false,
};

/// The same, for a kind whose objects have a generation.
const SPEC_RULES: Rules = Rules { generation: Generation::Of(&["spec"]), ..DEFAULT_RULES };

/// The built-in kind with this group and name.
pub fn kind(group: &str, kind: &str) -> Option<&'static Kind> {
    kinds::KINDS.iter().find(|known| known.group == group && known.name == kind)
}

impl Kind {
    /// Decodes an object into the types of its kind and encodes it again, as the API server does.
    pub fn read(&self, mut object: Value) -> Result<Decoded, DecodeError> {
        if let Some(fields) = object.as_object_mut() {
            fields.insert("apiVersion".to_owned(), self.api_version.into());
            fields.insert("kind".to_owned(), self.name.into());
        }
        decode::decode(&(self.schema_name)(), object)
    }

    /// An object without any field set; contains the structures that the API server always writes.
    pub fn blank(&self) -> &Value {
        self.blank.get_or_init(|| self.read(json!({})).map_or(Value::Null, |blank| blank.object))
    }

    /// Adds the schema of the kind to a generator; returns its name there.
    pub fn schema(&self, schemas: &mut SchemaGenerator) -> String {
        (self.describe)(schemas);
        (self.schema_name)()
    }

    /// Validation rule for the names of objects.
    pub fn name_rule(&self) -> NameRule {
        self.name_rule
    }

    /// Sets the defaults of a decoded object.
    pub fn default(&self, object: &mut Value) {
        (self.rules.default)(object);
    }

    /// Resets the fields that clients cannot set on create (mostly the status) and sets initial
    /// values. Name and UID are already set.
    pub fn prepare_create(&self, object: &mut Value) {
        if !self.rules.status_on_create {
            self.restore(object, "status", self.blank());
        }
        if self.rules.generation != Generation::None {
            set(&mut object["metadata"], "generation", 1);
        }
        (self.rules.create)(object);
    }

    /// Restores the fields that an update of this (sub)resource cannot change, and increments the
    /// generation.
    pub fn prepare_update(
        &self,
        object: &mut Value,
        old: &Value,
        subresource: Option<Subresource>,
    ) {
        match subresource {
            Some(Subresource::Status) => self.restore_all_but_status(object, old),
            _ => self.restore(object, "status", old),
        }
        (self.rules.update)(object, old, subresource);
        copy(&mut object["metadata"], "generation", &old["metadata"]);
        if subresource != Some(Subresource::Status) && self.increments_generation(object, old) {
            let generation = old["metadata"]["generation"].as_i64().unwrap_or_default();
            set(&mut object["metadata"], "generation", generation.saturating_add(1));
        }
    }

    /// Validates everything but the metadata of an object with defaults.
    pub fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = (self.rules.validate)(object);
        validation::finalizers(object, &mut errors);
        errors
    }

    /// Validates an update, without metadata. Both objects have defaults.
    pub fn validate_update(
        &self,
        object: &Value,
        old: &Value,
        subresource: Option<Subresource>,
    ) -> Vec<FieldError> {
        if subresource == Some(Subresource::Status) {
            return Vec::new();
        }
        let mut errors = self.validate(object);
        errors.extend((self.rules.validate_update)(object, old));
        errors
    }

    /// Copies a field from another object, if the kind has the field.
    fn restore(&self, object: &mut Value, field: &str, from: &Value) {
        if self.blank().get(field).is_some() {
            copy(object, field, from);
        }
    }

    /// An update of the status may also change most metadata, such as labels.
    fn restore_all_but_status(&self, object: &mut Value, old: &Value) {
        let mut restored = old.clone();
        copy(&mut restored, "status", object);
        copy(&mut restored, "metadata", object);
        for field in self.rules.metadata_immutable_in_status {
            copy(&mut restored["metadata"], field, &old["metadata"]);
        }
        *object = restored;
    }

    /// Whether an update increments the generation.
    fn increments_generation(&self, object: &Value, old: &Value) -> bool {
        match self.rules.generation {
            Generation::None | Generation::Fixed => false,
            Generation::Of(fields) => fields.iter().any(|&field| object[field] != old[field]),
            Generation::SpecAndAnnotations => {
                let annotations = |object: &Value| object["metadata"]["annotations"].clone();
                object["spec"] != old["spec"] || annotations(object) != annotations(old)
            }
        }
    }

    fn describe(&self, generator: &mut SchemaGenerator) {
        (self.describe)(generator);
    }
}
