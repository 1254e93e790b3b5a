//! The vectors of the update API's own project.

use fairway_api::{crds, read};
use fairway_testkit::environment;
use serde_json::{Value, json};

use super::{Definition, Version, texts};

#[test]
fn every_vector_of_the_update_api() {
    let Some(root) = environment::conformance("api") else { return };
    let crd = crds::all().into_iter().find(|crd| crd.spec.names.kind == "ClusterVersion").unwrap();
    let definition = Definition::new(&crd).unwrap();
    let mut played = 0;
    for file in std::fs::read_dir(root).unwrap() {
        let path = file.unwrap().path();
        let name = path.display().to_string();
        let file: Value = read::document(&name, &std::fs::read(&path).unwrap()).unwrap();
        for group in ["onCreate", "onUpdate"] {
            for vector in file["tests"][group].as_array().into_iter().flatten() {
                play(definition.storage(), vector);
                played += 1;
            }
        }
    }
    assert!(played >= 15, "{played} vectors");
}

#[test]
fn every_definition_of_the_update_api_is_a_good_one() {
    for crd in crds::all() {
        let errors = Definition::new(&crd).err().unwrap_or_default();
        assert_eq!(texts(&errors), "");
    }
}

/// Creates, updates and updates the status, as the harness does from which the vectors come.
fn play(version: &Version, vector: &Value) {
    let name = vector["name"].as_str().unwrap();
    let object = |part: &str| {
        let yaml = vector.get(part)?.as_str().unwrap();
        let mut object: Value = read::document(name, yaml.as_bytes()).unwrap();
        object["metadata"] = json!({ "name": "version" });
        Some(object)
    };
    let mut result = write(version, &object("initial").unwrap(), None);
    let mut status_result = Ok(Value::Null);
    if let Some(updated) = object("updated") {
        let created = result.unwrap();
        result = write(version, &updated, Some(&created));
        if let (Ok(stored), Some(_)) = (&result, updated.get("status")) {
            status_result = write_status(version, &updated, stored);
        }
    }
    match (vector.get("expectedError"), vector.get("expectedStatusError"), object("expected")) {
        (Some(why), ..) => refused(name, result, why),
        (_, Some(why), _) => refused(name, status_result, why),
        (.., Some(expected)) => {
            let stored = match status_result.unwrap() {
                Value::Null => result.unwrap(),
                stored => stored,
            };
            assert_eq!(
                (&stored["spec"], &stored["status"]),
                (&expected["spec"], &expected["status"]),
                "{name}"
            );
        }
        _ => panic!("{name} expects nothing"),
    }
}

fn refused(name: &str, result: Result<Value, String>, why: &Value) {
    let (said, why) = (result.unwrap_err(), why.as_str().unwrap());
    assert!(said.contains(why), "{name}: {said}");
}

fn write(version: &Version, object: &Value, old: Option<&Value>) -> Result<Value, String> {
    let mut object = object.clone();
    version.prune(&mut object);
    version.default(&mut object);
    version.keep_status(&mut object, old);
    valid(version, object, old)
}

fn write_status(version: &Version, object: &Value, old: &Value) -> Result<Value, String> {
    let mut object = object.clone();
    version.prune(&mut object);
    version.default(&mut object);
    valid(version, version.take_status(&object, old), Some(old))
}

fn valid(version: &Version, object: Value, old: Option<&Value>) -> Result<Value, String> {
    let errors = version.validate(&object, old);
    if errors.is_empty() { Ok(object) } else { Err(texts(&errors)) }
}
