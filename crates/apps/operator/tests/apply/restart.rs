//! An applier after a restart.

use anyhow::Result;
use fairway_operator::apply::ApplyOutcome;
use fairway_testkit::AuditEvent;
use serde_json::{Value, json};

use crate::fixture::ApplyFixture;

/// Objects of several kinds, with fields that API servers change.
fn objects(fixture: &ApplyFixture) -> Vec<Value> {
    let namespace = fixture.namespace.name();
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
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": fixture.unique("a")},
            "rules": rules,
        }),
    ]
}

/// Requests of the applier: its user is not a component of the cluster.
fn requests(fixture: &ApplyFixture, events: Vec<AuditEvent>) -> Vec<AuditEvent> {
    let ours = |event: &AuditEvent| {
        let object = event.object_ref.clone().unwrap_or_default();
        !event.user.username.starts_with("system:")
            && (object.namespace == fixture.namespace.name()
                || object.name.starts_with(fixture.namespace.name()))
    };
    events.into_iter().filter(ours).collect()
}

#[tokio::test]
async fn restart_sends_no_request_for_objects() -> Result<()> {
    let mut fixture = ApplyFixture::prepare().await?;
    let objects = objects(&fixture);
    for object in &objects {
        assert_eq!(fixture.apply(object).await?, ApplyOutcome::Written, "{object}");
        assert_eq!(fixture.apply(object).await?, ApplyOutcome::Unchanged, "{object}");
    }
    let log = fixture.cluster.audit_log()?;
    let mark = log.mark()?;
    fixture.restart();
    for object in &objects {
        assert_eq!(fixture.apply(object).await?, ApplyOutcome::Unchanged, "{object}");
    }
    let requests: Vec<String> =
        requests(&fixture, log.since(mark)?).iter().map(ToString::to_string).collect();
    assert_eq!(requests, Vec::<String>::new());
    Ok(())
}
