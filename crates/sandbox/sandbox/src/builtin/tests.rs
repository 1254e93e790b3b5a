use serde_json::{Value, json};

use super::{Kind, kind, kinds};
use crate::catalog::{Catalog, Subresource};
use crate::schema::Schema;

fn known(group: &str, name: &str) -> &'static Kind {
    kind(group, name).unwrap()
}

fn prepared(group: &str, name: &str, object: Value) -> Value {
    let kind = known(group, name);
    let mut object = kind.read(object).unwrap().object;
    kind.default(&mut object);
    kind.prepare_create(&mut object);
    object
}

#[test]
fn kind_for_every_catalog_resource_exists() {
    for resource in Catalog::default().resources() {
        let found = kind(&resource.group, &resource.kind);
        assert!(found.is_some(), "{} {}", resource.group, resource.kind);
        for subresource in &resource.subresources {
            if let Some((group, _, name)) = subresource.own_kind() {
                assert!(kind(group, name).is_some(), "{group} {name}");
            }
        }
    }
}

#[test]
fn blank_object_decodes_to_itself() {
    for kind in &kinds::KINDS {
        assert!(kind.blank()["metadata"].is_object(), "{}", kind.name);
        let read = kind.read(kind.blank().clone()).unwrap();
        assert_eq!(read.object, *kind.blank());
        assert_eq!(read.unknown, [""; 0]);
    }
    assert!(Schema::builtin_kinds().all(|(group, name)| kind(group, name).is_some()));
}

#[test]
fn prepare_create_resets_status() {
    let pod = json!({ "status": { "phase": "Running" }, "spec": { "containers": [
        { "name": "a", "resources": { "limits": { "cpu": "1", "memory": "1Gi" } } },
    ] } });
    let pod = prepared("", "Pod", pod);
    assert_eq!(pod["status"], json!({ "phase": "Pending", "qosClass": "Guaranteed" }));
    let deployment = json!({ "status": { "replicas": 3 }, "metadata": { "generation": 5 } });
    let deployment = prepared("apps", "Deployment", deployment);
    assert_eq!(deployment["status"], json!({}));
    assert_eq!(deployment["metadata"]["generation"], 1);
    let node = prepared("", "Node", json!({ "status": { "capacity": { "cpu": "1" } } }));
    assert_eq!(node["status"]["allocatable"], json!({ "cpu": "1" }));
}

#[test]
fn namespace_finalizers_change_only_through_finalize() {
    let kind = known("", "Namespace");
    let old = prepared("", "Namespace", json!({ "metadata": { "name": "a" } }));
    assert_eq!(old["spec"]["finalizers"], json!(["kubernetes"]));
    assert_eq!(old["metadata"]["labels"], json!({ "kubernetes.io/metadata.name": "a" }));
    let mut new = old.clone();
    new["spec"] = json!({});
    for (subresource, left) in [
        (None, json!(["kubernetes"])),
        (Some(Subresource::Status), json!(["kubernetes"])),
        (Some(Subresource::Finalize), Value::Null),
    ] {
        let mut object = new.clone();
        kind.prepare_update(&mut object, &old, subresource);
        assert_eq!(object["spec"]["finalizers"], left, "{subresource:?}");
    }
}

#[test]
fn crd_new_storage_version_is_added_to_stored_versions() {
    let version = |name: &str, storage| json!({ "name": name, "storage": storage });
    let kind = known("apiextensions.k8s.io", "CustomResourceDefinition");
    let object = json!({ "spec": { "versions": [version("v1", true)] } });
    let old = prepared("apiextensions.k8s.io", "CustomResourceDefinition", object);
    assert_eq!(old["status"]["storedVersions"], json!(["v1"]));
    let mut new = old.clone();
    new["spec"]["versions"] = json!([version("v1", false), version("v2", true)]);
    kind.prepare_update(&mut new, &old, None);
    assert_eq!(new["status"]["storedVersions"], json!(["v1", "v2"]));
}

#[test]
fn daemon_set_template_change_increments_template_generation() {
    let kind = known("apps", "DaemonSet");
    let old = prepared("apps", "DaemonSet", json!({}));
    let count = |object: &Value| {
        object["metadata"]["annotations"]["deprecated.daemonset.template.generation"].clone()
    };
    assert_eq!(count(&old), "1");
    let mut new = old.clone();
    new["metadata"]["annotations"] = json!({});
    new["spec"]["template"]["spec"]["nodeName"] = "a".into();
    kind.prepare_update(&mut new, &old, None);
    assert_eq!(count(&new), "2");
}

#[test]
fn malformed_objects_pass_all_rules_without_panic() {
    let unexpanded =
        [json!(null), json!([]), json!({}), json!({ "spec": [] }), json!({ "metadata": 1 })];
    for kind in &kinds::KINDS {
        for object in &unexpanded {
            let Ok(read) = kind.read(object.clone()) else { continue };
            let mut object = read.object;
            kind.default(&mut object);
            kind.prepare_create(&mut object);
            kind.validate(&object);
            let old = object.clone();
            kind.prepare_update(&mut object, &old, None);
            assert_eq!(object, old, "{}", kind.name);
            kind.validate_update(&object, &old, None);
        }
    }
}
