//! Validation of object metadata.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::field_error::{FieldError, FieldPath};
use crate::selector::validate::{
    MAX_SUBDOMAIN, SUBDOMAIN, is_dns_label, key_problems, value_problems,
};

/// Maximum total size of keys and values of annotations.
const MAX_ANNOTATION_BYTES: u32 = 256 * 1024;

const IMMUTABLE_FIELDS: [&str; 6] = [
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

/// Message of the API server for a name that is not an RFC 1035 label.
pub(crate) const LETTER_FIRST_LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

const MAX_LABEL_LENGTH: usize = 63;

/// Validates the metadata of a new object.
pub fn validate(object: &Value, namespaced: bool, rule: NameRule) -> Vec<FieldError> {
    let path = FieldPath::new("metadata");
    let metadata = &object["metadata"];
    let mut errors = Vec::new();
    name(metadata, rule, &path, &mut errors);
    namespace(metadata, namespaced, &path, &mut errors);
    common(metadata, &path, &mut errors);
    errors
}

/// Validates changed metadata.
pub fn validate_update(object: &Value, old: &Value) -> Vec<FieldError> {
    let path = FieldPath::new("metadata");
    let (new, old) = (&object["metadata"], &old["metadata"]);
    let mut errors = Vec::new();
    for field in IMMUTABLE_FIELDS {
        let (new, old) = (&new[field], &old[field]);
        if new != old {
            errors.push(FieldError::invalid(path.field(field), new.clone(), "field is immutable"));
        }
    }
    new_finalizers(new, old, &path, &mut errors);
    common(new, &path, &mut errors);
    errors
}

/// Validates labels.
pub(crate) fn labels(labels: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
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

/// Validates annotations.
pub(crate) fn annotations(annotations: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let Some(annotations) = annotations.as_object() else { return };
    for key in annotations.keys() {
        for problem in key_problems(&key.to_lowercase()) {
            errors.push(FieldError::invalid(path, key.as_str(), problem));
        }
    }
    if size(annotations) > MAX_ANNOTATION_BYTES as usize {
        errors.push(FieldError::too_long(path, "", MAX_ANNOTATION_BYTES.into()));
    }
}

fn size(map: &Map<String, Value>) -> usize {
    map.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum()
}

fn common(metadata: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    labels(&metadata["labels"], &path.field("labels"), errors);
    annotations(&metadata["annotations"], &path.field("annotations"), errors);
    check_owners(&metadata["ownerReferences"], &path.field("ownerReferences"), errors);
    finalizers(&metadata["finalizers"], &path.field("finalizers"), errors);
}

fn name(metadata: &Value, rule: NameRule, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let text = |field: &str| metadata[field].as_str().unwrap_or_default();
    let prefix = text("generateName");
    if !prefix.is_empty() {
        for problem in rule.prefix_problems(prefix) {
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

fn namespace(metadata: &Value, namespaced: bool, path: &FieldPath, errors: &mut Vec<FieldError>) {
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

fn finalizers(finalizers: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
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

fn new_finalizers(new: &Value, old: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
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

/// A list of strings as Go prints it.
pub(crate) fn go_list<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let texts: Vec<_> = texts.map(|text| format!("{text:?}")).collect();
    format!("[]string{{{}}}", texts.join(", "))
}

/// Format of the names of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// RFC 1123 subdomain.
    Subdomain,
    /// RFC 1123 label.
    Label,
    /// RFC 1035 label, which starts with a letter.
    LetterFirstLabel,
    /// Any path segment.
    PathSegment,
    /// Any name; the kind validates it itself.
    Anything,
}

impl NameRule {
    /// All problems of a name.
    pub(crate) fn problems(self, name: &str) -> Vec<String> {
        match self {
            Self::Subdomain => subdomain(name),
            Self::Label => label(name),
            Self::LetterFirstLabel => letter_first_label(name),
            Self::PathSegment => path_segment(name),
            Self::Anything => Vec::new(),
        }
    }

    /// All problems of `generateName`.
    fn prefix_problems(self, prefix: &str) -> Vec<String> {
        match self {
            Self::PathSegment | Self::Anything => self.problems(prefix),
            // A trailing hyphen is valid in a prefix, since a suffix follows.
            _ => match prefix.strip_suffix('-') {
                Some(rest) => self.problems(&format!("{rest}a")),
                None => self.problems(prefix),
            },
        }
    }
}

pub(crate) fn subdomain(name: &str) -> Vec<String> {
    problems(name, MAX_SUBDOMAIN, name.split('.').all(is_dns_label), SUBDOMAIN)
}

pub(crate) fn label(name: &str) -> Vec<String> {
    problems(name, MAX_LABEL_LENGTH, is_dns_label(name), LABEL)
}

pub(crate) fn letter_first_label(name: &str) -> Vec<String> {
    let is_valid = is_dns_label(name) && name.starts_with(|c: char| c.is_ascii_lowercase());
    problems(name, MAX_LABEL_LENGTH, is_valid, LETTER_FIRST_LABEL)
}

fn problems(name: &str, limit: usize, is_valid: bool, message: &str) -> Vec<String> {
    let too_long = (name.len() > limit).then(|| format!("must be no more than {limit} characters"));
    too_long.into_iter().chain((!is_valid).then(|| message.to_owned())).collect()
}

fn path_segment(name: &str) -> Vec<String> {
    if name == "." || name == ".." {
        return vec![format!("may not be '{name}'")];
    }
    let found = ['/', '%'].into_iter().filter(|&part| name.contains(part));
    found.map(|part| format!("may not contain '{part}'")).collect()
}

/// Validates owner references.
fn check_owners(owners: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let owners = owners.as_array().map_or(&[][..], Vec::as_slice);
    for owner in owners {
        for (field, what) in
            [("apiVersion", "version"), ("kind", "kind"), ("name", "name"), ("uid", "uid")]
        {
            if text(owner, field).is_empty() {
                let detail = format!("{what} must not be empty");
                errors.push(FieldError::invalid(path.field(field), "", detail));
            }
        }
        if text(owner, "apiVersion") == "v1" && text(owner, "kind") == "Event" {
            let detail = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(FieldError::invalid(path, owner.clone(), detail));
        }
    }
    let mut controllers = owners.iter().filter(|owner| owner["controller"] == true);
    if let (Some(first), Some(second)) = (controllers.next(), controllers.next()) {
        let detail = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for \
             {} and {}",
            text(first, "name"),
            text(second, "name")
        );
        errors.push(FieldError::invalid(path, owners, detail));
    }
}

fn text<'a>(owner: &'a Value, field: &str) -> &'a str {
    owner[field].as_str().unwrap_or_default()
}
