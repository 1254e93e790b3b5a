//! Drift correction of managed objects.

use anyhow::Result;
use fairway_operator::apply::ApplyOutcome;
use fairway_testkit::{AuditEvent, wait};
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};

use crate::fixture::{ApplyFixture, await_change, manifest};

#[tokio::test]
async fn edit_of_managed_object_is_corrected() -> Result<()> {
    let fixture = ApplyFixture::prepare().await?;
    let object = fixture.config_map("a", &json!({"a": "1"}));
    fixture.apply(&object).await?;
    let mut changes = fixture.applier.changes();
    for patch in [
        json!({"data": {"a": "2"}}),
        json!({"data": {"a": null}}),
        json!({"metadata": {"ownerReferences": null}}),
        json!({"metadata": {"labels": {"fairway.dev/managed": "false"}}}),
        json!({"metadata": {"labels": {"fairway.dev/managed": null}}}),
    ] {
        fixture.edit(&object, &patch).await?;
        fixture.until_repaired(&mut changes, &object).await?;
        let live = fixture.live(&object).await?;
        assert_eq!(live["data"], json!({"a": "1"}), "{patch}");
        assert_eq!(live["metadata"]["labels"]["fairway.dev/managed"], "true", "{patch}");
        assert_eq!(live["metadata"]["ownerReferences"][0]["controller"], true, "{patch}");
    }
    Ok(())
}

#[tokio::test]
async fn edit_of_foreign_field_is_left_alone() -> Result<()> {
    let fixture = ApplyFixture::prepare().await?;
    let object = fixture.config_map("a", &json!({"a": "1"}));
    fixture.apply(&object).await?;
    let mut changes = fixture.applier.changes();
    fixture.edit(&object, &json!({"data": {"foreign": "2"}})).await?;
    await_change(&mut changes, &object).await?;
    assert_eq!(fixture.apply(&object).await?, ApplyOutcome::Unchanged);
    let live = fixture.applier.live(&manifest(&object)).map(|live| live.object());
    assert_eq!(live.map(|live| live["data"]["foreign"].clone()), Some(json!("2")));
    Ok(())
}

#[tokio::test]
async fn deletion_of_managed_object_is_corrected() -> Result<()> {
    let fixture = ApplyFixture::prepare().await?;
    let object = fixture.config_map("a", &json!({"a": "1"}));
    fixture.apply(&object).await?;
    let mut changes = fixture.applier.changes();
    fixture.delete(&object).await?;
    fixture.until_repaired(&mut changes, &object).await?;
    assert_eq!(fixture.live(&object).await?["data"], json!({"a": "1"}));
    Ok(())
}

#[tokio::test]
async fn contention_event_names_other_client() -> Result<()> {
    let fixture = ApplyFixture::prepare().await?;
    let object = fixture.config_map("a", &json!({"a": "1"}));
    fixture.apply(&object).await?;
    let mut changes = fixture.applier.changes();
    fixture.edit(&object, &json!({"data": {"a": "2"}})).await?;
    await_change(&mut changes, &object).await?;
    let live = fixture.applier.live(&manifest(&object));
    assert_eq!(live.and_then(|live| live.other_writer()), Some("kubectl-edit".to_owned()));
    fixture.applier.record_contention(&manifest(&object));
    let events: Api<Event> = fixture.namespace.api();
    let event = wait::until("an event", || async {
        let events = events.list(&ListParams::default()).await?;
        let ours = |event: &Event| {
            event.regarding.as_ref().and_then(|about| about.name.as_deref()) == Some("a")
        };
        Ok(events.into_iter().find(ours))
    })
    .await?;
    assert_eq!(event.reason.as_deref(), Some("ContendedObject"));
    assert!(event.note.is_some_and(|note| note.starts_with("\"kubectl-edit\" repeatedly changes")));
    Ok(())
}

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
