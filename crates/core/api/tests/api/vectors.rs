//! The create and update vectors of the API's own project, as its test harness reads them.

use fairway_api::read;
use fairway_fixtures::environment;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct File {
    tests: Groups,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Groups {
    #[serde(default)]
    on_create: Vec<Raw>,
    #[serde(default)]
    on_update: Vec<Raw>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    name: String,
    initial: String,
    updated: Option<String>,
    expected: Option<String>,
    expected_error: Option<String>,
    expected_status_error: Option<String>,
}

/// One vector: an object is created, perhaps updated, and then accepted or refused.
pub(crate) struct Vector {
    pub(crate) name: String,
    pub(crate) initial: Value,
    pub(crate) updated: Option<Value>,
    pub(crate) expected: Expected,
}

pub(crate) enum Expected {
    Accepted(Value),
    Refused(String),
    StatusRefused(String),
}

/// Every vector of every file, or nothing where there is no conformance directory.
pub(crate) fn all() -> Vec<Vector> {
    let Some(root) = environment::conformance("api") else { return Vec::new() };
    let mut vectors = Vec::new();
    for file in std::fs::read_dir(root).unwrap() {
        let path = file.unwrap().path();
        let name = path.display().to_string();
        let File { tests } = read::document(&name, &std::fs::read(&path).unwrap()).unwrap();
        vectors.extend(tests.on_create.into_iter().chain(tests.on_update).map(vector));
    }
    assert!(vectors.len() >= 15, "{} vectors", vectors.len());
    vectors
}

fn vector(raw: Raw) -> Vector {
    let Raw { name, initial, updated, expected, expected_error, expected_status_error } = raw;
    let object = |yaml: String| read::document::<Value>(&name, yaml.as_bytes()).unwrap();
    let expected = match (expected, expected_error, expected_status_error) {
        (Some(expected), None, None) => Expected::Accepted(object(expected)),
        (None, Some(error), None) => Expected::Refused(error),
        (None, None, Some(error)) => Expected::StatusRefused(error),
        _ => panic!("{name}: one expectation is wanted"),
    };
    Vector { initial: object(initial), updated: updated.map(object), expected, name }
}
