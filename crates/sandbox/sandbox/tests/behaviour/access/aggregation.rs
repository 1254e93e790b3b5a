//! Aggregated `ClusterRoles`.

use anyhow::Result;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{RBAC, bind, name, rule, until_allowed};
use crate::support::{Case, Transcript};

/// A `ClusterRole` with a label of this case; `ClusterRoles` are shared with other cases.
async fn part(case: &Case, who: &str, rules: &Value) -> Result<String> {
    let path = format!("{RBAC}/clusterroles");
    let labels = json!({ "part-of": case.ns() });
    let role = json!({ "metadata": { "name": name(case, who), "labels": labels }, "rules": rules });
    case.create_outside(&path, &role).await?.object()?;
    Ok(format!("{path}/{}", name(case, who)))
}

/// A `ClusterRole` that aggregates all others with the label.
async fn whole(case: &Case) -> Result<String> {
    let path = format!("{RBAC}/clusterroles");
    let labels = json!({ "part-of": case.ns() });
    let role = json!({
        // It has the label, too, and must not aggregate itself.
        "metadata": { "name": name(case, "whole"), "labels": labels },
        "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": labels }] },
        "rules": [rule(&[""], &["secrets"], &["get"])],
    });
    case.create_outside(&path, &role).await?.object()?;
    Ok(format!("{path}/{}", name(case, "whole")))
}

/// Waits until a `ClusterRole` has this number of rules, and returns them.
async fn rules(case: &Case, path: &str, count: usize) -> Result<String> {
    let is_so = |role: &Value| {
        let rules = role["rules"].as_array();
        rules.map_or(0, Vec::len) == count && !role["rules"].to_string().contains("secrets")
    };
    let role = case.until(path, &format!("{count} rules"), is_so).await?;
    let shown = role["rules"].as_array().into_iter().flatten().map(|rule| {
        let word = |field: &str| rule[field][0].as_str().unwrap_or_default().to_owned();
        format!("{} {}", word("verbs"), word("resources"))
    });
    Ok(shown.collect::<Vec<_>>().join(", "))
}

#[tokio::test]
async fn aggregated_role_has_rules_of_selected_roles() -> Result<()> {
    let case = Case::begin("access").await?;
    let maps = rule(&[""], &["configmaps"], &["list"]);
    let second = part(&case, "b", &json!([maps, rule(&[""], &["nodes"], &["list"])])).await?;
    part(&case, "a", &json!([maps, rule(&["apps"], &["deployments"], &["get"])])).await?;
    let whole = whole(&case).await?;
    let mut transcript = Transcript::default();
    transcript.line("at first", rules(&case, &whole, 3).await?);
    case.merge(&whole, &json!({ "rules": [rule(&[""], &["secrets"], &["get"])] })).await?;
    transcript.line("written over", rules(&case, &whole, 3).await?);
    case.merge(&second, &json!({ "metadata": { "labels": { "part-of": "nothing" } } })).await?;
    transcript.line("without a part", rules(&case, &whole, 2).await?);
    assert_snapshot!(transcript, @"
    at first: list configmaps, get deployments, list nodes
    written over: list configmaps, get deployments, list nodes
    without a part: list configmaps, get deployments
    ");
    Ok(())
}

#[tokio::test]
async fn aggregated_role_grants_permissions() -> Result<()> {
    let case = Case::begin("access").await?;
    let who = name(&case, "who");
    whole(&case).await?;
    let subject = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": who });
    bind(&case, "rolebindings", &name(&case, "whole"), &subject).await?;
    part(&case, "a", &json!([rule(&[""], &["configmaps"], &["list"])])).await?;
    let user = case.user(&who)?;
    until_allowed(&user, "configmaps").await?;
    assert_eq!(user.get("pods").await?.status, 403);
    Ok(())
}
