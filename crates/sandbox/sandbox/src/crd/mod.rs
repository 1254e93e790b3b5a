//! CustomResourceDefinitions: validation, and processing of their objects.
//!
//! Objects are pruned, defaulted and validated, in this order, by the schema of the requested
//! version.

mod expression;
mod rules;
mod structural;
#[cfg(test)]
mod tests;
mod validation;

use fairway_schema::{MAX_ERRORS, Schema};
use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionCondition as Condition,
    CustomResourceDefinitionNames, CustomResourceDefinitionStatus, CustomResourceDefinitionVersion,
    JSONSchemaProps,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use rules::CelRules;
use serde_json::{Value, json};

pub use crate::field_error::{FieldError, FieldErrorKind};

/// A valid CRD.
#[derive(Debug)]
pub struct Crd {
    group: String,
    names: CustomResourceDefinitionNames,
    versions: Vec<CrdVersion>,
    storage: usize,
}

impl Crd {
    /// Validates a CRD. Returns all errors.
    pub fn new(crd: &CustomResourceDefinition) -> Result<Self, Vec<FieldError>> {
        let mut errors = validation::check_crd(crd);
        errors.truncate(MAX_ERRORS);
        let spec = &crd.spec;
        match spec.versions.iter().position(|version| version.storage) {
            Some(storage) if errors.is_empty() => Ok(Self {
                group: spec.group.clone(),
                names: with_default_names(&spec.names),
                versions: spec.versions.iter().map(CrdVersion::new).collect(),
                storage,
            }),
            _ => Err(errors),
        }
    }

    /// The API group.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// Names, including defaults.
    pub fn names(&self) -> &CustomResourceDefinitionNames {
        &self.names
    }

    /// All versions, including those that are not served.
    pub fn versions(&self) -> &[CrdVersion] {
        &self.versions
    }

    /// A served version.
    pub fn served(&self, name: &str) -> Option<&CrdVersion> {
        self.versions.iter().find(|version| version.served && version.name == name)
    }

    /// The storage version.
    pub fn storage(&self) -> &CrdVersion {
        &self.versions[self.storage]
    }
}

/// Derives missing names from the kind.
fn with_default_names(names: &CustomResourceDefinitionNames) -> CustomResourceDefinitionNames {
    let given = |name: &Option<String>| name.clone().filter(|name| !name.is_empty());
    let kind = Some(&names.kind).filter(|kind| !kind.is_empty());
    CustomResourceDefinitionNames {
        singular: given(&names.singular).or_else(|| Some(kind?.to_lowercase())),
        list_kind: given(&names.list_kind).or_else(|| Some(format!("{}List", kind?))),
        ..names.clone()
    }
}

/// A version of a CRD.
#[derive(Debug)]
pub struct CrdVersion {
    name: String,
    served: bool,
    has_status: bool,
    schema: Schema,
    rules: Option<CelRules>,
}

impl CrdVersion {
    fn new(version: &CustomResourceDefinitionVersion) -> Self {
        let schema = version.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
        let nothing = JSONSchemaProps::default();
        let schema = schema.unwrap_or(&nothing);
        let subresources = version.subresources.as_ref();
        Self {
            name: version.name.clone(),
            served: version.served,
            has_status: subresources.is_some_and(|those| those.status.is_some()),
            schema: Schema::new(schema),
            rules: expression::on_large_stack(|| CelRules::new(&json!(schema))).flatten(),
        }
    }

    /// The name, such as `v1`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is served.
    pub fn is_served(&self) -> bool {
        self.served
    }

    /// Whether the status is a subresource.
    pub fn has_status(&self) -> bool {
        self.has_status
    }

    /// Removes unknown fields.
    pub fn prune(&self, object: &mut Value) {
        self.schema.prune(object);
    }

    /// Applies defaults. Nulls of fields that are not nullable count as missing.
    pub fn default(&self, object: &mut Value) {
        self.schema.set_defaults(object);
    }

    /// Validates a pruned and defaulted object.
    ///
    /// `old` is the stored object: transition rules compare with it, and duplicates in its lists
    /// may stay.
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = self.schema.violations(object, old);
        if let Some(rules) = &self.rules {
            if errors.iter().any(prevents_rules) {
                errors.push(FieldError::invalid("", Value::Null, rules::RULES_SKIPPED));
            } else {
                errors.extend(rules.violations(object, old, &self.schema));
            }
        }
        errors.truncate(MAX_ERRORS);
        errors
    }

    /// Keeps the stored status on writes of the main resource, if the status is a subresource.
    pub fn retain_status(&self, object: &mut Value, old: Option<&Value>) {
        let Some(fields) = object.as_object_mut().filter(|_| self.has_status) else { return };
        match old.and_then(|old| old.get("status")) {
            Some(status) => fields.insert("status".to_owned(), status.clone()),
            None => fields.remove("status"),
        };
    }

    /// Takes only status and managedFields from a write of the status subresource.
    pub fn with_status(&self, object: &Value, old: &Value) -> Value {
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

/// Whether an error makes CEL rules meaningless. They expect values of the right type and of
/// bounded size.
fn prevents_rules(error: &FieldError) -> bool {
    use FieldErrorKind::{Required, TooLong, TooMany, TypeInvalid};
    matches!(error.kind, Required | TooLong | TooMany | TypeInvalid)
}

impl Crd {
    /// The status of a served CRD with accepted names.
    ///
    /// Conditions that are already true keep their transition time, and stored versions accumulate.
    pub fn status(
        &self,
        before: Option<&CustomResourceDefinitionStatus>,
        now: Timestamp,
    ) -> CustomResourceDefinitionStatus {
        let mut conditions =
            before.and_then(|status| status.conditions.clone()).unwrap_or_default();
        for (type_, reason, message) in [
            ("NamesAccepted", "NoConflicts", "no conflicts found"),
            ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ] {
            set_condition(&mut conditions, type_, reason, message, now);
        }
        let mut stored =
            before.and_then(|status| status.stored_versions.clone()).unwrap_or_default();
        let storage = self.storage().name();
        if !stored.iter().any(|name| name == storage) {
            stored.push(storage.to_owned());
        }
        CustomResourceDefinitionStatus {
            accepted_names: Some(self.names().clone()),
            conditions: Some(conditions),
            stored_versions: Some(stored),
        }
    }
}

fn set_condition(
    conditions: &mut Vec<Condition>,
    type_: &str,
    reason: &str,
    message: &str,
    now: Timestamp,
) {
    if conditions.iter().any(|condition| condition.type_ == type_ && condition.status == "True") {
        return;
    }
    conditions.retain(|condition| condition.type_ != type_);
    conditions.push(Condition {
        last_transition_time: Some(Time(now)),
        message: Some(message.to_owned()),
        reason: Some(reason.to_owned()),
        status: "True".to_owned(),
        type_: type_.to_owned(),
    });
}
