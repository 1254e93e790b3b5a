use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::*;
use crate::store::{Key, ResourceKey};

fn document(catalog: &Catalog, store: &Store, path: &str) -> Value {
    let bytes = OpenApi::default().document(catalog, store, path).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

fn widgets() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com",
            "names": { "kind": "Widget", "plural": "widgets" },
            "scope": "Namespaced",
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": { "openAPIV3Schema": {
                    "type": "object",
                    "properties": { "spec": { "type": "string", "description": "what it is" } },
                } },
            }],
        },
    })
}

#[test]
fn document_has_kinds_and_write_parameters() {
    let pods = document(&Catalog::default(), &Store::default(), "api/v1");
    let schema = &pods["components"]["schemas"]["io.k8s.api.core.v1.Pod"];
    let kind = json!({ "group": "", "version": "v1", "kind": "Pod" });
    assert_eq!(schema["x-kubernetes-group-version-kind"], json!([kind]));
    let patch = &pods["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"];
    assert_eq!(patch["x-kubernetes-group-version-kind"], kind);
    let names: Vec<_> =
        patch["parameters"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["dryRun", "fieldManager", "fieldValidation"]);
}

#[test]
fn builtin_kinds_have_schemas() {
    let catalog = Catalog::default();
    for resource in catalog.resources() {
        let kind = builtin::kind(&resource.group, &resource.kind);
        assert!(kind.is_some(), "{} {}", resource.group, resource.kind);
    }
}

#[test]
fn references_resolve() {
    fn check(value: &Value, schemas: &Value) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(reference)) = fields.get("$ref") {
                    let name = reference.strip_prefix("#/components/schemas/").unwrap();
                    assert!(schemas.get(name).is_some(), "{name}");
                }
                fields.values().for_each(|value| check(value, schemas));
            }
            Value::Array(items) => items.iter().for_each(|value| check(value, schemas)),
            _ => {}
        }
    }
    let (catalog, store) = (Catalog::default(), Store::default());
    let index = OpenApi::index(&catalog, &store);
    for path in index["paths"].as_object().unwrap().keys() {
        let document = document(&catalog, &store, path);
        check(&document, &document["components"]["schemas"]);
    }
}

#[test]
fn crd_schema_is_included_and_changes_hash() {
    let (mut catalog, store) = (Catalog::default(), Store::default());
    let definition: CustomResourceDefinition = serde_json::from_value(widgets()).unwrap();
    catalog.define(&definition).unwrap();
    let definitions = ResourceKey::new("apiextensions.k8s.io", "customresourcedefinitions");
    let key = Key::new(&definitions, None, "widgets.example.com").unwrap();
    store.create(&key, widgets()).unwrap();
    let widgets = document(&catalog, &store, "apis/example.com/v1");
    let schema = &widgets["components"]["schemas"]["com.example.v1.Widget"];
    assert_eq!(schema["properties"]["spec"]["description"], "what it is");

    let url = |store| {
        let index = OpenApi::index(&catalog, store);
        index["paths"]["apis/example.com/v1"]["serverRelativeURL"].clone()
    };
    let before = url(&store);
    let mut changed = self::widgets();
    changed["spec"]["versions"][0]["schema"] = json!({});
    store.update(&key, changed, None).unwrap();
    assert_ne!(url(&store), before);
}

#[test]
fn document_of_unserved_path_is_none() {
    let (catalog, store) = (Catalog::default(), Store::default());
    for path in
        ["", "api", "api/v2", "apis", "apis/apps", "apis//v1", "apis/nothing/v1", "apis/apps/v1/x"]
    {
        assert_eq!(OpenApi::default().document(&catalog, &store, path), None, "{path}");
    }
}
