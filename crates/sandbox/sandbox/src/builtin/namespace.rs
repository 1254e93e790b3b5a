//! Namespaces.

use serde_json::{Value, json};

use super::check::{Errors, finalizer, qualified};
use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::{copy, items, object_at, set};
use crate::catalog::Subresource;
use crate::field_error::Path;

pub(super) const RULES: Rules =
    Rules { default: set_defaults, create, update, validate, ..NOTHING_SPECIAL };

/// By it, selectors find a namespace of a known name.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

fn set_defaults(namespace: &mut Value) {
    if namespace["status"]["phase"].as_str().is_none_or(str::is_empty) {
        namespace["status"]["phase"] = json!("Active");
    }
    let name = namespace["metadata"]["name"].clone();
    if name.as_str().is_some_and(|name| !name.is_empty())
        && let Some(labels) = object_at(&mut namespace["metadata"], "labels")
    {
        labels.insert(NAME_LABEL.to_owned(), name);
    }
}

fn create(namespace: &mut Value) {
    set(namespace, "status", json!({ "phase": "Active" }));
    let finalizers = &mut namespace["spec"]["finalizers"];
    match finalizers.as_array_mut() {
        Some(finalizers) if finalizers.iter().any(|it| it == "kubernetes") => {}
        Some(finalizers) => finalizers.push("kubernetes".into()),
        None => *finalizers = json!(["kubernetes"]),
    }
}

/// What holds a namespace back is taken off through an address of its own.
fn update(namespace: &mut Value, old: &Value, subresource: Option<Subresource>) {
    if subresource != Some(Subresource::Finalize) {
        copy(namespace, "spec", old);
    }
}

fn validate(namespace: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::new("spec").field("finalizers");
    for name in items(&namespace["spec"], "finalizers").iter().filter_map(Value::as_str) {
        qualified(name, &path, &mut errors);
        finalizer(name, &path, &mut errors);
    }
    errors
}
