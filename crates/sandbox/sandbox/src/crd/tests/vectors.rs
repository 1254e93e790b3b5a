//! Test vectors of the upstream project of the update API.

use fairway_api::{crds, read};
use fairway_testkit::environment;
use serde_json::{Value, json};

use super::{Crd, CrdVersion, texts};

#[test]
fn conformance_vectors() {
    let Some(root) = environment::conformance("api") else { return };
    let crd = crds::all().into_iter().find(|crd| crd.spec.names.kind == "ClusterVersion").unwrap();
    let crd = Crd::new(&crd).unwrap();
    let mut played = 0;
    for file in std::fs::read_dir(root).unwrap() {
        let path = file.unwrap().path();
        let name = path.display().to_string();
        let file: Value = read::document(&name, &std::fs::read(&path).unwrap()).unwrap();
        for group in ["onCreate", "onUpdate"] {
            for vector in file["tests"][group].as_array().into_iter().flatten() {
                play(crd.storage(), vector);
                played += 1;
            }
        }
    }
    assert!(played >= 15, "{played} vectors");
}

#[test]
fn crds_of_update_api_are_valid() {
    for crd in crds::all() {
        let errors = Crd::new(&crd).err().unwrap_or_default();
        assert_eq!(texts(&errors), "");
    }
}

/// Creates, updates and updates the status, like the upstream test harness.
fn play(version: &CrdVersion, vector: &Value) {
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
    let (violations, why) = (result.unwrap_err(), why.as_str().unwrap());
    assert!(violations.contains(why), "{name}: {violations}");
}

fn write(version: &CrdVersion, object: &Value, old: Option<&Value>) -> Result<Value, String> {
    let mut object = object.clone();
    version.prune(&mut object);
    version.default(&mut object);
    version.retain_status(&mut object, old);
    valid(version, object, old)
}

fn write_status(version: &CrdVersion, object: &Value, old: &Value) -> Result<Value, String> {
    let mut object = object.clone();
    version.prune(&mut object);
    version.default(&mut object);
    valid(version, version.with_status(&object, old), Some(old))
}

fn valid(version: &CrdVersion, object: Value, old: Option<&Value>) -> Result<Value, String> {
    let errors = version.validate(&object, old);
    if errors.is_empty() { Ok(object) } else { Err(texts(&errors)) }
}
