//! Which fields of an object are ours, and which are not.

use anyhow::Result;
use fairway_operator::apply::Outcome;
use serde_json::json;

use crate::ground::Ground;

#[tokio::test]
async fn what_is_right_is_written_once() -> Result<()> {
    let ground = Ground::prepare().await?;
    let object = ground.config_map("a", &json!({"a": "1"}));
    assert_eq!(ground.apply(&object).await?, Outcome::Written);
    assert_eq!(ground.apply(&object).await?, Outcome::Right);
    let live = ground.live(&object).await?;
    assert_eq!(live["data"], json!({"a": "1"}));
    assert_eq!(live["metadata"]["labels"], json!({"fairway.dev/managed": "true"}));
    assert_eq!(live["metadata"]["ownerReferences"][0]["uid"], ground.context.owner.uid);
    Ok(())
}

#[tokio::test]
async fn what_a_later_release_no_longer_sets_is_gone_and_foreign_fields_stay() -> Result<()> {
    let ground = Ground::prepare().await?;
    let before = ground.config_map("a", &json!({"kept": "1", "dropped": "1"}));
    ground.apply(&before).await?;
    ground
        .edit(&before, &json!({"data": {"foreign": "7"}, "metadata": {"labels": {"x": "y"}}}))
        .await?;
    let after = ground.config_map("a", &json!({"kept": "2"}));
    assert_eq!(ground.apply(&after).await?, Outcome::Written);
    let live = ground.live(&after).await?;
    assert_eq!(live["data"], json!({"kept": "2", "foreign": "7"}));
    assert_eq!(live["metadata"]["labels"]["x"], "y");
    assert_eq!(ground.apply(&after).await?, Outcome::Right);
    Ok(())
}

#[tokio::test]
async fn what_the_operator_before_us_wrote_becomes_ours() -> Result<()> {
    for manager in ["cluster-version-operator", "fairway"] {
        let ground = Ground::prepare().await?;
        let before = ground.config_map("a", &json!({"kept": "1", "dropped": "1"}));
        ground.create(&before, manager).await?;
        ground.edit(&before, &json!({"data": {"foreign": "7"}})).await?;
        let after = ground.config_map("a", &json!({"kept": "1"}));
        assert_eq!(ground.apply(&after).await?, Outcome::Written, "{manager}");
        let live = ground.live(&after).await?;
        assert_eq!(live["data"], json!({"kept": "1", "foreign": "7"}), "{manager}");
        let managers = live["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        assert!(
            managers.iter().any(|entry| entry["manager"] == "kubectl-edit"),
            "others still own what is theirs: {managers:?}"
        );
        assert_eq!(ground.apply(&after).await?, Outcome::Right, "{manager}");
    }
    Ok(())
}

#[tokio::test]
async fn what_somebody_else_wrote_stays_theirs_unless_we_say_otherwise() -> Result<()> {
    let ground = Ground::prepare().await?;
    let before = ground.config_map("a", &json!({"ours": "old", "theirs": "1"}));
    ground.create(&before, "installer").await?;
    let wanted = ground.config_map("a", &json!({"ours": "new"}));
    assert_eq!(ground.apply(&wanted).await?, Outcome::Written);
    assert_eq!(ground.live(&wanted).await?["data"], json!({"ours": "new", "theirs": "1"}));
    Ok(())
}

#[tokio::test]
async fn gathered_rules_are_left_to_the_cluster() -> Result<()> {
    let ground = Ground::prepare().await?;
    let label = ground.unique("gathered");
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": ground.unique("all")},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"for": label}}]},
        "rules": [],
    });
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    assert_eq!(ground.apply(&role).await?, Outcome::Written);
    // As the controller does that gathers them.
    ground.edit(&role, &json!({"rules": rules})).await?;
    assert_eq!(ground.apply(&role).await?, Outcome::Right);
    assert_eq!(ground.live(&role).await?["aggregationRule"], role["aggregationRule"]);
    Ok(())
}

#[tokio::test]
async fn a_namespace_is_ignored_where_there_are_none() -> Result<()> {
    let ground = Ground::prepare().await?;
    let mut role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": ground.unique("a")},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    });
    let bare = role.clone();
    role["metadata"]["namespace"] = json!("nowhere");
    assert_eq!(ground.apply(&role).await?, Outcome::Written);
    assert_eq!(ground.apply(&role).await?, Outcome::Right);
    assert!(ground.get(&bare).await?.is_some());
    Ok(())
}
