//! Create, update and patch.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Cluster, line};
use crate::api::PatchType::{Apply, Json, Merge, Strategic};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const MAP: &str = "/api/v1/namespaces/default/configmaps/a";

fn with_map() -> Cluster {
    let cluster = Cluster::new();
    cluster.made(MAPS, &json!({ "metadata": { "name": "a" }, "data": { "x": "y" } }));
    cluster
}

fn map(metadata: &Value) -> Value {
    json!({ "metadata": metadata, "data": { "x": "z" } })
}

#[test]
fn invalid_updates_are_refused() {
    let cluster = with_map();
    let uid = cluster.get(MAP).1["metadata"]["uid"].as_str().unwrap().to_owned();
    let refused = |metadata| line(&cluster.put(MAP, &map(&metadata))).replace(&uid, "UID");
    assert_snapshot!(
        [
            refused(json!({ "name": "zz" })),
            refused(json!({})),
            refused(json!({ "name": "a", "namespace": "u" })),
            refused(json!({ "name": "a", "resourceVersion": "1" })),
            refused(json!({ "name": "a", "resourceVersion": "x" })),
            refused(json!({ "name": "a", "uid": "x" })),
            line(&cluster.put(&format!("{MAPS}/zz"), &map(&json!({ "name": "zz" })))),
            line(&cluster.put(&format!("{MAP}?dryRun=Some"), &map(&json!({ "name": "a" })))),
        ].join("\n"),
        @r#"
    400 BadRequest: the name of the object (zz) does not match the name on the URL (a)
    400 BadRequest: the name of the object (a based on URL) was undeterminable: name must be provided
    400 BadRequest: the namespace of the object (u) does not match the namespace on the request (default)
    409 Conflict: Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again
    500 : strconv.ParseUint: parsing "x": invalid syntax
    409 Conflict: Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, Key: /registry/configmaps/default/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: x, UID in object meta: UID
    404 NotFound: configmaps "zz" not found
    422 Invalid: UpdateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: []string{"Some"}: supported values: "All"
    "#
    );
}

#[test]
fn invalid_patches_are_refused() {
    let cluster = with_map();
    let refused = |query: &str, kind, patch| {
        let line = line(&cluster.patch(&format!("{MAP}{query}"), kind, &patch));
        line.chars().take(200).collect::<String>()
    };
    let manifest = |data: Value| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": data });
    assert_snapshot!(
        [
            refused("", Json, json!([{ "op": "test", "path": "/data/x", "value": "q" }])),
            refused("", Strategic, json!({ "metadata": { "name": "t" } })),
            refused("", Merge, json!({ "metadata": { "resourceVersion": "1" }, "data": { "u": "v" } })),
            refused("", Merge, json!({ "kind": "Secret" })),
            refused("?force=true", Merge, json!({})),
            refused("", Apply, manifest(json!({ "x": "q" }))),
            refused("?fieldManager=m", Apply, manifest(json!({ "x": "q" }))),
            refused("?fieldManager=m", Apply, manifest(json!(3))),
            refused("?fieldManager=m", Apply, json!({ "metadata": { "name": "a" } })),
            refused("?fieldManager=m", Apply, json!({ "apiVersion": "v1", "kind": "ConfigMap", "foo": 1, "metadata": { "name": "a" } })),
            refused("?fieldManager=m", Apply, json!([])),
        ].join("\n"),
        @r#"
    422 Invalid: the server rejected our request due to an error in our request
    400 BadRequest: the name of the object (t) does not match the name on the URL (a)
    409 Conflict: Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again
    422 Invalid:  "" is invalid: patch: Invalid value: "{\"apiVersion\":\"v1\",\"data\":{\"x\":\"y\"},\"kind\":\"Secret\",\"metadata\":{\"creationTimestamp\":\"2026-01-02T03:04:05Z\",\"managedFields\":[{\
    422 Invalid: PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch
    422 Invalid: PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch
    409 Conflict: Apply failed with 1 conflict: conflict with "test" using v1: .data.x
    500 : failed to create typed patch object: json: cannot unmarshal number into Go struct field ConfigMap.data of type map[string]string
    400 BadRequest: Incorrect version specified in apply patch. Specified patch version: , expected: v1
    500 : failed to create typed patch object: .foo: field not declared in schema
    400 BadRequest: error decoding YAML: a manifest is an object
    "#
    );
}

#[test]
fn update_of_lease_creates_it_and_requires_resource_version() {
    let cluster = Cluster::new();
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
    let lease =
        |holder: &str| json!({ "metadata": { "name": "l" }, "spec": { "holderIdentity": holder } });
    assert_eq!(cluster.put(leases, &lease("a")).0, 201);
    assert_eq!(
        line(&cluster.put(leases, &lease("b"))),
        "422 Invalid: leases.coordination.k8s.io \"l\" is invalid: metadata.resourceVersion: \
         Invalid value: 0x0: must be specified for an update"
    );
}

#[test]
fn patch_by_concurrent_writers_keeps_all_changes() {
    let cluster = with_map();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let cluster = &cluster;
            scope.spawn(move || {
                for count in 0..20 {
                    let patch = json!({ "data": { format!("k{writer}-{count}"): "v" } });
                    assert_eq!(cluster.patch(MAP, Merge, &patch).0, 200);
                }
            });
        }
    });
    assert_eq!(cluster.get(MAP).1["data"].as_object().unwrap().len(), 8 * 20 + 1);
}

#[test]
fn scale_of_deployment_reads_and_updates_replicas() {
    let cluster = Cluster::new();
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let labels = json!({ "a": "b" });
    cluster.made(deployments, &json!({
        "metadata": { "name": "d" },
        "spec": {
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "a", "image": "b" }] } },
        },
    }));
    let scale = format!("{deployments}/d/scale");
    let (code, read) = cluster.get(&scale);
    assert_eq!(
        (code, &read["spec"], &read["status"]["selector"]),
        (200, &json!({ "replicas": 1 }), &json!("a=b"))
    );
    let mut wanted = read.clone();
    wanted["spec"]["replicas"] = json!(4);
    assert_eq!(cluster.put(&scale, &wanted).1["spec"]["replicas"], 4);
    let (_, deployment) = cluster.get(&format!("{deployments}/d"));
    assert_eq!(
        (&deployment["spec"]["replicas"], &deployment["metadata"]["generation"]),
        (&json!(4), &json!(2))
    );
    assert_eq!(cluster.put(&scale, &wanted).0, 409);
    assert_snapshot!(
        [
            line(&cluster.put(&scale, &json!({ "metadata": { "name": "d" }, "spec": { "replicas": -1 } }))),
            line(&cluster.get(&format!("{deployments}/zz/scale"))),
        ].join("\n"),
        @r#"
    422 Invalid: Scale.autoscaling "d" is invalid: [metadata.namespace: Required value, spec.replicas: Invalid value: -1: must be greater than or equal to 0]
    404 NotFound: deployments/scale.apps "zz" not found
    "#
    );
}

#[test]
fn invalid_creates_are_refused() {
    let cluster = Cluster::new();
    cluster.made(MAPS, &json!({ "metadata": { "name": "a" } }));
    let refused = |object| line(&cluster.post(MAPS, &object));
    assert_snapshot!(
        [
            refused(json!({ "metadata": { "name": "a" } })),
            refused(json!({ "metadata": {} })),
            refused(json!({ "metadata": { "name": "b", "resourceVersion": "1" } })),
            refused(json!({ "metadata": { "name": "b", "namespace": "other" } })),
            refused(json!({ "kind": "Secret", "apiVersion": "v1", "metadata": { "name": "b" } })),
        ].join("\n"),
        @r#"
    409 AlreadyExists: configmaps "a" already exists
    422 Invalid: ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required
    500 : resourceVersion should not be set on objects to be created
    400 BadRequest: the namespace of the provided object does not match the namespace sent on the request
    400 BadRequest: Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion
    "#
    );
}
