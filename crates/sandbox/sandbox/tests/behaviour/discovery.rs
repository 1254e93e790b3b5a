//! Discovery, version and health endpoints.

use anyhow::{Context, Result};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{CRDS, Case, Transcript, widgets};

fn named<'a>(list: &'a Value, field: &str, name: &str) -> Result<&'a Value> {
    let entries = list[field].as_array().context("no list")?;
    entries.iter().find(|entry| entry["name"] == name).with_context(|| format!("no {name}"))
}

#[tokio::test]
async fn core_versions_are_listed() -> Result<()> {
    let case = Case::begin("discovery").await?;
    let versions = case.get("/api").await?.object()?;
    assert_eq!((&versions["kind"], &versions["versions"]), (&json!("APIVersions"), &json!(["v1"])));
    Ok(())
}

#[tokio::test]
async fn api_groups_are_listed_with_versions() -> Result<()> {
    let case = Case::begin("discovery").await?;
    let groups = case.get("/apis").await?.object()?;
    assert_eq!((&groups["kind"], &groups["apiVersion"]), (&json!("APIGroupList"), &json!("v1")));
    let mut transcript = Transcript::default();
    for group in
        ["apps", "coordination.k8s.io", "rbac.authorization.k8s.io", "apiextensions.k8s.io"]
    {
        transcript.line(group, &named(&groups, "groups", group)?["preferredVersion"]);
        let alone = case.get(&format!("/apis/{group}")).await?.object()?;
        assert_eq!(
            (&alone["kind"], &alone["preferredVersion"]),
            (&json!("APIGroup"), &named(&groups, "groups", group)?["preferredVersion"])
        );
    }
    assert_snapshot!(transcript, @r#"
    apps: {"groupVersion":"apps/v1","version":"v1"}
    coordination.k8s.io: {"groupVersion":"coordination.k8s.io/v1","version":"v1"}
    rbac.authorization.k8s.io: {"groupVersion":"rbac.authorization.k8s.io/v1","version":"v1"}
    apiextensions.k8s.io: {"groupVersion":"apiextensions.k8s.io/v1","version":"v1"}
    "#);
    Ok(())
}

#[tokio::test]
async fn api_resources_are_listed_with_verbs() -> Result<()> {
    let case = Case::begin("discovery").await?;
    let core = case.get("/api/v1").await?.object()?;
    assert_eq!((&core["kind"], &core["groupVersion"]), (&json!("APIResourceList"), &json!("v1")));
    let mut transcript = Transcript::default();
    for resource in [
        "configmaps",
        "pods",
        "pods/log",
        "namespaces",
        "services",
        "serviceaccounts/token",
        "events",
    ] {
        let entry = named(&core, "resources", resource)?;
        let mut verbs: Vec<&str> =
            entry["verbs"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        verbs.sort_unstable();
        transcript.line(
            resource,
            json!([entry["kind"], entry["namespaced"], entry["shortNames"], verbs.join(" ")]),
        );
    }
    assert_snapshot!(transcript, @r#"
    configmaps: ["ConfigMap",true,["cm"],"create delete deletecollection get list patch update watch"]
    pods: ["Pod",true,["po"],"create delete deletecollection get list patch update watch"]
    pods/log: ["Pod",true,null,"get"]
    namespaces: ["Namespace",false,["ns"],"create delete get list patch update watch"]
    services: ["Service",true,["svc"],"create delete get list patch update watch"]
    serviceaccounts/token: ["TokenRequest",true,null,"create"]
    events: ["Event",true,["ev"],"create delete deletecollection get list patch update watch"]
    "#);
    Ok(())
}

#[tokio::test]
async fn custom_resources_appear_in_discovery() -> Result<()> {
    let case = Case::begin("discovery").await?;
    let mut definition = widgets(case.ns(), &json!({ "type": "object" }));
    definition["spec"]["names"]["shortNames"] = json!(["wd"]);
    definition["spec"]["names"]["categories"] = json!(["all"]);
    definition["spec"]["versions"][0]["subresources"] = json!({ "status": {} });
    let name = case.define_as(&definition).await?;
    let group = format!("{}.test", case.ns());
    let listed = case.until(&format!("/apis/{group}/v1"), "to be discovered", |_| true).await?;
    let mut transcript = Transcript::default();
    for resource in listed["resources"].as_array().into_iter().flatten() {
        let mut entry = resource.clone();
        entry
            .as_object_mut()
            .map(|entry| (entry.remove("storageVersionHash"), entry.remove("verbs")));
        transcript.line(&resource["name"], entry);
    }
    assert_snapshot!(transcript, @r#"
    "widgets": {"categories":["all"],"kind":"Widget","name":"widgets","namespaced":true,"shortNames":["wd"],"singularName":"widget"}
    "widgets/status": {"kind":"Widget","name":"widgets/status","namespaced":true,"singularName":""}
    "#);
    case.until("/apis", "the group", |groups| named(groups, "groups", &group).is_ok()).await?;
    case.delete(&format!("{CRDS}/{name}")).await?.object()?;
    case.until_gone(&format!("/apis/{group}/v1")).await?;
    case.until_gone(&format!("/apis/{group}")).await
}

#[tokio::test]
async fn version_endpoint_returns_version_fields() -> Result<()> {
    let case = Case::begin("discovery").await?;
    let version = case.get("/version").await?.object()?;
    for part in [
        "major",
        "minor",
        "gitVersion",
        "gitCommit",
        "platform",
        "goVersion",
        "compiler",
        "buildDate",
    ] {
        assert!(version[part].is_string(), "{part} is missing: {version}");
    }
    Ok(())
}

#[tokio::test]
async fn health_endpoints_return_ok() -> Result<()> {
    let case = Case::begin("discovery").await?;
    for path in ["/healthz", "/livez", "/readyz"] {
        let answer = case.get(path).await?;
        assert_eq!((answer.status, answer.text()), (200, "ok".to_owned()), "{path}");
        assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    }
    Ok(())
}

#[tokio::test]
async fn unknown_api_paths_are_not_found() -> Result<()> {
    let case = Case::begin("discovery").await?;
    let mut transcript = Transcript::default();
    for path in [
        "/api/v2",
        "/api/v1/nonsense",
        "/api/v1/namespaces/{ns}/nonsense",
        "/api/v1/namespaces/{ns}/configmaps/a/nonsense",
        "/api/v1/namespaces/{ns}/nodes",
        "/apis/nonsense.example",
        "/apis/apps/v9/deployments",
        "/apis/apps/v1/nonsense",
    ] {
        transcript.add(path, &case.get(path).await?);
    }
    assert_snapshot!(transcript, @r#"
    /api/v2: 404 NotFound: the server could not find the requested resource
    /api/v1/nonsense: 404 NotFound: the server could not find the requested resource
    /api/v1/namespaces/{ns}/nonsense: 404 NotFound: the server could not find the requested resource
    /api/v1/namespaces/{ns}/configmaps/a/nonsense: 404 NotFound: the server could not find the requested resource
    /api/v1/namespaces/{ns}/nodes: 404 NotFound: the server could not find the requested resource
    /apis/nonsense.example: 404 "404 page not found\n"
    /apis/apps/v9/deployments: 404 NotFound: the server could not find the requested resource
    /apis/apps/v1/nonsense: 404 NotFound: the server could not find the requested resource
    "#);
    Ok(())
}

#[tokio::test]
async fn paths_outside_the_api_are_not_found() -> Result<()> {
    let case = Case::begin("discovery").await?;
    for path in ["/nonsense", "/nonsense/", "/healthz/nonsense", "/version/nonsense"] {
        assert_eq!(case.get(path).await?.status, 404, "{path}");
    }
    Ok(())
}

#[tokio::test]
async fn unsupported_methods_are_not_allowed() -> Result<()> {
    let case = Case::begin("discovery").await?;
    let mut transcript = Transcript::default();
    for (method, path) in [
        ("POST", "configmaps/a"),
        ("PUT", "configmaps"),
        ("PATCH", "configmaps"),
        ("DELETE", "services"),
        ("POST", "/api/v1/configmaps"),
        ("DELETE", "pods/a/status"),
        ("POST", "/version"),
        ("POST", "/api"),
    ] {
        let answer = case.send_json(method.parse()?, path, &json!({})).await?;
        transcript.add(format!("{method} {path}"), &answer);
    }
    assert_snapshot!(transcript, @"
    POST configmaps/a: 405 MethodNotAllowed: the server does not allow this method on the requested resource
    PUT configmaps: 405 MethodNotAllowed: the server does not allow this method on the requested resource
    PATCH configmaps: 405 MethodNotAllowed: the server does not allow this method on the requested resource
    DELETE services: 405 MethodNotAllowed: the server does not allow this method on the requested resource
    POST /api/v1/configmaps: 405 MethodNotAllowed: the server does not allow this method on the requested resource
    DELETE pods/a/status: 405 MethodNotAllowed: the server does not allow this method on the requested resource
    POST /version: 405 MethodNotAllowed: the server does not allow this method on the requested resource
    POST /api: 405 MethodNotAllowed: the server does not allow this method on the requested resource
    ");
    Ok(())
}
