//! Authentication.

use anyhow::Result;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, ListParams, PostParams};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::raw::{self, request};
use super::{start, user};

fn object<T: DeserializeOwned>(object: serde_json::Value) -> Result<T> {
    Ok(serde_json::from_value(object)?)
}

#[tokio::test]
async fn certificate_identifies_user_and_no_credentials_are_anonymous() -> Result<()> {
    let test = start().await?;
    let pods = request("GET", "/api/v1/namespaces/a/pods", &[], "");
    let ann = user("ann");
    for (user, name) in [(Some(&ann), "ann"), (None, "system:anonymous")] {
        let response = raw::send_as(&test.sandbox, user, &pods).await?;
        assert_eq!(response.status, 403);
        assert_eq!(
            response.message(),
            format!(
                r#"pods is forbidden: User "{name}" cannot list resource "pods" in API group "" in the namespace "a""#
            )
        );
    }
    for (path, status) in [("/version", 200), ("/healthz", 200), ("/api", 403), ("/foo", 403)] {
        let response = raw::send_as(&test.sandbox, None, &request("GET", path, &[], "")).await?;
        assert_eq!(response.status, status, "{path}");
    }
    let bad = request("GET", "/version", &["Authorization: Bearer nonsense"], "");
    let response = raw::send_as(&test.sandbox, None, &bad).await?;
    assert_eq!((response.status, response.message().as_str()), (401, "Unauthorized"));
    Ok(())
}

#[tokio::test]
async fn in_process_client_needs_no_socket() -> Result<()> {
    let test = start().await?;
    let maps: Api<ConfigMap> = Api::default_namespaced(test.client());
    let map = object(json!({ "metadata": { "name": "a" }, "data": { "x": "y" } }))?;
    maps.create(&PostParams::default(), &map).await?;
    let listed = maps.list(&ListParams::default()).await?;
    assert!(listed.items.iter().any(|map| map.metadata.name.as_deref() == Some("a")));
    let review: Api<SelfSubjectReview> = Api::all(test.client_of(user("ann")));
    let review = review.create(&PostParams::default(), &SelfSubjectReview::default()).await?;
    let name = review.status.and_then(|status| status.user_info).and_then(|user| user.username);
    assert_eq!(name.as_deref(), Some("ann"));
    let names: Api<Namespace> = Api::all(test.client_of(user("ann")));
    assert!(names.list(&ListParams::default()).await.is_err());
    Ok(())
}
