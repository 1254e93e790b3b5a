//! Patches of all types, for objects that no controller changes.

use serde_json::{Value, json};

/// Type of a patch.
#[derive(Clone, Copy, Debug)]
pub(super) enum PatchType {
    Json,
    Merge,
    Strategic,
}

/// A patch.
pub(super) struct PatchExample {
    pub(super) kind: PatchType,
    pub(super) patch: Value,
}

impl std::fmt::Display for PatchExample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let patch: String = self.patch.to_string().chars().take(300).collect();
        write!(f, "{:?} {patch}", self.kind)
    }
}

fn examples(kind: PatchType, patches: Vec<Value>) -> impl Iterator<Item = PatchExample> {
    patches.into_iter().map(move |patch| PatchExample { kind, patch })
}

/// Group and version, kind, object, and its patches.
pub(super) fn all() -> Vec<(&'static str, &'static str, Value, Vec<PatchExample>)> {
    let deployments = examples(PatchType::Strategic, pod_specs())
        .chain(examples(PatchType::Strategic, metadata()))
        .chain(examples(PatchType::Strategic, specs()))
        .chain(examples(PatchType::Merge, merges()))
        .chain(examples(PatchType::Json, operations()));
    vec![
        ("apps/v1", "Deployment", deployment(), deployments.collect()),
        ("v1", "Service", service(), examples(PatchType::Strategic, service_patches()).collect()),
        ("v1", "ConfigMap", config_map(), config_map_patches().collect()),
    ]
}

/// A paused Deployment without replicas.
fn deployment() -> Value {
    let container = |name: &str| {
        json!({
            "name": name,
            "image": "image",
            "args": ["1", "2"],
            "env": [{ "name": "A", "value": "1" }, { "name": "B", "value": "2" }],
            "ports": [{ "containerPort": 80 }, { "containerPort": 81, "protocol": "UDP" }],
        })
    };
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "patched",
            "labels": { "a": "1", "b": "2" },
            "annotations": { "x": "1" },
        },
        "spec": {
            "replicas": 0,
            "paused": true,
            "selector": { "matchLabels": { "app": "a" } },
            "template": {
                "metadata": { "labels": { "app": "a" } },
                "spec": {
                    "containers": [container("a"), container("b"), container("c")],
                    "imagePullSecrets": [{ "name": "one" }, { "name": "two" }],
                    "nodeSelector": { "no": "node" },
                    "tolerations": [{ "key": "t", "operator": "Exists" }],
                    "topologySpreadConstraints": [{
                        "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": { "matchLabels": { "app": "a" } },
                    }],
                    "volumes": [
                        { "name": "v", "emptyDir": {} },
                        { "name": "w", "configMap": { "name": "w", "items": [{ "key": "k", "path": "p" }] } },
                    ],
                },
            },
        },
    })
}

fn pod_specs() -> Vec<Value> {
    let specs = vec![
        json!({ "containers": [] }),
        json!({ "containers": null }),
        json!({ "containers": [{ "name": "n", "image": "n" }] }),
        json!({ "containers": [{ "name": "n", "image": "n" }, { "name": "b", "image": "n" }, { "name": "m", "image": "n" }] }),
        json!({ "containers": [{ "name": "c", "image": "n" }, { "name": "a", "image": "n" }] }),
        json!({ "containers": [{ "name": "a", "$patch": "delete" }, { "name": "z", "$patch": "delete" }] }),
        json!({ "containers": [{ "$patch": "replace" }, { "name": "b", "image": "n" }] }),
        json!({ "containers": [{ "$patch": "replace", "name": "b", "image": "n" }] }),
        json!({ "containers": [{ "$patch": "replace", "name": "b", "image": "n" }, { "name": "c", "image": "n" }] }),
        json!({ "containers": [{ "$patch": "merge", "name": "b" }] }),
        json!({ "containers": [{ "$patch": "invent", "name": "b" }] }),
        json!({ "containers": [{ "$patch": 1, "name": "b" }] }),
        json!({ "containers": [{ "$patch": "delete" }] }),
        json!({ "containers": [{ "image": "n" }] }),
        json!({ "containers": ["a"] }),
        json!({ "containers": [["a"]] }),
        json!({ "containers": [{ "name": "a", "args": ["9"] }] }),
        json!({ "containers": [{ "name": "a", "args": null, "env": null, "image": "n" }] }),
        json!({ "containers": [{ "name": "a", "$deleteFromPrimitiveList/args": ["1"] }] }),
        json!({ "containers": [{ "name": "a", "$setElementOrder/args": ["2", "1"] }] }),
        json!({ "containers": [{ "name": "a", "env": [{ "name": "Z", "value": "1" }, { "name": "A", "value": "9" }] }] }),
        json!({ "containers": [{ "name": "a", "env": [{ "name": "A", "value": null, "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }] }] }),
        json!({ "containers": [{ "name": "a", "env": [{ "name": "A", "$patch": "delete" }], "$setElementOrder/env": [{ "name": "B" }] }] }),
        json!({ "containers": [{ "name": "a", "ports": [{ "containerPort": 80, "name": "http" }, { "containerPort": 82 }] }] }),
        json!({ "containers": [{ "name": "a", "ports": [{ "name": "http" }] }] }),
        json!({ "containers": [{ "name": "a", "volumeMounts": [{ "name": "v", "mountPath": "/v" }], "resources": { "limits": { "cpu": "1" } } }] }),
        json!({ "containers": [{ "name": "n", "image": "n", "env": [{ "name": "Q", "value": null }, { "name": "R", "$patch": "delete" }] }] }),
        json!({ "$setElementOrder/containers": [{ "name": "c" }, { "name": "a" }] }),
        json!({ "$setElementOrder/containers": [{ "name": "c" }, { "name": "z" }, { "name": "a" }] }),
        json!({ "$setElementOrder/containers": [{ "name": "c" }, { "name": "n" }, { "name": "a" }], "containers": [{ "name": "n", "image": "n" }] }),
        json!({ "$setElementOrder/containers": [{ "name": "c" }, { "name": "a" }], "containers": [{ "name": "b", "$patch": "delete" }] }),
        json!({ "$setElementOrder/containers": [{ "name": "c" }, { "name": "a" }], "containers": [{ "name": "a" }, { "name": "c" }] }),
        json!({ "$setElementOrder/containers": [{ "name": "c" }], "containers": [{ "name": "n" }] }),
        json!({ "$setElementOrder/containers": "x" }),
        json!({ "$setElementOrder/containers": ["x"] }),
        json!({ "$setElementOrder/containers": [{ "image": "x" }] }),
        json!({ "$setElementOrder/hostAliases": [{ "ip": "1.1.1.1" }], "hostAliases": [{ "ip": "2.2.2.2" }] }),
        json!({ "$setElementOrder/hostAliases": [{ "ip": "1.1.1.1" }, { "ip": "2.2.2.2" }], "hostAliases": [{ "ip": "1.1.1.1", "hostnames": ["a"] }] }),
        json!({ "imagePullSecrets": [{ "name": "three" }, { "name": "one", "$patch": "delete" }] }),
        json!({ "nodeSelector": { "more": "1" } }),
        json!({ "nodeSelector": { "$patch": "replace", "more": "1" } }),
        json!({ "nodeSelector": null }),
        json!({ "tolerations": [{ "key": "u", "operator": "Exists" }] }),
        json!({ "tolerations": [{ "key": "u", "operator": "Exists", "$patch": "delete" }] }),
        json!({ "tolerations": [] }),
        json!({ "topologySpreadConstraints": [{ "topologyKey": "zone", "maxSkew": 2, "labelSelector": { "matchLabels": { "b": "2" } } }] }),
        json!({ "topologySpreadConstraints": [{ "topologyKey": "host", "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule" }] }),
        json!({ "volumes": [{ "name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": { "path": "/" } }] }),
        json!({ "volumes": [{ "name": "v", "$retainKeys": ["name", "hostPath"], "emptyDir": null, "hostPath": { "path": "/" } }] }),
        json!({ "volumes": [{ "name": "v", "$retainKeys": ["name"], "hostPath": { "path": "/" } }] }),
        json!({ "volumes": [{ "name": "v", "$retainKeys": "name" }] }),
        json!({ "volumes": [{ "name": "v", "$retainKeys": [1] }] }),
        json!({ "volumes": [{ "name": "v", "hostPath": { "path": "/" } }] }),
        json!({ "volumes": [{ "name": "w", "configMap": { "items": [{ "key": "l", "path": "q" }] } }] }),
        json!({ "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [{ "matchExpressions": [{ "key": "a", "operator": "Exists" }] }] } } } }),
        json!({ "securityContext": { "runAsUser": 1, "supplementalGroups": [1, 2] }, "terminationGracePeriodSeconds": null }),
    ];
    specs.into_iter().map(|spec| json!({ "spec": { "template": { "spec": spec } } })).collect()
}

fn metadata() -> Vec<Value> {
    let metadata = vec![
        json!({ "labels": { "c": "3", "a": null, "z": null } }),
        json!({ "labels": { "$patch": "replace", "c": "3" } }),
        json!({ "labels": { "$patch": "delete", "c": "3" } }),
        json!({ "labels": { "$patch": "merge", "c": "3" } }),
        json!({ "labels": { "$patch": "invent", "c": "3" } }),
        json!({ "labels": null, "annotations": { "y": "2" } }),
        json!({ "labels": { "$retainKeys": ["a"] } }),
        json!({ "finalizers": ["example.com/a", "example.com/b", "example.com/a"] }),
        json!({ "$deleteFromPrimitiveList/nothing": ["x"] }),
        json!({ "$deleteFromPrimitiveList/labels": ["x"] }),
        json!({ "ownerReferences": [{ "uid": "w", "apiVersion": "v1", "kind": "Node", "name": "m" }] }),
    ];
    metadata.into_iter().map(|metadata| json!({ "metadata": metadata })).collect()
}

fn specs() -> Vec<Value> {
    vec![
        json!(null),
        json!({}),
        json!([]),
        json!("x"),
        json!({ "spec": { "strategy": { "$retainKeys": ["type"], "type": "Recreate" } } }),
        json!({ "spec": { "strategy": { "type": "Recreate" } } }),
        json!({ "spec": { "strategy": { "type": "Recreate", "rollingUpdate": null } } }),
        json!({ "spec": { "selector": { "matchLabels": { "b": "2" } } } }),
        json!({ "spec": { "minReadySeconds": 5, "revisionHistoryLimit": null } }),
        json!({ "$patch": "replace", "metadata": { "name": "patched" } }),
        json!({ "$retainKeys": ["apiVersion", "kind", "metadata"] }),
        json!({ "nothing": { "known": [1] } }),
    ]
}

fn merges() -> Vec<Value> {
    vec![
        json!({}),
        json!({ "metadata": { "labels": { "a": null, "c": "3", "z": null }, "annotations": null } }),
        json!({ "metadata": { "finalizers": ["example.com/a"] } }),
        json!({ "metadata": { "ownerReferences": [] } }),
        json!({ "spec": { "template": null } }),
        json!({ "spec": { "template": { "spec": { "tolerations": null, "containers": [{ "name": "n", "image": "n" }] } } } }),
        json!({ "spec": { "template": { "spec": { "affinity": { "nodeAffinity": null, "podAffinity": {} } } } } }),
    ]
}

fn operations() -> Vec<Value> {
    let op =
        |op: &str, path: &str, value: Value| json!([{ "op": op, "path": path, "value": value }]);
    let from = |op: &str, from: &str, path: &str| json!([{ "op": op, "from": from, "path": path }]);
    let containers = "/spec/template/spec/containers";
    let new = json!({ "name": "n", "image": "n" });
    vec![
        json!(null),
        json!([]),
        json!({}),
        json!([5]),
        op("add", "/metadata/labels/c", json!("3")),
        op("add", "/metadata/labels/c~1d", json!("3")),
        op("add", "/metadata/labels/c~2", json!("3")),
        op("add", "/metadata/finalizers/0", json!("example.com/a")),
        op("add", "/metadata/finalizers", json!(["example.com/a"])),
        op("add", &format!("{containers}/-"), new.clone()),
        op("add", &format!("{containers}/0"), new.clone()),
        op("add", &format!("{containers}/3"), new.clone()),
        op("add", &format!("{containers}/4"), new.clone()),
        op("add", &format!("{containers}/-1"), new.clone()),
        op("add", &format!("{containers}/-4"), new.clone()),
        op("add", &format!("{containers}/-5"), new.clone()),
        op("add", &format!("{containers}/+1"), new.clone()),
        op("add", &format!("{containers}/x"), new),
        op("add", "/metadata/name/x", json!(1)),
        op("add", "metadata/labels/c", json!("3")),
        op("add", "", json!({})),
        op("remove", &format!("{containers}/-1"), json!(0)),
        op("remove", &format!("{containers}/01"), json!(0)),
        op("remove", &format!("{containers}/-"), json!(0)),
        op("remove", &format!("{containers}/3"), json!(0)),
        op("remove", "/metadata/labels/z", json!(0)),
        op("remove", "/metadata/nothing/z", json!(0)),
        op("remove", "", json!(0)),
        op("replace", &format!("{containers}/1/image"), json!("n")),
        op("replace", &format!("{containers}/-"), json!({})),
        op("replace", &format!("{containers}/9"), json!({})),
        from("move", "/metadata/labels/a", "/metadata/labels/z"),
        from("move", "/metadata/labels/z", "/metadata/labels/a"),
        from("move", "/metadata/labels", "/metadata/labels/a"),
        from("move", &format!("{containers}/0"), &format!("{containers}/2")),
        from("copy", "/metadata/labels", "/metadata/annotations"),
        json!([{ "op": "copy", "path": "/metadata/labels/z" }]),
        op("test", "/metadata/labels/a", json!("1")),
        op("test", "/metadata/labels/a", json!("2")),
        op("test", "/metadata/labels/z", json!(null)),
        op("test", "/metadata/labels/z", json!("1")),
        op("test", "/metadata/nothing/z", json!(null)),
        op("test", &format!("{containers}/9"), json!(null)),
        op("test", "/spec/replicas", json!(0)),
        op("test", "/spec/replicas", json!(0.0)),
        op("test", "/spec/template/spec/nodeSelector", json!({ "no": "node" })),
        op("invent", "/metadata/labels/a", json!("2")),
        json!([{ "op": "add", "value": 1 }]),
        json!([{ "path": "/metadata/labels/a", "value": "1" }]),
        json!([{ "op": "add", "path": 5, "value": "1" }]),
        json!([{ "op": "add", "path": "/metadata/labels/c", "value": "3", "more": 1 }]),
        json!([{ "op": "add", "path": "/metadata/labels/c", "value": "3" }, { "op": "remove", "path": "/x" }]),
        json!(vec![json!({ "op": "test", "path": "/metadata/labels/a", "value": "1" }); 10_001]),
        json!(
            [json!({ "op": "add", "path": "/metadata/annotations/y", "value": "y".repeat(100_000) })]
                .into_iter()
                .chain((0..40).map(|n| json!({ "op": "copy", "from": "/metadata/annotations/y", "path": format!("/metadata/annotations/{n}") })))
                .collect::<Vec<_>>()
        ),
    ]
}

fn service() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": "patched" },
        "spec": {
            "selector": { "app": "a" },
            "ports": [
                { "name": "a", "port": 80 },
                { "name": "b", "port": 81, "protocol": "UDP" },
                { "name": "c", "port": 82 },
            ],
        },
    })
}

fn service_patches() -> Vec<Value> {
    let specs = vec![
        json!({ "ports": [{ "name": "d", "port": 83 }] }),
        json!({ "ports": [{ "port": 80, "targetPort": "http" }] }),
        json!({ "ports": [{ "port": 81, "protocol": "TCP" }] }),
        json!({ "ports": [{ "port": 80, "$patch": "delete" }, { "port": 82, "targetPort": 8082 }] }),
        json!({ "ports": [{ "$patch": "replace" }, { "port": 80 }] }),
        json!({ "ports": [{ "name": "a" }] }),
        json!({ "$setElementOrder/ports": [{ "port": 82 }, { "port": 80 }] }),
        json!({ "$setElementOrder/ports": [{ "port": 80 }, { "port": 83 }, { "port": 82 }], "ports": [{ "port": 83, "name": "d" }] }),
        json!({ "selector": { "b": "2" } }),
        json!({ "selector": { "$patch": "replace", "b": "2" } }),
        json!({ "selector": null }),
        json!({ "externalIPs": ["1.2.3.4"], "sessionAffinity": "ClientIP" }),
        json!({ "ports": null }),
    ];
    specs.into_iter().map(|spec| json!({ "spec": spec })).collect()
}

const FINALIZER: &str = "foregroundDeletion";

/// A ConfigMap with a finalizer that the garbage collector removes on deletion.
fn config_map() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": "patched", "finalizers": [FINALIZER] },
        "data": { "a": "1", "b": "2" },
    })
}

fn config_map_patches() -> impl Iterator<Item = PatchExample> {
    let both = || {
        vec![
            json!({ "data": { "a": null, "c": "3", "z": null } }),
            json!({ "data": null, "binaryData": { "x": "AAEC" } }),
            json!({ "immutable": true }),
            json!({ "data": { "a": "" } }),
        ]
    };
    let directives = vec![
        json!({ "data": { "$patch": "replace", "c": "3" } }),
        json!({ "data": { "$patch": "delete" } }),
        json!({ "data": { "$retainKeys": ["b", "c"], "c": "3" } }),
    ];
    let finalizers = vec![
        json!({ "finalizers": ["example.com/a", FINALIZER, "example.com/a"] }),
        json!({ "finalizers": [FINALIZER, "example.com/a"] }),
        json!({ "finalizers": ["example.com/a"], "$setElementOrder/finalizers": [FINALIZER, "example.com/a"] }),
        json!({ "finalizers": ["example.com/a"], "$setElementOrder/finalizers": [FINALIZER] }),
        json!({ "$deleteFromPrimitiveList/finalizers": [FINALIZER, "example.com/a"] }),
        json!({ "$deleteFromPrimitiveList/finalizers": [FINALIZER], "finalizers": ["example.com/a"], "$setElementOrder/finalizers": ["example.com/a"] }),
        json!({ "$deleteFromPrimitiveList/finalizers": "example.com/a" }),
        json!({ "$deleteFromPrimitiveList/finalizers": [{ "a": 1 }] }),
        json!({ "finalizers": [1] }),
        json!({ "finalizers": [{ "$patch": "replace" }] }),
        json!({ "finalizers": [] }),
        json!({ "finalizers": null }),
    ];
    let finalizers = finalizers.into_iter().map(|metadata| json!({ "metadata": metadata }));
    let operations = vec![
        json!([{ "op": "move", "from": "/data/a", "path": "/data/c" }]),
        json!([{ "op": "remove", "path": "/data" }, { "op": "add", "path": "/data", "value": {} }]),
        json!([{ "op": "copy", "from": "/data", "path": "/data/a" }, { "op": "remove", "path": "/data/a" }]),
    ];
    examples(PatchType::Strategic, both())
        .chain(examples(PatchType::Strategic, directives))
        .chain(examples(PatchType::Strategic, finalizers.collect()))
        .chain(examples(PatchType::Merge, both()))
        .chain(examples(PatchType::Json, operations))
}
