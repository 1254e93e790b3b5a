//! What a CustomResourceDefinition means for the objects it defines.
//!
//! An object on its way in is pruned, defaulted and validated, in this order, by the schema of the
//! version it was sent in.

mod check;
mod expression;
mod list_type;
mod optional;
mod rules;
mod status;
mod structural;
#[cfg(test)]
mod tests;

use fairway_schema::{MAX_ERRORS, Schema};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionNames, CustomResourceDefinitionVersion,
    JSONSchemaProps,
};
use serde_json::{Value, json};

pub use crate::field_error::{FieldError, FieldErrorKind};
use rules::Rules;

/// A definition that can be served.
#[derive(Debug)]
pub struct Definition {
    group: String,
    names: CustomResourceDefinitionNames,
    namespaced: bool,
    versions: Vec<Version>,
    storage: usize,
}

impl Definition {
    /// Reads a definition, or says everything that is wrong with it.
    pub fn new(definition: &CustomResourceDefinition) -> Result<Self, Vec<FieldError>> {
        let mut errors = check::check(definition);
        errors.truncate(MAX_ERRORS);
        let spec = &definition.spec;
        match spec.versions.iter().position(|version| version.storage) {
            Some(storage) if errors.is_empty() => Ok(Self {
                group: spec.group.clone(),
                names: with_default_names(&spec.names),
                namespaced: spec.scope == "Namespaced",
                versions: spec.versions.iter().map(Version::new).collect(),
                storage,
            }),
            _ => Err(errors),
        }
    }

    /// The API group.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The names, with those that were left out.
    pub fn names(&self) -> &CustomResourceDefinitionNames {
        &self.names
    }

    /// Whether the objects live in namespaces.
    pub fn is_namespaced(&self) -> bool {
        self.namespaced
    }

    /// Every version, also those that are not served.
    pub fn versions(&self) -> &[Version] {
        &self.versions
    }

    /// A version by its name, if it is served.
    pub fn served(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.served && version.name == name)
    }

    /// The version in which objects are stored.
    pub fn storage(&self) -> &Version {
        &self.versions[self.storage]
    }
}

/// The names that a definition leaves out follow from its kind.
fn with_default_names(names: &CustomResourceDefinitionNames) -> CustomResourceDefinitionNames {
    let given = |name: &Option<String>| name.clone().filter(|name| !name.is_empty());
    let kind = Some(&names.kind).filter(|kind| !kind.is_empty());
    CustomResourceDefinitionNames {
        singular: given(&names.singular).or_else(|| Some(kind?.to_lowercase())),
        list_kind: given(&names.list_kind).or_else(|| Some(format!("{}List", kind?))),
        ..names.clone()
    }
}

/// One version of a definition.
#[derive(Debug)]
pub struct Version {
    name: String,
    served: bool,
    has_status: bool,
    columns: Vec<Column>,
    schema: Schema,
    rules: Option<Rules>,
}

/// A column of the table that `kubectl get` prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The heading.
    pub name: String,
    /// The type of the values, such as `string` or `date`.
    pub type_: String,
    /// More about the type, or nothing.
    pub format: String,
    /// What it means, or nothing.
    pub description: String,
    /// 0 for the columns that are always shown.
    pub priority: i32,
    /// Where in the object the value is, such as `.spec.replicas`.
    pub json_path: String,
}

impl Version {
    fn new(version: &CustomResourceDefinitionVersion) -> Self {
        let schema = version.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
        let nothing = JSONSchemaProps::default();
        let schema = schema.unwrap_or(&nothing);
        let subresources = version.subresources.as_ref();
        Self {
            name: version.name.clone(),
            served: version.served,
            has_status: subresources.is_some_and(|those| those.status.is_some()),
            columns: columns(version),
            schema: Schema::new(schema),
            rules: expression::with_room(|| Rules::new(&json!(schema))).flatten(),
        }
    }

    /// The name, such as `v1`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether objects can be read and written in it.
    pub fn is_served(&self) -> bool {
        self.served
    }

    /// Whether the status is a subresource.
    pub fn has_status(&self) -> bool {
        self.has_status
    }

    /// What to print of an object beside its name.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Removes the fields that the schema does not know.
    pub fn prune(&self, object: &mut Value) {
        self.schema.prune(object);
    }

    /// Fills in the defaults; a null where none may be stands for nothing.
    pub fn default(&self, object: &mut Value) {
        self.schema.fill_in(object);
    }

    /// Everything that is wrong with an object, which was pruned and defaulted before.
    ///
    /// `old` is the stored object that it replaces: rules may look at it, and a list whose items
    /// were not unique before need not be better now.
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = self.schema.violations(object, old);
        if let Some(rules) = &self.rules {
            if errors.iter().any(makes_rules_meaningless) {
                errors.push(FieldError::invalid("", Value::Null, rules::NOT_CHECKED));
            } else {
                errors.extend(rules.broken(object, old, &self.schema));
            }
        }
        errors.truncate(MAX_ERRORS);
        errors
    }

    /// What a write of the object itself stores: with a status subresource, the status stays as it
    /// is stored.
    pub fn keep_status(&self, object: &mut Value, old: Option<&Value>) {
        let Some(fields) = object.as_object_mut().filter(|_| self.has_status) else { return };
        match old.and_then(|old| old.get("status")) {
            Some(status) => fields.insert("status".to_owned(), status.clone()),
            None => fields.remove("status"),
        };
    }

    /// What a write of the status stores: everything else stays as it is stored, except for who
    /// owns which field.
    pub fn take_status(&self, object: &Value, old: &Value) -> Value {
        let mut merged = old.clone();
        if let Some(fields) = merged.as_object_mut() {
            match object.get("status") {
                Some(status) => fields.insert("status".to_owned(), status.clone()),
                None => fields.remove("status"),
            };
        }
        if let Some(metadata) = merged.get_mut("metadata").and_then(Value::as_object_mut) {
            match object.pointer("/metadata/managedFields") {
                Some(owners) => metadata.insert("managedFields".to_owned(), owners.clone()),
                None => metadata.remove("managedFields"),
            };
        }
        merged
    }
}

/// Rules are written for values of the right type and of bounded size.
fn makes_rules_meaningless(error: &FieldError) -> bool {
    use FieldErrorKind::{Required, TooLong, TooMany, TypeInvalid};
    matches!(error.kind, Required | TooLong | TooMany | TypeInvalid)
}

fn columns(version: &CustomResourceDefinitionVersion) -> Vec<Column> {
    let columns = version.additional_printer_columns.iter().flatten();
    let columns = columns.map(|column| Column {
        name: column.name.clone(),
        type_: column.type_.clone(),
        format: column.format.clone().unwrap_or_default(),
        description: column.description.clone().unwrap_or_default(),
        priority: column.priority.unwrap_or_default(),
        json_path: column.json_path.clone(),
    });
    columns.collect()
}
