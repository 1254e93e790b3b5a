//! Asking what somebody may do.

use anyhow::{Context, Result};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{allow, name, rule, until_allowed};
use crate::support::{Caller, Case, Transcript};

const REVIEWS: &str = "/apis/authorization.k8s.io/v1";

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
