//! Privilege escalation prevention.

use anyhow::Result;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{allow, name, rule, until_allowed};
use crate::support::{Case, Transcript};

#[tokio::test]
async fn granting_more_than_own_permissions_is_forbidden() -> Result<()> {
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
    let mut transcript = Transcript::default();
    let beyond = role("beyond", json!([rule(&[""], &["secrets"], &["get", "list"])]));
    transcript.add("role", &user.create("roles", &beyond).await?);
    let more = json!({ "rules": beyond["rules"] });
    transcript.add("patched role", &user.merge("roles/within", &more).await?);
    case.create("roles", &beyond).await?.object()?;
    let binding = json!({
        "metadata": { "name": "beyond" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "beyond" },
    });
    transcript.add("binding", &user.create("rolebindings", &binding).await?);
    assert_snapshot!(transcript, @r#"
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
async fn binding_role_ref_is_immutable() -> Result<()> {
    let case = Case::begin("access").await?;
    let binding = json!({
        "metadata": { "name": "b" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "one" },
    });
    case.create("rolebindings", &binding).await?.object()?;
    let mut transcript = Transcript::default();
    let patch = json!({ "roleRef": { "name": "two" } });
    transcript.line("another role", case.merge("rolebindings/b", &patch).await?.fields());
    for role in [
        json!({ "kind": "Pod", "name": "x" }),
        json!({ "kind": "Role", "name": "" }),
        json!({ "apiGroup": "v1", "kind": "Role", "name": "x" }),
    ] {
        let binding = json!({ "metadata": { "name": "c" }, "roleRef": role });
        transcript.add(&role, &case.create("rolebindings", &binding).await?);
    }
    for subject in [json!({ "kind": "User", "name": "" }), json!({ "kind": "Robot", "name": "x" })]
    {
        let mut binding = binding.clone();
        binding["metadata"]["name"] = json!("d");
        binding["subjects"] = json!([subject]);
        transcript.add(&subject, &case.create("rolebindings", &binding).await?);
    }
    assert_snapshot!(transcript, @r#"
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
async fn invalid_rules_are_refused() -> Result<()> {
    let case = Case::begin("access").await?;
    let mut transcript = Transcript::default();
    for rules in [
        json!([{}]),
        json!([{ "verbs": ["get"] }]),
        json!([{ "verbs": ["get"], "apiGroups": [""] }]),
        json!([{ "verbs": ["get"], "nonResourceURLs": ["/x"] }]),
    ] {
        let role = json!({ "metadata": { "name": "r" }, "rules": rules });
        transcript.add(&rules, &case.create("roles", &role).await?);
    }
    assert_snapshot!(transcript, @r#"
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
