//! The built-in kinds: how their objects are read, what they have by default, what is valid, and
//! what an update may change.
//!
//! One file has what makes one kind, or a few related ones, differ from the others.

mod api_service;
mod check;
mod config_map;
mod cron_job;
mod custom_resource_definition;
mod daemon_set;
mod deployment;
mod disruption_budget;
mod endpoints;
mod event;
mod ingress;
mod job;
mod kinds;
mod lease;
mod limit_range;
mod namespace;
mod network_policy;
mod node;
mod pod;
mod priority_class;
mod quantity;
mod rbac;
mod read;
mod replica_set;
mod resource_quota;
mod review;
mod rules;
mod secret;
mod service;
mod stateful_set;
mod storage_class;
#[cfg(test)]
mod tests;
mod token_request;
mod value;
mod volume;
mod volume_claim;
mod webhook;
mod workload;

use std::sync::OnceLock;

use schemars::SchemaGenerator;
use serde_json::{Value, json};

use crate::catalog::Subresource;
use crate::field_error::FieldError;
use crate::metadata::NameRule;
use rules::{Generation, Rules};
use value::{copy, set};

pub use read::{Read, ReadError};

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

/// The kind of that name in that group.
pub fn kind(group: &str, kind: &str) -> Option<&'static Kind> {
    kinds::KINDS.iter().find(|known| known.group == group && known.name == kind)
}

impl Kind {
    /// Reads an object into the types of its kind and back, as the API server does.
    pub fn read(&self, mut object: Value) -> Result<Read, ReadError> {
        if let Some(fields) = object.as_object_mut() {
            fields.insert("apiVersion".to_owned(), self.api_version.into());
            fields.insert("kind".to_owned(), self.name.into());
        }
        read::read(&(self.schema_name)(), object)
    }

    /// What an object is before anything is set: the structures that are always there.
    pub fn blank(&self) -> &Value {
        self.blank.get_or_init(|| self.read(json!({})).map_or(Value::Null, |blank| blank.object))
    }

    /// Adds its schema to others, and says under which name it is there.
    pub fn schema(&self, schemas: &mut SchemaGenerator) -> String {
        (self.describe)(schemas);
        (self.schema_name)()
    }

    /// Which names its objects can have.
    pub fn name_rule(&self) -> NameRule {
        self.name_rule
    }

    /// Sets what is not set. The object was read.
    pub fn default(&self, object: &mut Value) {
        (self.rules.default)(object);
    }

    /// Sets what an object begins with, and takes away what its author cannot set: its status. Its
    /// name and UID are there already.
    pub fn prepare_create(&self, object: &mut Value) {
        if !self.rules.comes_with_status {
            self.restore(object, "status", self.blank());
        }
        if self.rules.generation != Generation::None {
            set(&mut object["metadata"], "generation", 1);
        }
        (self.rules.create)(object);
    }

    /// Takes back what an update at this address cannot change, and counts the generation.
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
        if subresource != Some(Subresource::Status) && self.counts(object, old) {
            let generation = old["metadata"]["generation"].as_i64().unwrap_or_default();
            set(&mut object["metadata"], "generation", generation.saturating_add(1));
        }
    }

    /// What is wrong with an object, its metadata excepted. It has its defaults.
    pub fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = (self.rules.validate)(object);
        check::finalizers(object, &mut errors);
        errors
    }

    /// What is wrong with a change, the metadata excepted. Both objects have their defaults.
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

    /// Makes a field that the kind has what it is in another object.
    fn restore(&self, object: &mut Value, field: &str, from: &Value) {
        if self.blank().get(field).is_some() {
            copy(object, field, from);
        }
    }

    /// Whoever may tell the status may also label the object, with exceptions.
    fn restore_all_but_status(&self, object: &mut Value, old: &Value) {
        let mut restored = old.clone();
        copy(&mut restored, "status", object);
        copy(&mut restored, "metadata", object);
        for field in self.rules.metadata_beside_status {
            copy(&mut restored["metadata"], field, &old["metadata"]);
        }
        *object = restored;
    }

    /// Whether a change makes the generation grow.
    fn counts(&self, object: &Value, old: &Value) -> bool {
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
