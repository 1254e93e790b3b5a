//! RBAC decisions, here and by an API server.

use anyhow::{Context, Result};
use fairway_sandbox::rbac::{AccessRequest, Policy, User};
use fairway_testkit::{TestCluster, wait};
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::{Value, json};

/// Rules of all forms, one role each.
fn rules() -> Vec<Value> {
    let core = |resources: Value, more: Value| {
        let mut rule =
            json!({ "apiGroups": [""], "resources": resources, "verbs": ["get", "list"] });
        rule.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        rule
    };
    vec![
        core(json!(["pods"]), json!({})),
        core(json!(["pods/log", "pods/status"]), json!({})),
        core(json!(["*/status"]), json!({})),
        core(json!(["configmaps"]), json!({ "resourceNames": ["one", "two"] })),
        core(json!(["secrets"]), json!({ "verbs": ["*"] })),
        json!({ "apiGroups": ["apps"], "resources": ["*"], "verbs": ["get"] }),
        json!({ "apiGroups": ["*"], "resources": ["leases"], "verbs": ["update"] }),
        json!({ "apiGroups": ["*"], "resources": ["*"], "verbs": ["impersonate"] }),
    ]
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn decisions_in_namespace_match_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let namespace = cluster.namespace("rbac").await?;
    let mut policy = Policy::default();
    let roles: Api<Role> = namespace.api();
    let bindings: Api<RoleBinding> = namespace.api();
    let here = namespace.name();
    for (number, rule) in rules().into_iter().enumerate() {
        let name = format!("r{number}");
        let metadata = json!({ "name": name, "namespace": here });
        let role: Role = from(json!({ "metadata": metadata, "rules": [rule] }))?;
        policy.add_role(roles.create(&PostParams::default(), &role).await?);
        let binding: RoleBinding = from(json!({
            "metadata": metadata,
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name },
            "subjects": [
                { "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": format!("u{number}") },
                { "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "members" },
                { "kind": "ServiceAccount", "name": format!("s{number}"), "namespace": here },
            ],
        }))?;
        policy.add_role_binding(bindings.create(&PostParams::default(), &binding).await?);
    }
    for user in users(here) {
        wait_for_policy(&cluster, &policy, &user, &requests(here)).await?;
    }
    let mut compared = 0;
    for user in users(here) {
        for request in requests(here) {
            let decided = policy.decide(&user, &request).is_allowed();
            let real = decide_on_server(&cluster, &user, &request).await?;
            assert_eq!(decided, real, "{user:?} {request:?}");
            compared += 1;
        }
    }
    assert!(compared > 500, "{compared} questions");
    Ok(())
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn decisions_in_cluster_match_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let namespace = cluster.namespace("rbac").await?;
    // Cluster-scoped objects have the name of the namespace, which is unique to this test.
    let name = namespace.name();
    let roles: Api<ClusterRole> = Api::all(cluster.client());
    let bindings: Api<ClusterRoleBinding> = Api::all(cluster.client());
    let role: ClusterRole = from(json!({
        "metadata": { "name": name },
        "rules": [
            { "apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get"] },
            { "nonResourceURLs": ["/fairway", "/fairway/*", "/x*"], "verbs": ["get"] },
        ],
    }))?;
    let binding: ClusterRoleBinding = from(json!({
        "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name }],
    }))?;
    let mut policy = Policy::default();
    policy.add_cluster_role(roles.create(&PostParams::default(), &role).await?);
    policy.add_cluster_role_binding(bindings.create(&PostParams::default(), &binding).await?);
    let user = User { name: name.to_owned(), groups: Vec::new() };
    let paths = ["/fairway", "/fairway/a/b", "/fairways", "/x", "/xyz", "/y", "/"];
    let paths = paths.map(|path| AccessRequest::Path { verb: "get", path });
    wait_for_policy(&cluster, &policy, &user, &requests(name)).await?;
    let mut differences = Vec::new();
    for request in requests(name).into_iter().chain(requests("")).chain(paths) {
        let (decided, real) = (
            policy.decide(&user, &request).is_allowed(),
            decide_on_server(&cluster, &user, &request).await?,
        );
        if decided != real {
            differences.push(format!("{request:?}: here {decided}, there {real}"));
        }
    }
    bindings.delete(name, &DeleteParams::default()).await?;
    roles.delete(name, &DeleteParams::default()).await?;
    assert_eq!(differences, Vec::<String>::new());
    Ok(())
}

fn from<T: serde::de::DeserializeOwned>(value: Value) -> Result<T> {
    Ok(serde_json::from_value(value)?)
}

fn users(namespace: &str) -> Vec<User> {
    let user = |name: String, groups: &[&str]| User {
        name,
        groups: groups.iter().map(|&group| group.to_owned()).collect(),
    };
    let each = (0..rules().len()).flat_map(|number| {
        let account = format!("system:serviceaccount:{namespace}:s{number}");
        [user(format!("u{number}"), &[]), user(account, &[])]
    });
    let others = [
        user("other".into(), &[]),
        user("member".into(), &["members"]),
        user("system:serviceaccount:default:s0".into(), &[]),
    ];
    each.chain(others).collect()
}

fn requests(namespace: &str) -> Vec<AccessRequest<'_>> {
    let mut requests = Vec::new();
    for verb in ["get", "list", "update", "impersonate"] {
        for (group, resource, subresource) in [
            ("", "pods", ""),
            ("", "pods", "log"),
            ("", "pods", "status"),
            ("", "nodes", "status"),
            ("", "configmaps", ""),
            ("", "secrets", ""),
            ("apps", "deployments", ""),
            ("apps", "deployments", "scale"),
            ("coordination.k8s.io", "leases", ""),
        ] {
            for name in ["", "one", "three"] {
                requests.push(AccessRequest::Resource {
                    verb,
                    group,
                    resource,
                    subresource,
                    namespace,
                    name,
                });
            }
        }
    }
    requests
}

/// Waits until the server allows a request that only the newest roles and bindings allow. Its
/// authorizer is eventually consistent.
async fn wait_for_policy(
    cluster: &TestCluster,
    policy: &Policy,
    user: &User,
    requests: &[AccessRequest<'_>],
) -> Result<()> {
    let allowed = requests.iter().find(|request| policy.decide(user, request).is_allowed());
    let Some(request) = allowed else { return Ok(()) };
    wait::until("the server to know the policy", || async {
        Ok(decide_on_server(cluster, user, request).await?.then_some(()))
    })
    .await
}

/// The decision of the API server.
async fn decide_on_server(
    cluster: &TestCluster,
    user: &User,
    request: &AccessRequest<'_>,
) -> Result<bool> {
    let attributes = match *request {
        AccessRequest::Resource { verb, group, resource, subresource, namespace, name } => json!({
            "resourceAttributes": {
                "verb": verb, "group": group, "resource": resource, "subresource": subresource,
                "namespace": namespace, "name": name,
            }
        }),
        AccessRequest::Path { verb, path } => {
            json!({ "nonResourceAttributes": { "verb": verb, "path": path } })
        }
    };
    let mut spec = attributes;
    spec["user"] = json!(user.name);
    spec["groups"] = json!(user.groups);
    let review: SubjectAccessReview = from(json!({ "metadata": {}, "spec": spec }))?;
    let reviews: Api<SubjectAccessReview> = Api::all(cluster.client());
    let answer = reviews.create(&PostParams::default(), &review).await?;
    Ok(answer.status.context("an answer")?.allowed)
}
