//! Objects of built-in kinds whose tables are compared.

use fairway_sandbox::catalog::Resource;
use serde_json::{Value, json};

use super::pods;

/// The version in which Kubernetes 1.20 serves a built-in resource.
pub(super) fn version(resource: &Resource) -> &'static str {
    match resource.plural.as_str() {
        "cronjobs" | "poddisruptionbudgets" => "v1beta1",
        _ => "v1",
    }
}

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
        ("/api/v1", "endpoints", endpoints()),
        ("/api/v1", "pods", pods::all()),
        ("/api/v1", "events", core_events(namespace)),
        (
            "/api/v1",
            "persistentvolumeclaims",
            vec![claim("unbound", None), claim("bound", Some("volume"))],
        ),
        ("/api/v1", "resourcequotas", vec![quota()]),
        ("/api/v1", "limitranges", vec![named("l", json!({ "spec": { "limits": [] } }))]),
        ("/apis/events.k8s.io/v1", "events", new_events(namespace)),
        ("/apis/apps/v1", "deployments", vec![workload("d", json!({ "replicas": 0 }))]),
        ("/apis/apps/v1", "replicasets", vec![workload("r", json!({ "replicas": 0 }))]),
        (
            "/apis/apps/v1",
            "statefulsets",
            vec![workload("s", json!({ "replicas": 0, "serviceName": "s" }))],
        ),
        ("/apis/apps/v1", "daemonsets", vec![workload("d", json!({}))]),
        ("/apis/batch/v1", "jobs", jobs()),
        ("/apis/batch/v1beta1", "cronjobs", cron_jobs()),
        ("/apis/coordination.k8s.io/v1", "leases", leases()),
        ("/apis/policy/v1beta1", "poddisruptionbudgets", budgets()),
        ("/apis/networking.k8s.io/v1", "networkpolicies", policies()),
        ("/apis/networking.k8s.io/v1", "ingresses", ingresses()),
        ("/apis/rbac.authorization.k8s.io/v1", "roles", vec![named("r", json!({ "rules": [] }))]),
        ("/apis/rbac.authorization.k8s.io/v1", "rolebindings", vec![binding(namespace)]),
    ] {
        all.extend(objects.into_iter().map(|object| (path(prefix, plural), object)));
    }
    all
}

/// Cluster-scoped objects have the name of the namespace, which is unique to this test.
pub(super) fn cluster_wide(name: &str) -> Vec<Created> {
    let volume = json!({ "spec": {
        "capacity": { "storage": "1Gi" }, "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
        "hostPath": { "path": "/nonexistent" }, "storageClassName": "slow",
        "claimRef": { "namespace": "nowhere", "name": "nothing" },
    } });
    let class = json!({
        "provisioner": "fairway.test/none", "allowVolumeExpansion": true,
        "metadata": { "annotations": { "storageclass.beta.kubernetes.io/is-default-class": "true" } },
    });
    let ingress_class = json!({ "spec": {
        "controller": "fairway.test/none",
        "parameters": { "apiGroup": "fairway.test", "kind": "P", "name": "p" },
    } });
    let rules = json!([{ "apiGroups": ["fairway.test"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothing"] }]);
    let webhook = json!({ "webhooks": [{
        "name": "nothing.fairway.test", "rules": rules, "failurePolicy": "Ignore", "sideEffects": "None",
        "admissionReviewVersions": ["v1"], "clientConfig": { "url": "https://127.0.0.1:1/nothing" },
    }] });
    [
        ("/api/v1/persistentvolumes", volume),
        ("/apis/storage.k8s.io/v1/storageclasses", class),
        ("/apis/scheduling.k8s.io/v1/priorityclasses", json!({ "value": 7 })),
        ("/apis/networking.k8s.io/v1/ingressclasses", ingress_class),
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

fn endpoints() -> Vec<Value> {
    let addresses = json!([{ "ip": "192.0.2.1" }, { "ip": "2001:db8::1" }]);
    let with = |name: &str, subsets: Value| named(name, json!({ "subsets": subsets }));
    vec![
        with("nothing", json!([])),
        with("bare", json!([{ "addresses": addresses }])),
        with("ported", json!([{ "addresses": addresses, "ports": [{ "name": "a", "port": 1 }] }])),
        with(
            "many",
            json!([{ "addresses": addresses, "ports": [{ "name": "a", "port": 1 }, { "name": "b", "port": 2 }] }]),
        ),
        with("unready", json!([{ "notReadyAddresses": addresses, "ports": [{ "port": 1 }] }])),
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

fn claim(name: &str, volume: Option<&str>) -> Value {
    named(
        name,
        json!({ "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } },
        "storageClassName": "nothing", "volumeName": volume,
    } }),
    )
}

fn quota() -> Value {
    named(
        "q",
        json!({
            "spec": { "hard": { "count/widgets.fairway.test": "5", "limits.cpu": "4", "limits.memory": "1Gi" } },
            "status": {
                "hard": { "count/widgets.fairway.test": "5", "limits.cpu": "4", "limits.memory": "1Gi" },
                "used": { "limits.cpu": "1" },
            },
        }),
    )
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
        spec["template"] = job_template();
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

fn job_template() -> Value {
    json!({ "spec": {
        "schedulerName": "none", "restartPolicy": "Never",
        "containers": [{ "name": "x", "image": "i" }],
    } })
}

fn cron_jobs() -> Vec<Value> {
    let job = |name: &str, suspend: Value, status: Value| {
        let template = json!({ "spec": { "template": job_template() } });
        let spec = json!({ "schedule": "0 0 1 1 *", "suspend": suspend, "jobTemplate": template });
        named(name, json!({ "spec": spec, "status": status }))
    };
    vec![
        job("never", json!(true), json!({})),
        job("once", Value::Null, json!({ "lastScheduleTime": "2020-01-01T00:00:00Z" })),
    ]
}

fn leases() -> Vec<Value> {
    vec![
        named("free", json!({ "spec": {} })),
        named("held", json!({ "spec": { "holderIdentity": "me" } })),
    ]
}

fn budgets() -> Vec<Value> {
    let budget = |name: &str, mut spec: Value| {
        spec["selector"] = json!({ "matchLabels": { "no": "thing" } });
        named(name, json!({ "spec": spec }))
    };
    vec![
        budget("least", json!({ "minAvailable": 2 })),
        budget("most", json!({ "maxUnavailable": "50%" })),
    ]
}

fn policies() -> Vec<Value> {
    vec![
        named("all", json!({ "spec": { "podSelector": {} } })),
        named("some", json!({ "spec": { "podSelector": { "matchLabels": { "a": "b" } } } })),
    ]
}

fn ingresses() -> Vec<Value> {
    let backend = json!({ "service": { "name": "s", "port": { "number": 80 } } });
    let rule = |host: &str| json!({ "host": host, "http": { "paths": [{ "path": "/", "pathType": "Prefix", "backend": backend }] } });
    let hosts: Vec<_> = ["a.x", "b.x", "c.x", "d.x", "e.x"].map(rule).into();
    vec![
        named("bare", json!({ "spec": { "defaultBackend": backend } })),
        named(
            "full",
            json!({
                "spec": { "ingressClassName": "c", "rules": hosts, "tls": [{ "hosts": ["a.x"] }] },
                "status": { "loadBalancer": { "ingress": [{ "ip": "192.0.2.9" }, { "hostname": "a.fairway.test" }] } },
            }),
        ),
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
