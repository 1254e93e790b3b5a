//! Roles and bindings.

use anyhow::Result;
use http::Method;
use insta::assert_snapshot;
use serde_json::json;

use super::{RBAC, allow, bind, cluster_role, name, rule, until_allowed};
use crate::support::{Case, Transcript, config_map};

#[tokio::test]
async fn user_without_permissions_is_forbidden() -> Result<()> {
    let case = Case::begin("access").await?;
    let user = case.user("guest")?;
    let mut transcript = Transcript::default();
    for (method, path) in [
        (Method::GET, "configmaps/a"),
        (Method::GET, "configmaps"),
        (Method::GET, "configmaps?watch=true"),
        (Method::POST, "configmaps"),
        (Method::PUT, "deployments/a"),
        (Method::PATCH, "deployments/a/status"),
        (Method::DELETE, "configmaps/a"),
        (Method::DELETE, "configmaps"),
        (Method::GET, "pods/a/log"),
        (Method::GET, "/api/v1/configmaps"),
        (Method::GET, "/api/v1/nodes/x"),
        (Method::GET, "/apis/nonsense.example/v1/things"),
        (Method::GET, "/metrics"),
        (Method::POST, "/nonsense"),
    ] {
        let answer = user.send_json(method.clone(), path, &json!({})).await?;
        transcript.add(format!("{method} {path}"), &answer);
    }
    assert_snapshot!(transcript, @r#"
    GET configmaps/a: 403 Forbidden: configmaps "a" is forbidden: User "guest" cannot get resource "configmaps" in API group "" in the namespace "NS"
      about {"kind":"configmaps","name":"a"}
    GET configmaps: 403 Forbidden: configmaps is forbidden: User "guest" cannot list resource "configmaps" in API group "" in the namespace "NS"
      about {"kind":"configmaps"}
    GET configmaps?watch=true: 403 Forbidden: configmaps is forbidden: User "guest" cannot watch resource "configmaps" in API group "" in the namespace "NS"
      about {"kind":"configmaps"}
    POST configmaps: 403 Forbidden: configmaps is forbidden: User "guest" cannot create resource "configmaps" in API group "" in the namespace "NS"
      about {"kind":"configmaps"}
    PUT deployments/a: 403 Forbidden: deployments.apps "a" is forbidden: User "guest" cannot update resource "deployments" in API group "apps" in the namespace "NS"
      about {"group":"apps","kind":"deployments","name":"a"}
    PATCH deployments/a/status: 403 Forbidden: deployments.apps "a" is forbidden: User "guest" cannot patch resource "deployments/status" in API group "apps" in the namespace "NS"
      about {"group":"apps","kind":"deployments","name":"a"}
    DELETE configmaps/a: 403 Forbidden: configmaps "a" is forbidden: User "guest" cannot delete resource "configmaps" in API group "" in the namespace "NS"
      about {"kind":"configmaps","name":"a"}
    DELETE configmaps: 403 Forbidden: configmaps is forbidden: User "guest" cannot deletecollection resource "configmaps" in API group "" in the namespace "NS"
      about {"kind":"configmaps"}
    GET pods/a/log: 403 Forbidden: pods "a" is forbidden: User "guest" cannot get resource "pods/log" in API group "" in the namespace "NS"
      about {"kind":"pods","name":"a"}
    GET /api/v1/configmaps: 403 Forbidden: configmaps is forbidden: User "guest" cannot list resource "configmaps" in API group "" at the cluster scope
      about {"kind":"configmaps"}
    GET /api/v1/nodes/x: 403 Forbidden: nodes "x" is forbidden: User "guest" cannot get resource "nodes" in API group "" at the cluster scope
      about {"kind":"nodes","name":"x"}
    GET /apis/nonsense.example/v1/things: 403 Forbidden: things.nonsense.example is forbidden: User "guest" cannot list resource "things" in API group "nonsense.example" at the cluster scope
      about {"group":"nonsense.example","kind":"things"}
    GET /metrics: 403 Forbidden: forbidden: User "guest" cannot get path "/metrics"
    POST /nonsense: 403 Forbidden: forbidden: User "guest" cannot post path "/nonsense"
    "#);
    Ok(())
}

#[tokio::test]
async fn role_grants_permissions_in_its_namespace() -> Result<()> {
    let case = Case::begin("access").await?;
    case.config_map("a", json!({})).await?;
    let user = name(&case, "reader");
    allow(&case, &user, &json!([rule(&[""], &["configmaps"], &["get", "list", "create"])])).await?;
    let user = case.user(&user)?;
    until_allowed(&user, "configmaps").await?;
    let mut transcript = Transcript::default();
    transcript.line("get", user.get("configmaps/a").await?.status);
    transcript.line("list", user.get("configmaps").await?.status);
    transcript.line("create", user.create("configmaps", &config_map("b", json!({}))).await?.status);
    transcript.line("watch", user.get("configmaps?watch=true").await?.status);
    transcript
        .line("update", user.replace("configmaps/a", &config_map("a", json!({}))).await?.status);
    transcript.line("patch", user.merge("configmaps/a", &json!({})).await?.status);
    transcript
        .line("apply", user.apply("configmaps/a", "m", &config_map("a", json!({}))).await?.status);
    transcript.line("delete", user.delete("configmaps/a").await?.status);
    transcript.line("secrets", user.get("secrets").await?.status);
    transcript.line("elsewhere", user.get("/api/v1/namespaces/default/configmaps").await?.status);
    transcript.line("everywhere", user.get("/api/v1/configmaps").await?.status);
    assert_snapshot!(transcript, @"
    get: 200
    list: 200
    create: 201
    watch: 403
    update: 403
    patch: 403
    apply: 403
    delete: 403
    secrets: 403
    elsewhere: 403
    everywhere: 403
    ");
    Ok(())
}

#[tokio::test]
async fn rule_with_resource_names_grants_named_objects() -> Result<()> {
    let case = Case::begin("access").await?;
    for map in ["mine", "other"] {
        case.config_map(map, json!({})).await?;
    }
    let user = name(&case, "one");
    let mut only =
        rule(&[""], &["configmaps"], &["get", "list", "watch", "update", "create", "delete"]);
    only["resourceNames"] = json!(["mine"]);
    allow(&case, &user, &json!([only])).await?;
    let user = case.user(&user)?;
    until_allowed(&user, "configmaps/mine").await?;
    let mut transcript = Transcript::default();
    for path in [
        "configmaps/mine",
        "configmaps/other",
        "configmaps",
        "configmaps?fieldSelector=metadata.name%3Dmine",
    ] {
        transcript.line(path, user.get(path).await?.status);
    }
    transcript
        .line("create", user.create("configmaps", &config_map("mine", json!({}))).await?.status);
    transcript.line("delete", user.delete("configmaps/other").await?.status);
    transcript.line("delete all", user.delete("configmaps").await?.status);
    assert_snapshot!(transcript, @"
    configmaps/mine: 200
    configmaps/other: 403
    configmaps: 403
    configmaps?fieldSelector=metadata.name%3Dmine: 200
    create: 403
    delete: 403
    delete all: 403
    ");
    Ok(())
}

#[tokio::test]
async fn subresource_needs_its_own_rule() -> Result<()> {
    let case = Case::begin("access").await?;
    let user = name(&case, "sub");
    let rules = json!([
        rule(&["apps"], &["deployments/status"], &["get"]),
        rule(&["*"], &["*/scale"], &["get"]),
    ]);
    allow(&case, &user, &rules).await?;
    let user = case.user(&user)?;
    until_allowed(&user, "deployments/d/status").await?;
    let mut transcript = Transcript::default();
    for path in [
        "deployments/d/status",
        "deployments/d/scale",
        "replicasets/d/scale",
        "deployments/d",
        "replicasets/d/status",
    ] {
        transcript.line(path, user.get(path).await?.status);
    }
    assert_snapshot!(transcript, @"
    deployments/d/status: 404
    deployments/d/scale: 404
    replicasets/d/scale: 404
    deployments/d: 403
    replicasets/d/status: 403
    ");
    Ok(())
}

#[tokio::test]
async fn wildcard_rule_grants_everything() -> Result<()> {
    let case = Case::begin("access").await?;
    let user = name(&case, "star");
    allow(&case, &user, &json!([rule(&["*"], &["*"], &["*"])])).await?;
    let user = case.user(&user)?;
    until_allowed(&user, "configmaps").await?;
    for path in ["secrets", "deployments/x/status", "roles", "pods/x/log"] {
        assert_ne!(user.get(path).await?.status, 403, "{path}");
    }
    assert_eq!(user.get("/api/v1/nodes").await?.status, 403);
    assert_eq!(user.get("/metrics").await?.status, 403);
    Ok(())
}

#[tokio::test]
async fn cluster_role_grants_permissions_where_bound() -> Result<()> {
    let case = Case::begin("access").await?;
    let role =
        cluster_role(&case, "lists", &json!([rule(&[""], &["configmaps", "nodes"], &["list"])]))
            .await?;
    let (near, far) = (name(&case, "near"), name(&case, "far"));
    let user = |name: &str| json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name });
    bind(&case, "rolebindings", &role, &user(&near)).await?;
    bind(&case, &format!("{RBAC}/clusterrolebindings"), &role, &user(&far)).await?;
    let (near, far) = (case.user(&near)?, case.user(&far)?);
    until_allowed(&near, "configmaps").await?;
    until_allowed(&far, "configmaps").await?;
    for path in ["/api/v1/configmaps", "/api/v1/nodes", "/api/v1/namespaces/default/configmaps"] {
        assert_eq!(
            (near.get(path).await?.status, far.get(path).await?.status),
            (403, 200),
            "{path}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn group_binding_grants_permissions() -> Result<()> {
    let case = Case::begin("access").await?;
    let role =
        cluster_role(&case, "group", &json!([rule(&[""], &["configmaps"], &["list"])])).await?;
    let group = name(&case, "team");
    let subject =
        json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group });
    bind(&case, "rolebindings", &role, &subject).await?;
    let member = case.user("member")?.with_header("impersonate-group", &group)?;
    until_allowed(&member, "configmaps").await?;
    assert_eq!(case.user("member")?.get("configmaps").await?.status, 403);
    Ok(())
}

#[tokio::test]
async fn non_resource_urls_are_granted_by_path() -> Result<()> {
    let case = Case::begin("access").await?;
    let rules = json!([{ "nonResourceURLs": ["/metrics", "/logs/*"], "verbs": ["get"] }]);
    let role = cluster_role(&case, "paths", &rules).await?;
    let who = name(&case, "who");
    let subject = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": who });
    bind(&case, &format!("{RBAC}/clusterrolebindings"), &role, &subject).await?;
    let user = case.user(&who)?;
    until_allowed(&user, "/metrics").await?;
    let mut transcript = Transcript::default();
    for path in ["/logs/a/b", "/logs", "/metrics/more"] {
        transcript
            .line(path, if user.get(path).await?.status == 403 { "forbidden" } else { "allowed" });
    }
    assert_snapshot!(transcript, @"
    /logs/a/b: allowed
    /logs: forbidden
    /metrics/more: forbidden
    ");
    Ok(())
}

#[tokio::test]
async fn authenticated_users_may_use_discovery() -> Result<()> {
    let case = Case::begin("access").await?;
    let user = case.user("guest")?.with_header("impersonate-group", "system:authenticated")?;
    for path in ["/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1", "/version", "/healthz"]
    {
        assert_eq!(user.get(path).await?.status, 200, "{path}");
    }
    Ok(())
}
