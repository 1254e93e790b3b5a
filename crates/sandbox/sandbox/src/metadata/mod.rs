//! What all objects have in common: their names, labels, owners and the like.

mod names;
mod owners;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::field_error::{FieldError, Path};
use crate::selector::validate::{key_problems, value_problems};

pub use names::NameRule;
pub(crate) use names::{label, letter_first_label, subdomain};

/// The annotations of an object together, keys and values.
const MAX_ANNOTATIONS: u32 = 256 * 1024;

/// What is wrong with the metadata of an object that is to be created.
pub fn validate(object: &Value, namespaced: bool, rule: NameRule) -> Vec<FieldError> {
    let path = Path::new("metadata");
    let metadata = &object["metadata"];
    let mut errors = Vec::new();
    name(metadata, rule, &path, &mut errors);
    namespace(metadata, namespaced, &path, &mut errors);
    rest(metadata, &path, &mut errors);
    errors
}

/// What is wrong with how the metadata changed, and with what is there now.
pub fn validate_update(object: &Value, old: &Value) -> Vec<FieldError> {
    let path = Path::new("metadata");
    let (new, old) = (&object["metadata"], &old["metadata"]);
    let mut errors = Vec::new();
    for field in IMMUTABLE {
        let (new, old) = (&new[field], &old[field]);
        if new != old {
            errors.push(FieldError::invalid(path.field(field), new.clone(), "field is immutable"));
        }
    }
    new_finalizers(new, old, &path, &mut errors);
    rest(new, &path, &mut errors);
    errors
}

const IMMUTABLE: [&str; 6] = [
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

/// What is wrong with labels, such as those in a selector.
pub(crate) fn labels(labels: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        for problem in key_problems(key) {
            errors.push(FieldError::invalid(path, key.as_str(), problem));
        }
        let value = value.as_str().unwrap_or_default();
        for problem in value_problems(value) {
            errors.push(FieldError::invalid(path, value, problem));
        }
    }
}

/// What is wrong with annotations.
pub(crate) fn annotations(annotations: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    let Some(annotations) = annotations.as_object() else { return };
    for key in annotations.keys() {
        for problem in key_problems(&key.to_lowercase()) {
            errors.push(FieldError::invalid(path, key.as_str(), problem));
        }
    }
    if size(annotations) > MAX_ANNOTATIONS as usize {
        errors.push(FieldError::too_long(path, "", MAX_ANNOTATIONS.into()));
    }
}

fn size(map: &Map<String, Value>) -> usize {
    map.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum()
}

fn rest(metadata: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    labels(&metadata["labels"], &path.field("labels"), errors);
    annotations(&metadata["annotations"], &path.field("annotations"), errors);
    owners::check(&metadata["ownerReferences"], &path.field("ownerReferences"), errors);
    finalizers(&metadata["finalizers"], &path.field("finalizers"), errors);
}

fn name(metadata: &Value, rule: NameRule, path: &Path, errors: &mut Vec<FieldError>) {
    let text = |field: &str| metadata[field].as_str().unwrap_or_default();
    let prefix = text("generateName");
    if !prefix.is_empty() {
        for problem in rule.problems_of_prefix(prefix) {
            errors.push(FieldError::invalid(path.field("generateName"), prefix, problem));
        }
    }
    let name = text("name");
    if name.is_empty() {
        errors.push(FieldError::required(path.field("name"), "name or generateName is required"));
    }
    for problem in rule.problems(name).iter().filter(|_| !name.is_empty()) {
        errors.push(FieldError::invalid(path.field("name"), name, problem));
    }
}

fn namespace(metadata: &Value, namespaced: bool, path: &Path, errors: &mut Vec<FieldError>) {
    let path = path.field("namespace");
    match (namespaced, metadata["namespace"].as_str().unwrap_or_default()) {
        (true, "") => errors.push(FieldError::required(path, "")),
        (true, namespace) => {
            for problem in label(namespace) {
                errors.push(FieldError::invalid(&path, namespace, problem));
            }
        }
        (false, "") => {}
        (false, _) => errors.push(FieldError::forbidden(path, "not allowed on this type")),
    }
}

fn finalizers(finalizers: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    let names = || finalizers.as_array().into_iter().flatten().filter_map(Value::as_str);
    for name in names() {
        for problem in key_problems(name) {
            errors.push(FieldError::invalid(path, name, problem));
        }
    }
    if names().any(|name| name == "orphan") && names().any(|name| name == "foregroundDeletion") {
        let shown = go_list(names());
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid_as(path, shown, detail));
    }
}

fn new_finalizers(new: &Value, old: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    if old["deletionTimestamp"].is_null() {
        return;
    }
    let names = |metadata: &Value| metadata["finalizers"].as_array().cloned().unwrap_or_default();
    let former = names(old);
    let added: Vec<_> = names(new).into_iter().filter(|name| !former.contains(name)).collect();
    if !added.is_empty() {
        let mut added: Vec<_> = added.iter().filter_map(Value::as_str).collect();
        added.sort_unstable();
        let detail = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers {}",
            go_list(added.into_iter())
        );
        errors.push(FieldError::forbidden(path.field("finalizers"), detail));
    }
}

/// Texts as the API server's language writes a list of them.
pub(crate) fn go_list<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let texts: Vec<_> = texts.map(|text| format!("{text:?}")).collect();
    format!("[]string{{{}}}", texts.join(", "))
}
