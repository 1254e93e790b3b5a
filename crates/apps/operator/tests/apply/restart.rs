//! An applier that begins anew finds everything in place.

use anyhow::Result;
use fairway_operator::apply::Outcome;
use fairway_testkit::AuditEvent;
use serde_json::{Value, json};

use crate::ground::Ground;

/// Objects of many kinds, with what servers change about them.
fn objects(ground: &Ground) -> Vec<Value> {
    let namespace = ground.namespace.name();
    let metadata = |name: &str| json!({"name": name, "namespace": namespace});
    let pod = json!({
        "metadata": {"labels": {"app": "a"}},
        "spec": {
            "containers": [{
                "name": "c", "image": "localhost/none", "command": ["sleep"],
                "ports": [{"containerPort": 80}], "env": [{"name": "A", "value": "1"}, {"name": "EMPTY", "value": ""}],
                "resources": {"requests": {"cpu": 0.01, "memory": "0.5Gi"}},
                "volumeMounts": [{"name": "v", "mountPath": "/v"}],
            }],
            "volumes": [{"name": "v", "emptyDir": {}}],
            "tolerations": [{"operator": "Exists"}],
        },
    });
    let selector = json!({"matchLabels": {"app": "a"}});
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]);
    vec![
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata("a")}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata("a"), "data": {"a": "1", "empty": ""}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata("a"), "type": "Opaque", "data": {"a": "MQ=="}}),
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": metadata("a"),
            "spec": {"selector": {"app": "a"}, "ports": [{"name": "web", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}]},
        }),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata("a"), "spec": {"replicas": 0, "selector": selector, "template": pod}}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata("a"), "rules": rules}),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": metadata("a"),
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"},
            "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": namespace}],
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": ground.unique("a")},
            "rules": rules,
        }),
    ]
}

/// What the applier asked for: its account is no part of the cluster itself.
fn asked(ground: &Ground, events: Vec<AuditEvent>) -> Vec<AuditEvent> {
    let ours = |event: &AuditEvent| {
        let object = event.object_ref.clone().unwrap_or_default();
        !event.user.username.starts_with("system:")
            && (object.namespace == ground.namespace.name()
                || object.name.starts_with(ground.namespace.name()))
    };
    events.into_iter().filter(ours).collect()
}

#[tokio::test]
async fn a_restart_writes_nothing_and_asks_for_no_object() -> Result<()> {
    let mut ground = Ground::prepare().await?;
    let objects = objects(&ground);
    for object in &objects {
        assert_eq!(ground.apply(object).await?, Outcome::Written, "{object}");
        assert_eq!(ground.apply(object).await?, Outcome::Right, "{object}");
    }
    let log = ground.cluster.audit_log()?;
    let mark = log.mark()?;
    ground.restart();
    for object in &objects {
        assert_eq!(ground.apply(object).await?, Outcome::Right, "{object}");
    }
    let asked: Vec<String> =
        asked(&ground, log.since(mark)?).iter().map(ToString::to_string).collect();
    assert_eq!(asked, Vec::<String>::new());
    Ok(())
}
