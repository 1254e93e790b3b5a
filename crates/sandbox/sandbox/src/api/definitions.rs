//! What is served: the built-in resources, and what definitions declare.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion, CustomResourceSubresourceScale,
};
use serde_json::Value;

use super::custom::Custom;
use crate::catalog::Catalog;
use crate::definition::{Definition, Version};
use crate::field_error::FieldError;
use crate::schema::Schema;

/// What is served at one moment; it is replaced as a whole.
#[derive(Clone, Default)]
pub(super) struct Served {
    pub(super) catalog: Arc<Catalog>,
    definitions: BTreeMap<String, Arc<Defined>>,
}

/// A definition, made ready for objects.
pub(super) struct Defined {
    pub(super) definition: Definition,
    /// What the definition itself leaves to others, for each version.
    pub(super) versions: Vec<Rest>,
    /// Whether it is being deleted, with all its objects.
    pub(super) is_terminating: bool,
    /// Whether it never was another one.
    pub(super) is_original: bool,
    uid: String,
    generation: i64,
}

/// What a version is beside the validity of its objects.
pub(super) struct Rest {
    /// How objects merge.
    pub(super) schema: Schema,
    /// Where objects say how many replicas they want and have.
    pub(super) scale: Option<ScalePaths>,
}

/// Where objects say how many replicas they want and have: names of fields.
pub(super) struct ScalePaths {
    pub(super) spec: Vec<String>,
    pub(super) status: Vec<String>,
    pub(super) selector: Option<Vec<String>>,
}

/// Why a definition is not served.
pub(super) enum Unserved {
    /// It makes no sense, which only a definition can that was stored by other means.
    Invalid,
    /// Another one has its names.
    Conflict,
}

impl Served {
    /// A version of a definition, if that is served.
    pub(super) fn find(&self, definition: &str, version: &str) -> Option<Custom> {
        let defined = self.definitions.get(definition)?;
        let is_it = |it: &Version| it.is_served() && it.name() == version;
        let version = defined.definition.versions().iter().position(is_it)?;
        Some(Custom::new(Arc::clone(defined), version))
    }

    /// The definition of that name, if it is served.
    pub(super) fn definition(&self, name: &str) -> Option<&Defined> {
        self.definitions.get(name).map(Arc::as_ref)
    }

    /// The names of all definitions that are served.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.definitions.keys().map(String::as_str)
    }

    /// Serves a definition, too, or says why not.
    pub(super) fn add(&mut self, object: &CustomResourceDefinition) -> Result<(), Unserved> {
        let name = object.metadata.name.clone().unwrap_or_default();
        let defined = Defined::new(object).map_err(|_| Unserved::Invalid)?;
        Arc::make_mut(&mut self.catalog).define(object).map_err(|_| Unserved::Conflict)?;
        self.definitions.insert(name, Arc::new(defined));
        Ok(())
    }

    /// Serves a definition no longer.
    pub(super) fn remove(&mut self, name: &str) {
        Arc::make_mut(&mut self.catalog).undefine(name);
        self.definitions.remove(name);
    }
}

impl Defined {
    fn new(object: &CustomResourceDefinition) -> Result<Self, Vec<FieldError>> {
        let metadata = &object.metadata;
        let generation = metadata.generation.unwrap_or_default();
        Ok(Self {
            definition: Definition::new(object)?,
            versions: object.spec.versions.iter().map(Rest::new).collect(),
            is_terminating: metadata.deletion_timestamp.is_some(),
            is_original: generation <= 1,
            uid: metadata.uid.clone().unwrap_or_default(),
            generation,
        })
    }

    /// Whether it is still what an object of that name says.
    pub(super) fn is_current(&self, object: &CustomResourceDefinition) -> bool {
        let metadata = &object.metadata;
        self.uid == metadata.uid.as_deref().unwrap_or_default()
            && self.generation == metadata.generation.unwrap_or_default()
            && self.is_terminating == metadata.deletion_timestamp.is_some()
    }
}

impl Rest {
    fn new(version: &CustomResourceDefinitionVersion) -> Self {
        let schema = version.schema.as_ref().and_then(|it| it.open_api_v3_schema.as_ref());
        let scale = version.subresources.as_ref().and_then(|it| it.scale.as_ref());
        Self {
            schema: schema.map_or(Schema::Deduced, Schema::of_definition),
            scale: scale.map(ScalePaths::new),
        }
    }
}

impl ScalePaths {
    fn new(scale: &CustomResourceSubresourceScale) -> Self {
        let fields = |path: &str| {
            let names = path.split('.').filter(|name| !name.is_empty());
            names.map(str::to_owned).collect::<Vec<_>>()
        };
        Self {
            spec: fields(&scale.spec_replicas_path),
            status: fields(&scale.status_replicas_path),
            selector: scale.label_selector_path.as_deref().map(fields),
        }
    }

    /// What is wrong with the number of replicas of an object.
    pub(super) fn problem(&self, object: &Value) -> Option<FieldError> {
        let value = at(object, &self.spec)?;
        let path = format!(".{}", self.spec.join("."));
        match value.as_i64() {
            Some(0..) => None,
            Some(_) => {
                Some(FieldError::invalid(path, value.clone(), "should be a non-negative integer"))
            }
            None => {
                let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let why = format!(
                    "{path} accessor error: {shown} is of the type {}, expected int64",
                    go_type(value)
                );
                Some(FieldError::invalid(path, 0, why))
            }
        }
    }
}

/// The value at a path of fields.
pub(super) fn at<'a>(object: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, name| value.get(name))
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
