//! Objects of built-in kinds whose tables are compared.

use serde_json::{Value, json};

use super::pods;

/// Path and object to create.
pub(super) type Created = (String, Value);

pub(super) fn namespaced(namespace: &str) -> Vec<Created> {
    let path = |prefix: &str, plural: &str| format!("{prefix}/namespaces/{namespace}/{plural}");
    let mut all = Vec::new();
    for (prefix, plural, objects) in [
        ("/api/v1", "configmaps", config_maps()),
        (
            "/api/v1",
            "secrets",
            vec![named("s", json!({ "type": "fairway.test/x", "stringData": { "a": "b" } }))],
        ),
        ("/api/v1", "services", services()),
        ("/api/v1", "pods", pods::all()),
        ("/api/v1", "events", core_events(namespace)),
        ("/apis/events.k8s.io/v1", "events", new_events(namespace)),
        ("/apis/apps/v1", "deployments", vec![workload("d", json!({ "replicas": 0 }))]),
        ("/apis/apps/v1", "replicasets", vec![workload("r", json!({ "replicas": 0 }))]),
        ("/apis/apps/v1", "daemonsets", vec![workload("d", json!({}))]),
        ("/apis/batch/v1", "jobs", jobs()),
        ("/apis/coordination.k8s.io/v1", "leases", leases()),
        ("/apis/rbac.authorization.k8s.io/v1", "roles", vec![named("r", json!({ "rules": [] }))]),
        ("/apis/rbac.authorization.k8s.io/v1", "rolebindings", vec![binding(namespace)]),
    ] {
        all.extend(objects.into_iter().map(|object| (path(prefix, plural), object)));
    }
    all
}

/// Cluster-scoped objects have the name of the namespace, which is unique to this test.
pub(super) fn cluster_wide(name: &str) -> Vec<Created> {
    let class = json!({
        "provisioner": "fairway.test/none", "allowVolumeExpansion": true,
        "metadata": { "annotations": { "storageclass.beta.kubernetes.io/is-default-class": "true" } },
    });
    let rules = json!([{ "apiGroups": ["fairway.test"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothing"] }]);
    let webhook = json!({ "webhooks": [{
        "name": "nothing.fairway.test", "rules": rules, "failurePolicy": "Ignore", "sideEffects": "None",
        "admissionReviewVersions": ["v1"], "clientConfig": { "url": "https://127.0.0.1:1/nothing" },
    }] });
    [
        ("/apis/storage.k8s.io/v1/storageclasses", class),
        ("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", webhook.clone()),
        ("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", webhook),
    ]
    .into_iter()
    .map(|(path, object)| (path.to_owned(), named(name, object)))
    .collect()
}

pub(super) fn named(name: &str, mut object: Value) -> Value {
    object["metadata"]["name"] = json!(name);
    object
}

fn config_maps() -> Vec<Value> {
    vec![
        named("empty", json!({})),
        named("full", json!({ "data": { "a": "1", "b": "2" }, "binaryData": { "c": "AA==" } })),
    ]
}

fn services() -> Vec<Value> {
    let ports =
        json!([{ "name": "a", "port": 80 }, { "name": "b", "port": 53, "protocol": "UDP" }]);
    let service = |name: &str, spec: Value| named(name, json!({ "spec": spec }));
    vec![
        service("plain", json!({ "ports": ports, "selector": { "b": "c", "a": "b" } })),
        service("headless", json!({ "clusterIP": "None" })),
        service("node", json!({ "ports": ports, "type": "NodePort" })),
        service("name", json!({ "type": "ExternalName", "externalName": "fairway.test" })),
        service("external", json!({ "ports": ports, "externalIPs": ["192.0.2.1", "192.0.2.2"] })),
        service("pending", json!({ "ports": [ports[0]], "type": "LoadBalancer" })),
        named(
            "balanced",
            json!({
                "spec": { "ports": [ports[0]], "type": "LoadBalancer", "externalIPs": ["192.0.2.3"] },
                "status": { "loadBalancer": { "ingress": [{ "ip": "192.0.2.9" }, { "hostname": "a.fairway.test" }] } },
            }),
        ),
    ]
}

fn core_events(namespace: &str) -> Vec<Value> {
    let object =
        json!({ "kind": "Pod", "namespace": namespace, "name": "p", "fieldPath": "spec.x" });
    let event = |name: &str, mut more: Value| {
        more["involvedObject"] = object.clone();
        named(name, more)
    };
    vec![
        event(
            "old",
            json!({
                "type": "Normal", "reason": "Done", "message": " it is done \n", "count": 3,
                "source": { "component": "c", "host": "h" },
                "firstTimestamp": "2020-01-01T00:00:00Z", "lastTimestamp": "2020-02-01T00:00:00Z",
            }),
        ),
        event("bare", json!({})),
        event(
            "counted-twice",
            json!({
                "count": 3, "series": { "count": 5, "lastObservedTime": "2020-03-01T00:00:00.000000Z" },
            }),
        ),
        named("anonymous", json!({ "involvedObject": { "kind": "Node", "namespace": namespace } })),
    ]
}

fn new_events(namespace: &str) -> Vec<Value> {
    let event = |name: &str, series: Value| {
        named(
            name,
            json!({
                "regarding": { "kind": "Pod", "namespace": namespace, "name": "p" }, "type": "Warning",
                "reason": "Bad", "action": "Look", "note": "it is bad", "series": series,
                "reportingController": "fairway.test/c", "reportingInstance": "i",
                "eventTime": "2020-01-01T00:00:00.000000Z",
            }),
        )
    };
    let series = json!({ "count": 5, "lastObservedTime": "2020-03-01T00:00:00.000000Z" });
    vec![event("new", Value::Null), event("series", series)]
}

fn workload(name: &str, mut spec: Value) -> Value {
    spec["selector"] = json!({
        "matchLabels": { "b": "c" },
        "matchExpressions": [
            { "key": "a", "operator": "Exists" },
            { "key": "c", "operator": "In", "values": ["z", "y"] },
            { "key": "d", "operator": "DoesNotExist" },
            { "key": "e", "operator": "NotIn", "values": ["x"] },
        ],
    });
    spec["template"] = json!({
        "metadata": { "labels": { "a": "1", "b": "c", "c": "y" } },
        "spec": {
            "nodeSelector": { "no": "where" },
            "containers": [{ "name": "x", "image": "i:x" }, { "name": "y", "image": "i:y" }],
        },
    });
    named(name, json!({ "spec": spec }))
}

fn jobs() -> Vec<Value> {
    let job = |name: &str, mut spec: Value, status: Value| {
        spec["template"] = json!({ "spec": {
            "schedulerName": "none", "restartPolicy": "Never",
            "containers": [{ "name": "x", "image": "i" }],
        } });
        named(name, json!({ "spec": spec, "status": status }))
    };
    let done = json!({
        "succeeded": 3, "startTime": "2020-01-01T00:00:00Z", "completionTime": "2020-01-01T00:02:05Z",
    });
    vec![
        job("none", json!({ "parallelism": 0 }), json!({})),
        job("counted", json!({ "completions": 3, "parallelism": 0 }), done),
        job(
            "parallel",
            json!({ "parallelism": 2 }),
            json!({ "startTime": "2020-01-01T00:00:00Z" }),
        ),
    ]
}

fn leases() -> Vec<Value> {
    vec![
        named("free", json!({ "spec": {} })),
        named("held", json!({ "spec": { "holderIdentity": "me" } })),
    ]
}

fn binding(namespace: &str) -> Value {
    let group = "rbac.authorization.k8s.io";
    named(
        "b",
        json!({
            "roleRef": { "apiGroup": group, "kind": "Role", "name": "r" },
            "subjects": [
                { "apiGroup": group, "kind": "User", "name": "ann" },
                { "apiGroup": group, "kind": "User", "name": "bob" },
                { "apiGroup": group, "kind": "Group", "name": "all" },
                { "kind": "ServiceAccount", "name": "robot", "namespace": namespace },
            ],
        }),
    )
}
