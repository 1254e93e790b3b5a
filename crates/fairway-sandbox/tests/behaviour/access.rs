//! Who may do what.

use anyhow::{Context, Result};
use fairway_testkit::wait;
use http::Method;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Caller, Case, Transcript, config_map};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1";

/// A user of this case alone: bindings outside the namespace are shared with all others.
fn name(case: &Case, who: &str) -> String {
    format!("{}-{who}", case.ns())
}

fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Value {
    json!({ "apiGroups": groups, "resources": resources, "verbs": verbs })
}

/// Lets a user do something in the namespace.
async fn allow(case: &Case, user: &str, rules: &Value) -> Result<()> {
    let role = json!({ "metadata": { "generateName": "role-" }, "rules": rules });
    let role = case.create("roles", &role).await?.object()?;
    let binding = json!({
        "metadata": { "generateName": "binding-" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role["metadata"]["name"] },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
    });
    case.create("rolebindings", &binding).await?.object()?;
    Ok(())
}

/// Asks until it is allowed: an authorizer learns of a binding a moment later.
async fn until_allowed(caller: &Caller, path: &str) -> Result<()> {
    wait::until(&format!("{path} to be allowed"), || async {
        Ok((caller.get(path).await?.status != 403).then_some(()))
    })
    .await
}

#[tokio::test]
async fn who_is_nobody_may_do_nothing() -> Result<()> {
    let case = Case::begin("access").await?;
    let user = case.user("nobody")?;
    let mut said = Transcript::default();
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
        said.add(format!("{method} {path}"), &answer);
    }
    assert_snapshot!(said, @r#"
    GET configmaps/a: 403 Forbidden: configmaps "a" is forbidden: User "nobody" cannot get resource "configmaps" in API group "" in the namespace "NS"
      about {"kind":"configmaps","name":"a"}
    GET configmaps: 403 Forbidden: configmaps is forbidden: User "nobody" cannot list resource "configmaps" in API group "" in the namespace "NS"
      about {"kind":"configmaps"}
    GET configmaps?watch=true: 403 Forbidden: configmaps is forbidden: User "nobody" cannot watch resource "configmaps" in API group "" in the namespace "NS"
      about {"kind":"configmaps"}
    POST configmaps: 403 Forbidden: configmaps is forbidden: User "nobody" cannot create resource "configmaps" in API group "" in the namespace "NS"
      about {"kind":"configmaps"}
    PUT deployments/a: 403 Forbidden: deployments.apps "a" is forbidden: User "nobody" cannot update resource "deployments" in API group "apps" in the namespace "NS"
      about {"group":"apps","kind":"deployments","name":"a"}
    PATCH deployments/a/status: 403 Forbidden: deployments.apps "a" is forbidden: User "nobody" cannot patch resource "deployments/status" in API group "apps" in the namespace "NS"
      about {"group":"apps","kind":"deployments","name":"a"}
    DELETE configmaps/a: 403 Forbidden: configmaps "a" is forbidden: User "nobody" cannot delete resource "configmaps" in API group "" in the namespace "NS"
      about {"kind":"configmaps","name":"a"}
    DELETE configmaps: 403 Forbidden: configmaps is forbidden: User "nobody" cannot deletecollection resource "configmaps" in API group "" in the namespace "NS"
      about {"kind":"configmaps"}
    GET pods/a/log: 403 Forbidden: pods "a" is forbidden: User "nobody" cannot get resource "pods/log" in API group "" in the namespace "NS"
      about {"kind":"pods","name":"a"}
    GET /api/v1/configmaps: 403 Forbidden: configmaps is forbidden: User "nobody" cannot list resource "configmaps" in API group "" at the cluster scope
      about {"kind":"configmaps"}
    GET /api/v1/nodes/x: 403 Forbidden: nodes "x" is forbidden: User "nobody" cannot get resource "nodes" in API group "" at the cluster scope
      about {"kind":"nodes","name":"x"}
    GET /apis/nonsense.example/v1/things: 403 Forbidden: things.nonsense.example is forbidden: User "nobody" cannot list resource "things" in API group "nonsense.example" at the cluster scope
      about {"group":"nonsense.example","kind":"things"}
    GET /metrics: 403 Forbidden: forbidden: User "nobody" cannot get path "/metrics"
    POST /nonsense: 403 Forbidden: forbidden: User "nobody" cannot post path "/nonsense"
    "#);
    Ok(())
}

#[tokio::test]
async fn a_role_allows_what_it_says_in_its_namespace() -> Result<()> {
    let case = Case::begin("access").await?;
    case.config_map("a", json!({})).await?;
    let user = name(&case, "reader");
    allow(&case, &user, &json!([rule(&[""], &["configmaps"], &["get", "list", "create"])])).await?;
    let user = case.user(&user)?;
    until_allowed(&user, "configmaps").await?;
    let mut said = Transcript::default();
    said.line("get", user.get("configmaps/a").await?.status);
    said.line("list", user.get("configmaps").await?.status);
    said.line("create", user.create("configmaps", &config_map("b", json!({}))).await?.status);
    said.line("watch", user.get("configmaps?watch=true").await?.status);
    said.line("update", user.replace("configmaps/a", &config_map("a", json!({}))).await?.status);
    said.line("patch", user.merge("configmaps/a", &json!({})).await?.status);
    said.line("apply", user.apply("configmaps/a", "m", &config_map("a", json!({}))).await?.status);
    said.line("delete", user.delete("configmaps/a").await?.status);
    said.line("secrets", user.get("secrets").await?.status);
    said.line("elsewhere", user.get("/api/v1/namespaces/default/configmaps").await?.status);
    said.line("everywhere", user.get("/api/v1/configmaps").await?.status);
    assert_snapshot!(said, @"
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
async fn a_rule_may_name_its_objects() -> Result<()> {
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
    let mut said = Transcript::default();
    for path in [
        "configmaps/mine",
        "configmaps/other",
        "configmaps",
        "configmaps?fieldSelector=metadata.name%3Dmine",
    ] {
        said.line(path, user.get(path).await?.status);
    }
    said.line("create", user.create("configmaps", &config_map("mine", json!({}))).await?.status);
    said.line("delete", user.delete("configmaps/other").await?.status);
    said.line("delete all", user.delete("configmaps").await?.status);
    assert_snapshot!(said, @"
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
async fn a_subresource_is_allowed_on_its_own() -> Result<()> {
    let case = Case::begin("access").await?;
    let user = name(&case, "sub");
    let rules = json!([
        rule(&["apps"], &["deployments/status"], &["get"]),
        rule(&["*"], &["*/scale"], &["get"]),
    ]);
    allow(&case, &user, &rules).await?;
    let user = case.user(&user)?;
    until_allowed(&user, "deployments/d/status").await?;
    let mut said = Transcript::default();
    for path in [
        "deployments/d/status",
        "deployments/d/scale",
        "replicasets/d/scale",
        "deployments/d",
        "replicasets/d/status",
    ] {
        said.line(path, user.get(path).await?.status);
    }
    assert_snapshot!(said, @"
    deployments/d/status: 404
    deployments/d/scale: 404
    replicasets/d/scale: 404
    deployments/d: 403
    replicasets/d/status: 403
    ");
    Ok(())
}

#[tokio::test]
async fn stars_mean_everything() -> Result<()> {
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

/// Binds a cluster role, in the namespace or, with that path, everywhere.
async fn bind(case: &Case, path: &str, role: &str, subject: &Value) -> Result<()> {
    let binding = json!({
        "metadata": { "name": name(case, role) },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
        "subjects": [subject],
    });
    case.create_outside(path, &binding).await?.object()?;
    Ok(())
}

async fn cluster_role(case: &Case, who: &str, rules: &Value) -> Result<String> {
    let role = json!({ "metadata": { "name": name(case, who) }, "rules": rules });
    case.create_outside(&format!("{RBAC}/clusterroles"), &role).await?.object()?;
    Ok(name(case, who))
}

#[tokio::test]
async fn a_cluster_role_counts_where_it_is_bound() -> Result<()> {
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
async fn groups_are_bound_like_users() -> Result<()> {
    let case = Case::begin("access").await?;
    let role =
        cluster_role(&case, "group", &json!([rule(&[""], &["configmaps"], &["list"])])).await?;
    let group = name(&case, "team");
    let subject =
        json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group });
    bind(&case, "rolebindings", &role, &subject).await?;
    let member = case.user("member")?.saying("impersonate-group", &group)?;
    until_allowed(&member, "configmaps").await?;
    assert_eq!(case.user("member")?.get("configmaps").await?.status, 403);
    Ok(())
}

#[tokio::test]
async fn paths_that_are_no_resources_are_allowed_by_path() -> Result<()> {
    let case = Case::begin("access").await?;
    let rules = json!([{ "nonResourceURLs": ["/metrics", "/logs/*"], "verbs": ["get"] }]);
    let role = cluster_role(&case, "paths", &rules).await?;
    let who = name(&case, "who");
    let subject = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": who });
    bind(&case, &format!("{RBAC}/clusterrolebindings"), &role, &subject).await?;
    let user = case.user(&who)?;
    until_allowed(&user, "/metrics").await?;
    let mut said = Transcript::default();
    for path in ["/logs/a/b", "/logs", "/metrics/more"] {
        said.line(path, if user.get(path).await?.status == 403 { "forbidden" } else { "allowed" });
    }
    assert_snapshot!(said, @"
    /logs/a/b: allowed
    /logs: forbidden
    /metrics/more: forbidden
    ");
    Ok(())
}

#[tokio::test]
async fn everybody_who_is_known_may_discover() -> Result<()> {
    let case = Case::begin("access").await?;
    let user = case.user("somebody")?.saying("impersonate-group", "system:authenticated")?;
    for path in ["/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1", "/version", "/healthz"]
    {
        assert_eq!(user.get(path).await?.status, 200, "{path}");
    }
    Ok(())
}

#[tokio::test]
async fn nobody_grants_more_than_they_have() -> Result<()> {
    let case = Case::begin("access").await?;
    let user = name(&case, "granter");
    let rules = json!([
        rule(
            &["rbac.authorization.k8s.io"],
            &["roles", "rolebindings"],
            &["create", "get", "update", "patch"]
        ),
        rule(&[""], &["configmaps"], &["get"]),
    ]);
    allow(&case, &user, &rules).await?;
    let user = case.user(&user)?;
    until_allowed(&user, "roles/x").await?;
    let role = |name: &str, rules: Value| json!({ "metadata": { "name": name }, "rules": rules });
    let within = role("within", json!([rule(&[""], &["configmaps"], &["get"])]));
    assert_eq!(user.create("roles", &within).await?.status, 201);
    let mut said = Transcript::default();
    let beyond = role("beyond", json!([rule(&[""], &["secrets"], &["get", "list"])]));
    said.add("role", &user.create("roles", &beyond).await?);
    let more = json!({ "rules": beyond["rules"] });
    said.add("patched role", &user.merge("roles/within", &more).await?);
    case.create("roles", &beyond).await?.object()?;
    let binding = json!({
        "metadata": { "name": "beyond" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "beyond" },
    });
    said.add("binding", &user.create("rolebindings", &binding).await?);
    assert_snapshot!(said, @r#"
    role: 403 Forbidden: roles.rbac.authorization.k8s.io "beyond" is forbidden: user "NS-granter" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:
    {APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}
      about {"group":"rbac.authorization.k8s.io","kind":"roles","name":"beyond"}
    patched role: 403 Forbidden: roles.rbac.authorization.k8s.io "within" is forbidden: user "NS-granter" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:
    {APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}
      about {"group":"rbac.authorization.k8s.io","kind":"roles","name":"within"}
    binding: 403 Forbidden: rolebindings.rbac.authorization.k8s.io "beyond" is forbidden: user "NS-granter" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:
    {APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}
      about {"group":"rbac.authorization.k8s.io","kind":"rolebindings","name":"beyond"}
    "#);
    Ok(())
}

#[tokio::test]
async fn a_binding_keeps_its_role() -> Result<()> {
    let case = Case::begin("access").await?;
    let binding = json!({
        "metadata": { "name": "b" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "one" },
    });
    case.create("rolebindings", &binding).await?.object()?;
    let mut said = Transcript::default();
    let patch = json!({ "roleRef": { "name": "two" } });
    said.line("another role", case.merge("rolebindings/b", &patch).await?.fields());
    for role in [
        json!({ "kind": "Pod", "name": "x" }),
        json!({ "kind": "Role", "name": "" }),
        json!({ "apiGroup": "v1", "kind": "Role", "name": "x" }),
    ] {
        let binding = json!({ "metadata": { "name": "c" }, "roleRef": role });
        said.add(&role, &case.create("rolebindings", &binding).await?);
    }
    for subject in [json!({ "kind": "User", "name": "" }), json!({ "kind": "Robot", "name": "x" })]
    {
        let mut binding = binding.clone();
        binding["metadata"]["name"] = json!("d");
        binding["subjects"] = json!([subject]);
        said.add(&subject, &case.create("rolebindings", &binding).await?);
    }
    assert_snapshot!(said, @r#"
    another role: 422 Invalid
      FieldValueInvalid roleRef
    {"kind":"Pod","name":"x"}: 422 Invalid: RoleBinding.rbac.authorization.k8s.io "c" is invalid: …
      about {"group":"rbac.authorization.k8s.io","kind":"RoleBinding","name":"c"}
      FieldValueNotSupported roleRef.kind: Unsupported value: "Pod": supported values: "Role", "ClusterRole"
    {"kind":"Role","name":""}: 422 Invalid: RoleBinding.rbac.authorization.k8s.io "c" is invalid: …
      about {"group":"rbac.authorization.k8s.io","kind":"RoleBinding","name":"c"}
      FieldValueRequired roleRef.name: Required value
    {"apiGroup":"v1","kind":"Role","name":"x"}: 422 Invalid: RoleBinding.rbac.authorization.k8s.io "c" is invalid: …
      about {"group":"rbac.authorization.k8s.io","kind":"RoleBinding","name":"c"}
      FieldValueNotSupported roleRef.apiGroup: Unsupported value: "v1": supported values: "rbac.authorization.k8s.io"
    {"kind":"User","name":""}: 422 Invalid: RoleBinding.rbac.authorization.k8s.io "d" is invalid: …
      about {"group":"rbac.authorization.k8s.io","kind":"RoleBinding","name":"d"}
      FieldValueRequired subjects[0].name: Required value
    {"kind":"Robot","name":"x"}: 422 Invalid: RoleBinding.rbac.authorization.k8s.io "d" is invalid: …
      about {"group":"rbac.authorization.k8s.io","kind":"RoleBinding","name":"d"}
      FieldValueNotSupported subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"
    "#);
    Ok(())
}

#[tokio::test]
async fn rules_that_make_no_sense_are_refused() -> Result<()> {
    let case = Case::begin("access").await?;
    let mut said = Transcript::default();
    for rules in [
        json!([{}]),
        json!([{ "verbs": ["get"] }]),
        json!([{ "verbs": ["get"], "apiGroups": [""] }]),
        json!([{ "verbs": ["get"], "nonResourceURLs": ["/x"] }]),
    ] {
        let role = json!({ "metadata": { "name": "r" }, "rules": rules });
        said.add(&rules, &case.create("roles", &role).await?);
    }
    assert_snapshot!(said, @r#"
    [{}]: 422 Invalid: Role.rbac.authorization.k8s.io "r" is invalid: …
      about {"group":"rbac.authorization.k8s.io","kind":"Role","name":"r"}
      FieldValueRequired rules[0].apiGroups: Required value: resource rules must supply at least one api group
      FieldValueRequired rules[0].resources: Required value: resource rules must supply at least one resource
      FieldValueRequired rules[0].verbs: Required value: verbs must contain at least one value
    [{"verbs":["get"]}]: 422 Invalid: Role.rbac.authorization.k8s.io "r" is invalid: …
      about {"group":"rbac.authorization.k8s.io","kind":"Role","name":"r"}
      FieldValueRequired rules[0].apiGroups: Required value: resource rules must supply at least one api group
      FieldValueRequired rules[0].resources: Required value: resource rules must supply at least one resource
    [{"apiGroups":[""],"verbs":["get"]}]: 422 Invalid: Role.rbac.authorization.k8s.io "r" is invalid: …
      about {"group":"rbac.authorization.k8s.io","kind":"Role","name":"r"}
      FieldValueRequired rules[0].resources: Required value: resource rules must supply at least one resource
    [{"nonResourceURLs":["/x"],"verbs":["get"]}]: 422 Invalid: Role.rbac.authorization.k8s.io "r" is invalid: …
      about {"group":"rbac.authorization.k8s.io","kind":"Role","name":"r"}
      FieldValueInvalid rules[0].nonResourceURLs: Invalid value: []string{"/x"}: namespaced rules cannot apply to non-resource URLs
    "#);
    Ok(())
}

async fn review(caller: &Caller, kind: &str, spec: &Value) -> Result<Value> {
    let plural = format!("{}s", kind.to_lowercase());
    let review = json!({ "apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec });
    let answer = caller.create(&format!("{REVIEWS}/{plural}"), &review).await?;
    assert_eq!(answer.status, 201);
    answer.object()
}

#[tokio::test]
async fn reviews_tell_what_somebody_may_do() -> Result<()> {
    let case = Case::begin("access").await?;
    let user = name(&case, "reviewed");
    allow(&case, &user, &json!([rule(&[""], &["configmaps"], &["get"])])).await?;
    until_allowed(&case.user(&user)?, "configmaps/x").await?;
    let mut said = Transcript::default();
    for (verb, resource, namespace) in [
        ("get", "configmaps", case.ns()),
        ("list", "configmaps", case.ns()),
        ("get", "secrets", case.ns()),
        ("get", "configmaps", "default"),
        ("get", "configmaps", ""),
    ] {
        let attributes = json!({ "verb": verb, "resource": resource, "namespace": namespace });
        let spec = json!({ "user": user, "resourceAttributes": attributes });
        let reviewed = review(&case, "SubjectAccessReview", &spec).await?;
        let place = if namespace == case.ns() { "NS" } else { namespace };
        said.line(format!("{verb} {resource} {place}"), &reviewed["status"]["allowed"]);
    }
    let own = json!({ "resourceAttributes": { "verb": "delete", "resource": "nodes" } });
    said.line("admin", &review(&case, "SelfSubjectAccessReview", &own).await?["status"]["allowed"]);
    let path =
        json!({ "user": user, "nonResourceAttributes": { "verb": "get", "path": "/metrics" } });
    said.line("path", &review(&case, "SubjectAccessReview", &path).await?["status"]["allowed"]);
    assert_snapshot!(said, @"
    get configmaps NS: true
    list configmaps NS: false
    get secrets NS: false
    get configmaps default: false
    get configmaps : false
    admin: true
    path: false
    ");
    Ok(())
}

#[tokio::test]
async fn a_review_of_oneself_is_for_everybody_and_of_others_is_not() -> Result<()> {
    let case = Case::begin("access").await?;
    let user = case.user("somebody")?.saying("impersonate-group", "system:authenticated")?;
    let attributes = json!({ "verb": "get", "resource": "pods", "namespace": case.ns() });
    let own =
        review(&user, "SelfSubjectAccessReview", &json!({ "resourceAttributes": attributes }))
            .await?;
    assert_eq!(own["status"]["allowed"], false);
    let others = json!({ "spec": { "user": "x", "resourceAttributes": attributes } });
    let answer = user.create(&format!("{REVIEWS}/subjectaccessreviews"), &others).await?;
    assert_snapshot!(answer.shown(), @r#"
    403 Forbidden: subjectaccessreviews.authorization.k8s.io is forbidden: User "somebody" cannot create resource "subjectaccessreviews" in API group "authorization.k8s.io" at the cluster scope
      about {"group":"authorization.k8s.io","kind":"subjectaccessreviews"}
    "#);
    Ok(())
}

#[tokio::test]
async fn reviews_without_a_question_are_refused() -> Result<()> {
    let case = Case::begin("access").await?;
    let mut said = Transcript::default();
    let attributes = json!({ "verb": "get", "resource": "pods", "namespace": case.ns() });
    for (kind, spec) in [
        ("selfsubjectaccessreviews", json!({})),
        ("subjectaccessreviews", json!({ "resourceAttributes": attributes })),
        ("subjectaccessreviews", json!({ "user": "x" })),
        (
            "subjectaccessreviews",
            json!({ "user": "x", "resourceAttributes": attributes, "nonResourceAttributes": { "path": "/", "verb": "get" } }),
        ),
    ] {
        said.line(
            format!("{kind} {spec}").replace(case.ns(), "NS"),
            case.create(&format!("{REVIEWS}/{kind}"), &json!({ "spec": spec })).await?.fields(),
        );
    }
    assert_snapshot!(said, @r#"
    selfsubjectaccessreviews {}: 422 Invalid
      FieldValueInvalid spec.resourceAttributes
    subjectaccessreviews {"resourceAttributes":{"namespace":"NS","resource":"pods","verb":"get"}}: 422 Invalid
      FieldValueInvalid spec.user
    subjectaccessreviews {"user":"x"}: 422 Invalid
      FieldValueInvalid spec.resourceAttributes
    subjectaccessreviews {"nonResourceAttributes":{"path":"/","verb":"get"},"resourceAttributes":{"namespace":"NS","resource":"pods","verb":"get"},"user":"x"}: 422 Invalid
      FieldValueInvalid spec.nonResourceAttributes
    "#);
    Ok(())
}

#[tokio::test]
async fn the_rules_of_a_user_can_be_listed() -> Result<()> {
    let case = Case::begin("access").await?;
    let user = name(&case, "rules");
    allow(&case, &user, &json!([rule(&[""], &["configmaps"], &["get"])])).await?;
    let user = case.user(&user)?;
    until_allowed(&user, "configmaps/x").await?;
    let user = user.saying("impersonate-group", "system:authenticated")?;
    let reviewed =
        review(&user, "SelfSubjectRulesReview", &json!({ "namespace": case.ns() })).await?;
    let rules = reviewed["status"]["resourceRules"].as_array().context("no rules")?;
    let expected = json!({ "verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"] });
    assert!(rules.contains(&expected), "{rules:?}");
    assert_eq!(reviewed["status"]["incomplete"], false);
    Ok(())
}

#[tokio::test]
async fn to_be_somebody_else_has_to_be_allowed() -> Result<()> {
    let case = Case::begin("access").await?;
    let account = format!("system:serviceaccount:{}:default", case.ns());
    let mut said = Transcript::default();
    // Who impersonates has to be somebody whom no header makes: a service account.
    let token = case.token("default").await?;
    let caller = case.with_token(&token).await?.saying("impersonate-user", "admin")?;
    said.add("user", &caller.get("configmaps").await?);
    let caller = case.saying("impersonate-group", "system:masters")?;
    said.line("group without a user", caller.get("configmaps").await?.outline());
    let caller = case.user(&account)?;
    said.add("account", &caller.get("configmaps").await?);
    assert_snapshot!(said, @r#"
    user: 403 Forbidden: users "admin" is forbidden: User "system:serviceaccount:NS:default" cannot impersonate resource "users" in API group "" at the cluster scope
      about {"kind":"users","name":"admin"}
    group without a user: 500 
    account: 403 Forbidden: configmaps is forbidden: User "system:serviceaccount:NS:default" cannot list resource "configmaps" in API group "" in the namespace "NS"
      about {"kind":"configmaps"}
    "#);
    Ok(())
}

#[tokio::test]
async fn a_token_makes_its_bearer_the_service_account() -> Result<()> {
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
async fn service_accounts_are_in_groups() -> Result<()> {
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
async fn who_cannot_be_believed_is_refused() -> Result<()> {
    let case = Case::begin("access").await?;
    let mut said = Transcript::default();
    let token = case.token("default").await?;
    let (body, _) = token.rsplit_once('.').context("no signature")?;
    for (label, token) in [("nonsense", "nonsense"), ("forged", &format!("{body}.AAAA"))] {
        said.add(label, &case.with_token(token).await?.get("configmaps").await?);
    }
    assert_snapshot!(said, @"
    nonsense: 401 Unauthorized: Unauthorized
    forged: 401 Unauthorized: Unauthorized
    ");
    Ok(())
}

#[tokio::test]
async fn the_token_of_a_deleted_account_is_worth_nothing() -> Result<()> {
    let case = Case::begin("access").await?;
    case.create("serviceaccounts", &json!({ "metadata": { "name": "gone" } })).await?.object()?;
    let token = case.token("gone").await?;
    let account = case.with_token(&token).await?;
    assert_eq!(account.get("configmaps").await?.status, 403);
    case.delete("serviceaccounts/gone").await?.object()?;
    wait::until("the token to be refused", || async {
        Ok((account.get("configmaps").await?.status == 401).then_some(()))
    })
    .await
}

#[tokio::test]
async fn a_token_review_tells_whose_a_token_is() -> Result<()> {
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
