//! Field ownership of applied objects.

use anyhow::{Context as _, Result};
use fairway_operator::apply::ApplyOutcome;
use fairway_testkit::recorded;
use serde_json::{Value, json};

use crate::fixture::ApplyFixture;

#[tokio::test]
async fn apply_of_unchanged_object_writes_once() -> Result<()> {
    let fixture = ApplyFixture::prepare().await?;
    let object = fixture.config_map("a", &json!({"a": "1"}));
    assert_eq!(fixture.apply(&object).await?, ApplyOutcome::Written);
    assert_eq!(fixture.apply(&object).await?, ApplyOutcome::Unchanged);
    let live = fixture.live(&object).await?;
    assert_eq!(live["data"], json!({"a": "1"}));
    assert_eq!(live["metadata"]["labels"], json!({"fairway.dev/managed": "true"}));
    assert_eq!(live["metadata"]["ownerReferences"][0]["uid"], fixture.context.owner.uid);
    Ok(())
}

#[tokio::test]
async fn apply_removes_leftovers_and_keeps_foreign_fields() -> Result<()> {
    let fixture = ApplyFixture::prepare().await?;
    let before = fixture.config_map("a", &json!({"kept": "1", "dropped": "1"}));
    fixture.apply(&before).await?;
    fixture
        .edit(&before, &json!({"data": {"foreign": "7"}, "metadata": {"labels": {"x": "y"}}}))
        .await?;
    let after = fixture.config_map("a", &json!({"kept": "2"}));
    assert_eq!(fixture.apply(&after).await?, ApplyOutcome::Written);
    let live = fixture.live(&after).await?;
    assert_eq!(live["data"], json!({"kept": "2", "foreign": "7"}));
    assert_eq!(live["metadata"]["labels"]["x"], "y");
    assert_eq!(fixture.apply(&after).await?, ApplyOutcome::Unchanged);
    Ok(())
}

#[tokio::test]
async fn apply_takes_over_fields_of_earlier_operators() -> Result<()> {
    for manager in ["cluster-version-operator", "fairway"] {
        let fixture = ApplyFixture::prepare().await?;
        let before = fixture.config_map("a", &json!({"kept": "1", "dropped": "1"}));
        fixture.create(&before, manager).await?;
        fixture.edit(&before, &json!({"data": {"foreign": "7"}})).await?;
        let after = fixture.config_map("a", &json!({"kept": "1"}));
        assert_eq!(fixture.apply(&after).await?, ApplyOutcome::Written, "{manager}");
        let live = fixture.live(&after).await?;
        assert_eq!(live["data"], json!({"kept": "1", "foreign": "7"}), "{manager}");
        let managers = live["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        assert!(
            managers.iter().any(|entry| entry["manager"] == "kubectl-edit"),
            "fields of other managers are kept: {managers:?}"
        );
        assert_eq!(fixture.apply(&after).await?, ApplyOutcome::Unchanged, "{manager}");
    }
    Ok(())
}

#[tokio::test]
async fn apply_keeps_fields_of_other_managers() -> Result<()> {
    let fixture = ApplyFixture::prepare().await?;
    let before = fixture.config_map("a", &json!({"ours": "old", "theirs": "1"}));
    fixture.create(&before, "installer").await?;
    let wanted = fixture.config_map("a", &json!({"ours": "new"}));
    assert_eq!(fixture.apply(&wanted).await?, ApplyOutcome::Written);
    assert_eq!(fixture.live(&wanted).await?["data"], json!({"ours": "new", "theirs": "1"}));
    Ok(())
}

#[tokio::test]
async fn apply_leaves_aggregated_rules_alone() -> Result<()> {
    let fixture = ApplyFixture::prepare().await?;
    let label = fixture.unique("gathered");
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": fixture.unique("all")},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"for": label}}]},
        "rules": [],
    });
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    assert_eq!(fixture.apply(&role).await?, ApplyOutcome::Written);
    // Like the controller that aggregates rules.
    fixture.edit(&role, &json!({"rules": rules})).await?;
    assert_eq!(fixture.apply(&role).await?, ApplyOutcome::Unchanged);
    assert_eq!(fixture.live(&role).await?["aggregationRule"], role["aggregationRule"]);
    Ok(())
}

#[tokio::test]
async fn apply_of_cluster_scoped_kind_ignores_namespace() -> Result<()> {
    let fixture = ApplyFixture::prepare().await?;
    let mut role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": fixture.unique("a")},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    });
    let bare = role.clone();
    role["metadata"]["namespace"] = json!("nowhere");
    assert_eq!(fixture.apply(&role).await?, ApplyOutcome::Written);
    assert_eq!(fixture.apply(&role).await?, ApplyOutcome::Unchanged);
    assert!(fixture.get(&bare).await?.is_some());
    Ok(())
}

const INCLUDED: &str = "include.release.openshift.io/self-managed-high-availability";

/// The annotation has the fields that were applied before, and so those to remove.
#[tokio::test]
async fn object_with_last_applied_of_v0_1_loses_leftovers() -> Result<()> {
    let fixture = ApplyFixture::prepare().await?;
    let before = recorded::v0_1().json("annotated-objects/replaced-deployment.json");
    let spec = &before["spec"];
    let object = |annotations: &Value| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "repeating", "namespace": fixture.namespace.name(),
                "annotations": annotations, "labels": before["metadata"]["labels"],
            },
            "spec": spec,
        })
    };
    let mut annotations = before["metadata"]["annotations"].clone();
    annotations.as_object_mut().context("no annotations")?.insert("by".into(), json!("others"));
    fixture.create(&object(&annotations), "fairway").await?;

    let note: Value =
        serde_json::from_str(annotations["fairway.dev/last-applied"].as_str().context("no note")?)?;
    let mut wanted = note["object"].clone();
    wanted["metadata"] = json!({"name": "repeating", "namespace": fixture.namespace.name()});
    assert_eq!(fixture.apply(&wanted).await?, ApplyOutcome::Written);
    let live = fixture.live(&wanted).await?;
    let annotations = &live["metadata"]["annotations"];
    assert_eq!(annotations.get(INCLUDED), None, "a leftover");
    assert_eq!(annotations["by"], "others", "a field of another client");
    let env = &live["spec"]["template"]["spec"]["containers"][0]["env"];
    assert_eq!(env.as_array().map(Vec::len), Some(2));
    assert_eq!(fixture.apply(&wanted).await?, ApplyOutcome::Unchanged);
    Ok(())
}
