//! CEL rules of the generated schema, evaluated in process: not every API server supports them.

use fairway_api::crds;
use fairway_fixtures::environment;
use fairway_fixtures::vectors::{self, Expected};
use serde_json::{Value, json};

/// Schema of ClusterVersion.
fn schema() -> Value {
    let crd = crds::all().into_iter().find(|crd| crd.spec.names.kind == "ClusterVersion").unwrap();
    let mut schema = serde_json::to_value(&crd.spec.versions[0].schema).unwrap();
    schema["openAPIV3Schema"].take()
}

/// Errors of an API server with CEL.
fn broken_rules(object: &Value) -> Vec<String> {
    let broken = kube_cel::Validator::new().validate(&schema(), object, None);
    broken.err().into_iter().flatten().map(|error| error.to_string()).collect()
}

fn with_spec(spec: &Value) -> Value {
    json!({ "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "spec": spec })
}

#[test]
fn status_vectors_violate_cel_rules() {
    let mut refused = 0;
    for vector in vectors::all() {
        let object = vector.updated.as_ref().unwrap_or(&vector.initial);
        let mut broken = broken_rules(object);
        list_types(&schema(), object, &mut broken);
        match vector.expected {
            Expected::Accepted(_) => assert!(broken.is_empty(), "{}: {broken:?}", vector.name),
            Expected::StatusRefused(why) if !why.contains("should have at least") => {
                assert!(
                    broken.iter().any(|errors| errors.contains(&why)),
                    "{}: {broken:?}",
                    vector.name
                );
                refused += 1;
            }
            // The tests with a real API server cover what every server rejects.
            Expected::Refused(_) | Expected::StatusRefused(_) => {}
        }
    }
    assert!(refused == 2 || environment::conformance("api").is_none(), "{refused} were refused");
}

/// Errors of an API server about lists that are sets or maps.
fn list_types(schema: &Value, value: &Value, errors: &mut Vec<String>) {
    if let (Some(properties), Some(fields)) = (schema["properties"].as_object(), value.as_object())
    {
        for (name, field) in fields {
            list_types(properties.get(name).unwrap_or(&Value::Null), field, errors);
        }
    }
    let Some(items) = value.as_array() else { return };
    let key = |item: &Value| match schema["x-kubernetes-list-type"].as_str() {
        Some("set") => Some(item.clone()),
        Some("map") => {
            let keys = schema["x-kubernetes-list-map-keys"].as_array().cloned().unwrap_or_default();
            Some(keys.iter().map(|key| item[key.as_str().unwrap_or_default()].clone()).collect())
        }
        _ => None,
    };
    let mut seen = Vec::new();
    for item in items {
        list_types(&schema["items"], item, errors);
        let Some(key) = key(item) else { continue };
        if seen.contains(&key) {
            errors.push(format!("Duplicate value: {key}"));
        }
        seen.push(key);
    }
}

#[test]
fn architecture_excludes_image_and_requires_version() {
    for (update, rule) in [
        (json!({ "architecture": "Multi", "version": "5.1.0" }), None),
        (json!({ "architecture": "", "image": "i" }), None),
        (json!({ "architecture": "Multi", "version": "5.1.0", "image": "" }), None),
        (
            json!({ "architecture": "Multi", "version": "5.1.0", "image": "i" }),
            Some("mutually exclusive"),
        ),
        (json!({ "architecture": "Multi" }), Some("version must be set")),
        (json!({ "architecture": "Multi", "version": "" }), Some("version must be set")),
    ] {
        let broken =
            broken_rules(&with_spec(&json!({ "clusterID": "c", "desiredUpdate": update })));
        match rule {
            None => assert!(broken.is_empty(), "{update}: {broken:?}"),
            Some(rule) => {
                assert!(broken.len() == 1 && broken[0].contains(rule), "{update}: {broken:?}");
            }
        }
    }
}

#[test]
fn capabilities_require_others() {
    let wants = |additional: &[&str], enabled: &[&str]| {
        let mut object = with_spec(&json!({
            "clusterID": "c",
            "capabilities": { "baselineCapabilitySet": "None", "additionalEnabledCapabilities": additional },
        }));
        object["status"] = json!({ "capabilities": { "enabledCapabilities": enabled } });
        broken_rules(&object).join("; ")
    };
    assert_eq!(wants(&["marketplace", "OperatorLifecycleManager"], &[]), "");
    assert_eq!(wants(&["marketplace"], &["OperatorLifecycleManager"]), "");
    assert!(
        wants(&["marketplace"], &[]).contains("requires the capability OperatorLifecycleManager")
    );
    assert!(
        wants(&["ClusterAPI"], &[]).contains("requires the capability CompatibilityRequirements")
    );
    assert_eq!(wants(&["ClusterAPI", "CompatibilityRequirements"], &[]), "");
}

#[test]
fn signature_store_must_be_a_url() {
    let with_store = |url: &str| {
        broken_rules(&with_spec(&json!({ "clusterID": "c", "signatureStores": [{ "url": url }] })))
    };
    assert!(with_store("https://signatures.example/store").is_empty());
    assert_eq!(with_store("signatures").len(), 1);
}
