//! Who is who, and what that lets them do.

use anyhow::Result;
use fairway_sandbox::rbac::User;
use k8s_openapi::api::authentication::v1::{SelfSubjectReview, TokenRequest};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::raw::{self, request};
use super::{nobody, start};

fn object<T: DeserializeOwned>(object: serde_json::Value) -> Result<T> {
    Ok(serde_json::from_value(object)?)
}

#[tokio::test]
async fn a_certificate_says_who_one_is_and_nothing_says_that_one_is_nobody() -> Result<()> {
    let started = start().await?;
    let pods = request("GET", "/api/v1/namespaces/a/pods", &[], "");
    let ann = nobody("ann");
    for (user, name) in [(Some(&ann), "ann"), (None, "system:anonymous")] {
        let answer = raw::send_as(&started.sandbox, user, &pods).await?;
        assert_eq!(answer.status, 403);
        assert_eq!(
            answer.message(),
            format!(
                r#"pods is forbidden: User "{name}" cannot list resource "pods" in API group "" in the namespace "a""#
            )
        );
    }
    for (path, status) in [("/version", 200), ("/healthz", 200), ("/api", 403), ("/foo", 403)] {
        let answer = raw::send_as(&started.sandbox, None, &request("GET", path, &[], "")).await?;
        assert_eq!(answer.status, status, "{path}");
    }
    let bad = request("GET", "/version", &["Authorization: Bearer nonsense"], "");
    let answer = raw::send_as(&started.sandbox, None, &bad).await?;
    assert_eq!((answer.status, answer.message().as_str()), (401, "Unauthorized"));
    Ok(())
}

#[tokio::test]
async fn a_token_holds_as_long_as_its_account_is_there() -> Result<()> {
    let started = start().await?;
    let client = started.client();
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
    let robot = object(json!({ "metadata": { "name": "robot" } }))?;
    accounts.create(&PostParams::default(), &robot).await?;
    let wish: TokenRequest = object(json!({ "metadata": {}, "spec": { "audiences": [] } }))?;
    let token = accounts.create_token_request("robot", &PostParams::default(), &wish).await?;
    let token = token.status.map(|status| status.token).unwrap_or_default();

    let header = format!("Authorization: Bearer {token}");
    let body = r#"{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}"#;
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let who = request("POST", path, &[&header, "Content-Type: application/json"], body);
    let answer = raw::send_as(&started.sandbox, None, &who).await?;
    let user = &answer.json()["status"]["userInfo"];
    assert_eq!(user["username"], "system:serviceaccount:default:robot");
    assert_eq!(
        user["groups"],
        json!(["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"])
    );

    accounts.delete("robot", &DeleteParams::default()).await?;
    assert_eq!(raw::send_as(&started.sandbox, None, &who).await?.status, 401);
    // Another account of the same name is another account.
    accounts.create(&PostParams::default(), &robot).await?;
    assert_eq!(raw::send_as(&started.sandbox, None, &who).await?.status, 401);
    Ok(())
}

#[tokio::test]
async fn acting_as_somebody_else_has_to_be_allowed() -> Result<()> {
    let started = start().await?;
    let who = |header: &str| {
        let body = r#"{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}"#;
        let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        request("POST", path, &["Content-Type: application/json", header], body)
    };
    let answer = raw::send(&started.sandbox, &who("Impersonate-User: bob")).await?;
    assert_eq!(answer.json()["status"]["userInfo"]["username"], "bob");
    let ann = nobody("ann");
    let answer = raw::send_as(&started.sandbox, Some(&ann), &who("Impersonate-User: bob")).await?;
    assert_eq!(
        answer.message(),
        r#"users "bob" is forbidden: User "ann" cannot impersonate resource "users" in API group "" at the cluster scope"#
    );
    let answer = raw::send(&started.sandbox, &who("Impersonate-Group: g")).await?;
    assert_eq!(answer.status, 500);
    Ok(())
}

#[tokio::test]
async fn nobody_gives_away_what_they_do_not_have() -> Result<()> {
    let started = start().await?;
    let admin = started.client();
    let role: ClusterRole = object(json!({
        "metadata": { "name": "granter" },
        "rules": [
            { "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["create"] },
            { "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] },
        ],
    }))?;
    Api::all(admin.clone()).create(&PostParams::default(), &role).await?;
    let binding: ClusterRoleBinding = object(json!({
        "metadata": { "name": "granter" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "granter" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bob" }],
    }))?;
    Api::all(admin).create(&PostParams::default(), &binding).await?;

    let bob = User { name: "bob".to_owned(), groups: vec!["g".to_owned()] };
    let roles: Api<Role> = Api::namespaced(started.client_of(bob), "default");
    let role_with = |verbs: serde_json::Value| {
        let given = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": verbs }]);
        object::<Role>(json!({ "metadata": { "name": "r" }, "rules": given }))
    };
    let refused = roles.create(&PostParams::default(), &role_with(json!(["get", "delete"]))?).await;
    let message = refused.map_or_else(|error| error.to_string(), |_| String::new());
    assert!(
        message.contains(
            "user \"bob\" (groups=[\"g\" \"system:authenticated\"]) is attempting to grant RBAC \
             permissions not currently held:\n\
             {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\"]}"
        ),
        "{message}"
    );
    roles.create(&PostParams::default(), &role_with(json!(["get"]))?).await?;
    Ok(())
}

#[tokio::test]
async fn a_client_in_the_same_process_needs_no_socket() -> Result<()> {
    let started = start().await?;
    let maps: Api<ConfigMap> = Api::default_namespaced(started.client());
    let map = object(json!({ "metadata": { "name": "a" }, "data": { "x": "y" } }))?;
    maps.create(&PostParams::default(), &map).await?;
    let listed = maps.list(&ListParams::default()).await?;
    assert!(listed.items.iter().any(|map| map.metadata.name.as_deref() == Some("a")));
    let review: Api<SelfSubjectReview> = Api::all(started.client_of(nobody("ann")));
    let review = review.create(&PostParams::default(), &SelfSubjectReview::default()).await?;
    let name = review.status.and_then(|status| status.user_info).and_then(|user| user.username);
    assert_eq!(name.as_deref(), Some("ann"));
    let names: Api<Namespace> = Api::all(started.client_of(nobody("ann")));
    assert!(names.list(&ListParams::default()).await.is_err());
    Ok(())
}
