//! Where the objects of a resource are, and what can be done there.

use serde_json::{Map, Value, json};

use super::kind_extension;
use crate::catalog::{Resource, Verb};

/// What clients look for before they use it.
const WRITE_PARAMETERS: [&str; 3] = ["dryRun", "fieldManager", "fieldValidation"];

/// The paths of a resource; `prefix` is that of its version.
pub(super) fn of(resource: &Resource, prefix: &str) -> Vec<(String, Value)> {
    let place = if resource.namespaced { "/namespaces/{namespace}" } else { "" };
    let all = format!("{prefix}{place}/{}", resource.plural);
    let one = format!("{all}/{{name}}");
    let paths = [
        (
            all,
            item(
                resource,
                &[("get", Verb::List), ("post", Verb::Create), ("delete", Verb::DeleteCollection)],
            ),
        ),
        (
            one,
            item(
                resource,
                &[
                    ("get", Verb::Get),
                    ("put", Verb::Update),
                    ("patch", Verb::Patch),
                    ("delete", Verb::Delete),
                ],
            ),
        ),
    ];
    paths.into_iter().filter_map(|(path, item)| Some((path, item?))).collect()
}

/// `None` where nothing can be done.
fn item(resource: &Resource, methods: &[(&str, Verb)]) -> Option<Value> {
    let served = methods.iter().filter(|(_, verb)| resource.verbs.contains(verb));
    let operations: Map<_, _> =
        served.map(|(method, verb)| ((*method).to_owned(), operation(resource, *verb))).collect();
    (!operations.is_empty()).then_some(Value::Object(operations))
}

fn operation(resource: &Resource, verb: Verb) -> Value {
    let writes = matches!(verb, Verb::Create | Verb::Update | Verb::Patch);
    let names: &[&str] = if writes { &WRITE_PARAMETERS } else { &[] };
    let parameters: Vec<_> = names.iter().map(|name| parameter(name)).collect();
    let action = match verb {
        Verb::Create => "post",
        Verb::Update => "put",
        other => other.as_str(),
    };
    json!({
        "parameters": parameters,
        "responses": { "200": { "description": "OK" } },
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind":
            kind_extension(&resource.group, &resource.version, &resource.kind),
    })
}

fn parameter(name: &str) -> Value {
    json!({ "name": name, "in": "query", "schema": { "type": "string", "uniqueItems": true } })
}
