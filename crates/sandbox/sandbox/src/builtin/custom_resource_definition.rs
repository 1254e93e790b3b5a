//! CustomResourceDefinitions, as far as they are objects. What they mean is decided elsewhere.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Deserialize;
use serde_json::{Value, json};

use super::check::immutable;
use super::rules::{Generation, NOTHING_SPECIAL, Rules};
use super::value::{default, get_mut, items, text};
use super::webhook::SERVICE_PORT;
use crate::catalog::Subresource;
use crate::definition::Definition;
use crate::field_error::{FieldError, Path};

pub(super) const RULES: Rules = Rules {
    default: set_defaults,
    create: remember_stored_versions,
    update,
    generation: Generation::Of(&["spec"]),
    validate,
    validate_update,
    metadata_beside_status: &["labels", "annotations", "ownerReferences"],
    ..NOTHING_SPECIAL
};

fn set_defaults(definition: &mut Value) {
    let Some(spec) = get_mut(definition, "spec") else { return };
    if let Some(names) = get_mut(spec, "names") {
        let kind = text(names, "kind").to_owned();
        if !kind.is_empty() {
            default(names, "singular", kind.to_lowercase());
            default(names, "listKind", format!("{kind}List"));
        }
    }
    default(spec, "conversion", json!({ "strategy": "None" }));
    if let Some(service) = spec["conversion"].pointer_mut("/webhook/clientConfig/service") {
        default(service, "port", SERVICE_PORT);
    }
}

fn update(definition: &mut Value, _: &Value, subresource: Option<Subresource>) {
    if subresource.is_none() {
        remember_stored_versions(definition);
    }
}

/// Objects may be stored in every version that ever was the one to store.
fn remember_stored_versions(definition: &mut Value) {
    let versions = items(&definition["spec"], "versions").iter();
    let stored: Vec<&Value> = versions.filter(|version| version["storage"] == true).collect();
    let [stored] = *stored else { return };
    let name = stored["name"].clone();
    let versions = &mut definition["status"]["storedVersions"];
    match versions.as_array_mut() {
        Some(versions) if versions.contains(&name) => {}
        Some(versions) => versions.push(name),
        None => *versions = json!([name]),
    }
}

fn validate(definition: &Value) -> Vec<FieldError> {
    let mut errors = match CustomResourceDefinition::deserialize(definition) {
        Ok(definition) => Definition::new(&definition).err().unwrap_or_default(),
        Err(error) => vec![FieldError::invalid("spec", Value::Null, error.to_string())],
    };
    if items(&definition["status"], "storedVersions").is_empty() {
        let why = "must have at least one stored version";
        errors.push(FieldError::invalid("status.storedVersions", json!([]), why));
    }
    errors
}

/// What is already stored keeps its place.
fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = Path::new("spec");
    for field in ["scope", "group"] {
        immutable(&new["spec"], &old["spec"], field, &path, &mut errors);
    }
    let names = path.field("names");
    for field in ["kind", "plural"] {
        immutable(&new["spec"]["names"], &old["spec"]["names"], field, &names, &mut errors);
    }
    let versions = items(&new["spec"], "versions");
    for (index, stored) in items(&old["status"], "storedVersions").iter().enumerate() {
        if !versions.iter().any(|version| version["name"] == *stored) {
            let path = Path::new("status").field("storedVersions").index(index);
            let why = "must appear in spec.versions";
            errors.push(FieldError::invalid(path, stored.clone(), why));
        }
    }
    errors
}
