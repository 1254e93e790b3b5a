//! What is served: the built-in resources, and what definitions declare.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::catalog::Catalog;
use crate::definition::{Definition, FieldError, Version};
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
    /// How objects merge, for each version.
    schemas: Vec<Schema>,
    /// Whether it is being deleted, with all its objects.
    pub(super) is_terminating: bool,
}

impl Served {
    /// A definition and the place of one of its versions, if that is served.
    pub(super) fn find(&self, definition: &str, version: &str) -> Option<(Arc<Defined>, usize)> {
        let defined = self.definitions.get(definition)?;
        let is_it = |it: &Version| it.is_served() && it.name() == version;
        let version = defined.definition.versions().iter().position(is_it)?;
        Some((Arc::clone(defined), version))
    }
}

impl Defined {
    /// Reads a definition, or says everything that is wrong with it.
    pub(super) fn new(object: &CustomResourceDefinition) -> Result<Self, Vec<FieldError>> {
        let definition = Definition::new(object)?;
        let schema = |version: &k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinitionVersion| {
            let schema = version.schema.as_ref()?.open_api_v3_schema.as_ref()?;
            Some(Schema::of_definition(schema))
        };
        let schemas = object.spec.versions.iter().map(|it| schema(it).unwrap_or(Schema::Deduced));
        let is_terminating = object.metadata.deletion_timestamp.is_some();
        Ok(Self { definition, schemas: schemas.collect(), is_terminating })
    }

    pub(super) fn version(&self, index: usize) -> &Version {
        &self.definition.versions()[index]
    }

    pub(super) fn schema(&self, index: usize) -> &Schema {
        &self.schemas[index]
    }

    /// The version in which objects are stored, as they carry it.
    pub(super) fn storage_version(&self) -> String {
        format!("{}/{}", self.definition.group(), self.definition.storage().name())
    }
}
