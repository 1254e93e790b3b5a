//! Checks that request more permissions than a check may have, in every release of a platform.

use std::collections::BTreeMap;

use fairway_findings::vet;
use serde_json::{Value, json};

/// Never pulled: the pod is never created.
const IMAGE: &str = "registry.example/unsafe@sha256:1111111111111111111111111111111111111111111111111111111111111111";

/// The checks, and the reason for which each is refused.
pub(crate) const REFUSALS: [(&str, &str); 5] = [
    ("unsafe-privileges", "securityContext.privileged: a check must not be privileged"),
    ("unsafe-disk", "volumes[0].hostPath: a check may have only emptyDir volumes"),
    ("unsafe-account", "serviceAccountName: a check must use its own ServiceAccount"),
    ("unsafe-secret", "volumes[0].secret: a check may have only emptyDir volumes"),
    ("unsafe-role", "rules[0].verbs[1]: a check may only get, list and watch"),
];

/// Their manifests, by path in a release image.
pub(crate) fn manifests() -> BTreeMap<String, String> {
    let pod = "/spec/template/spec";
    let volume = |volume: Value| (format!("{pod}/volumes"), json!([volume]));
    let requests = [
        (format!("{pod}/containers/0/securityContext"), json!({ "privileged": true })),
        volume(json!({ "name": "disk", "hostPath": { "path": "/" } })),
        (format!("{pod}/serviceAccountName"), json!("cluster-version-operator")),
        volume(json!({ "name": "secret", "secret": { "secretName": "pull-secret" } })),
        (format!("{pod}/serviceAccountName"), json!("unsafe-role")),
    ];
    let mut manifests = BTreeMap::new();
    for ((name, _), (path, value)) in REFUSALS.into_iter().zip(requests) {
        let mut job = object("batch/v1", "Job", name, json!({}));
        job["spec"] = json!({ "template": { "spec": {
            "restartPolicy": "Never",
            "containers": [{ "name": "preflight", "image": IMAGE, "command": ["/bin/preflight"] }],
        } } });
        let (parent, field) = path.rsplit_once('/').unwrap_or_default();
        job.pointer_mut(parent).expect("a field of a Job")[field] = value;
        let rbac = if name == "unsafe-role" { writing_role(name) } else { Vec::new() };
        let objects: Vec<String> =
            rbac.into_iter().chain([job]).map(|object| object.to_string()).collect();
        let file = format!("release-manifests/0000_95_{name}_40-preflight.yaml");
        manifests.insert(file, objects.join("\n---\n"));
    }
    manifests
}

/// A ServiceAccount with a Role that permits writes.
fn writing_role(name: &str) -> Vec<Value> {
    const RBAC: &str = "rbac.authorization.k8s.io/v1";
    let grants =
        json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "update"] });
    let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name });
    let subject =
        json!({ "kind": "ServiceAccount", "name": name, "namespace": "openshift-config" });
    vec![
        object("v1", "ServiceAccount", name, json!({})),
        object(RBAC, "Role", name, json!({ "rules": [grants] })),
        object(RBAC, "RoleBinding", name, json!({ "roleRef": role, "subjects": [subject] })),
    ]
}

fn object(version: &str, kind: &str, name: &str, rest: Value) -> Value {
    let mut object = rest;
    object["apiVersion"] = json!(version);
    object["kind"] = json!(kind);
    object["metadata"] = json!({
        "name": name, "namespace": "openshift-config",
        "annotations": {
            vet::ANNOTATION: "true",
            "include.release.openshift.io/self-managed-high-availability": "true",
        },
    });
    object
}
