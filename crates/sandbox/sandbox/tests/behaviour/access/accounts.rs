//! ServiceAccounts, tokens and impersonation.

use anyhow::{Context, Result};
use fairway_testkit::wait;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{bind, cluster_role, rule, until_allowed};
use crate::support::{Case, Transcript};

#[tokio::test]
async fn impersonation_without_permission_is_forbidden() -> Result<()> {
    let case = Case::begin("access").await?;
    let account = format!("system:serviceaccount:{}:default", case.ns());
    let mut transcript = Transcript::default();
    // The impersonating user has to be authenticated without headers: a ServiceAccount.
    let token = case.token("default").await?;
    let caller = case.with_token(&token).await?.with_header("impersonate-user", "admin")?;
    transcript.add("user", &caller.get("configmaps").await?);
    let caller = case.with_header("impersonate-group", "system:masters")?;
    transcript.line("group without a user", caller.get("configmaps").await?.outline());
    let caller = case.user(&account)?;
    transcript.add("account", &caller.get("configmaps").await?);
    assert_snapshot!(transcript, @r#"
    user: 403 Forbidden: users "admin" is forbidden: User "system:serviceaccount:NS:default" cannot impersonate resource "users" in API group "" at the cluster scope
      about {"kind":"users","name":"admin"}
    group without a user: 500 
    account: 403 Forbidden: configmaps is forbidden: User "system:serviceaccount:NS:default" cannot list resource "configmaps" in API group "" in the namespace "NS"
      about {"kind":"configmaps"}
    "#);
    Ok(())
}

#[tokio::test]
async fn token_authenticates_service_account() -> Result<()> {
    let case = Case::begin("access").await?;
    let token = case.token("default").await?;
    let account = case.with_token(&token).await?;
    assert_snapshot!(account.get("configmaps").await?.shown(), @r#"
    403 Forbidden: configmaps is forbidden: User "system:serviceaccount:NS:default" cannot list resource "configmaps" in API group "" in the namespace "NS"
      about {"kind":"configmaps"}
    "#);
    let subject = json!({ "kind": "ServiceAccount", "name": "default", "namespace": case.ns() });
    let role =
        cluster_role(&case, "account", &json!([rule(&[""], &["configmaps"], &["list"])])).await?;
    bind(&case, "rolebindings", &role, &subject).await?;
    until_allowed(&account, "configmaps").await?;
    Ok(())
}

#[tokio::test]
async fn service_accounts_belong_to_groups() -> Result<()> {
    let case = Case::begin("access").await?;
    let role =
        cluster_role(&case, "accounts", &json!([rule(&[""], &["configmaps"], &["list"])])).await?;
    let group = format!("system:serviceaccounts:{}", case.ns());
    let subject =
        json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group });
    bind(&case, "rolebindings", &role, &subject).await?;
    let token = case.token("default").await?;
    until_allowed(&case.with_token(&token).await?, "configmaps").await
}

#[tokio::test]
async fn invalid_token_is_unauthorized() -> Result<()> {
    let case = Case::begin("access").await?;
    let mut transcript = Transcript::default();
    let token = case.token("default").await?;
    let (body, _) = token.rsplit_once('.').context("no signature")?;
    for (label, token) in [("nonsense", "nonsense"), ("forged", &format!("{body}.AAAA"))] {
        transcript.add(label, &case.with_token(token).await?.get("configmaps").await?);
    }
    assert_snapshot!(transcript, @"
    nonsense: 401 Unauthorized: Unauthorized
    forged: 401 Unauthorized: Unauthorized
    ");
    Ok(())
}

#[tokio::test]
async fn token_of_deleted_service_account_is_unauthorized() -> Result<()> {
    let case = Case::begin("access").await?;
    let object = json!({ "metadata": { "name": "gone" } });
    case.create("serviceaccounts", &object).await?.object()?;
    let token = case.token("gone").await?;
    let account = case.with_token(&token).await?;
    assert_eq!(account.get("configmaps").await?.status, 403);
    case.delete("serviceaccounts/gone").await?.object()?;
    wait::until("the token to be refused", || async {
        Ok((account.get("configmaps").await?.status == 401).then_some(()))
    })
    .await?;
    // A new ServiceAccount with the same name has another UID.
    case.create("serviceaccounts", &object).await?.object()?;
    assert_eq!(account.get("configmaps").await?.status, 401);
    Ok(())
}

#[tokio::test]
async fn token_review_returns_user() -> Result<()> {
    let case = Case::begin("access").await?;
    let token = case.token("default").await?;
    let review = |token: &str| json!({ "spec": { "token": token } });
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let known = case.create(path, &review(&token)).await?.object()?;
    assert_eq!(known["status"]["authenticated"], true);
    assert_eq!(
        known["status"]["user"]["username"],
        format!("system:serviceaccount:{}:default", case.ns())
    );
    let unknown = case.create(path, &review("nonsense")).await?.object()?;
    assert_eq!(unknown["status"]["authenticated"], Value::Null);
    Ok(())
}
