//! Access reviews.

use anyhow::{Context, Result};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{allow, name, rule, until_allowed};
use crate::support::{ApiClient, Case, Transcript};

const REVIEWS: &str = "/apis/authorization.k8s.io/v1";

async fn review(caller: &ApiClient, kind: &str, spec: &Value) -> Result<Value> {
    let plural = format!("{}s", kind.to_lowercase());
    let review = json!({ "apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec });
    let answer = caller.create(&format!("{REVIEWS}/{plural}"), &review).await?;
    assert_eq!(answer.status, 201);
    answer.object()
}

#[tokio::test]
async fn access_reviews_return_decision() -> Result<()> {
    let case = Case::begin("access").await?;
    let user = name(&case, "reviewed");
    allow(&case, &user, &json!([rule(&[""], &["configmaps"], &["get"])])).await?;
    until_allowed(&case.user(&user)?, "configmaps/x").await?;
    let mut transcript = Transcript::default();
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
        transcript.line(format!("{verb} {resource} {place}"), &reviewed["status"]["allowed"]);
    }
    let own = json!({ "resourceAttributes": { "verb": "delete", "resource": "nodes" } });
    transcript
        .line("admin", &review(&case, "SelfSubjectAccessReview", &own).await?["status"]["allowed"]);
    let path =
        json!({ "user": user, "nonResourceAttributes": { "verb": "get", "path": "/metrics" } });
    transcript
        .line("path", &review(&case, "SubjectAccessReview", &path).await?["status"]["allowed"]);
    assert_snapshot!(transcript, @"
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
async fn subject_access_review_needs_permission() -> Result<()> {
    let case = Case::begin("access").await?;
    let user = case.user("guest")?.with_header("impersonate-group", "system:authenticated")?;
    let attributes = json!({ "verb": "get", "resource": "pods", "namespace": case.ns() });
    let own =
        review(&user, "SelfSubjectAccessReview", &json!({ "resourceAttributes": attributes }))
            .await?;
    assert_eq!(own["status"]["allowed"], false);
    let others = json!({ "spec": { "user": "x", "resourceAttributes": attributes } });
    let answer = user.create(&format!("{REVIEWS}/subjectaccessreviews"), &others).await?;
    assert_snapshot!(answer.shown(), @r#"
    403 Forbidden: subjectaccessreviews.authorization.k8s.io is forbidden: User "guest" cannot create resource "subjectaccessreviews" in API group "authorization.k8s.io" at the cluster scope
      about {"group":"authorization.k8s.io","kind":"subjectaccessreviews"}
    "#);
    Ok(())
}

#[tokio::test]
async fn invalid_access_reviews_are_refused() -> Result<()> {
    let case = Case::begin("access").await?;
    let mut transcript = Transcript::default();
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
        transcript.line(
            format!("{kind} {spec}").replace(case.ns(), "NS"),
            case.create(&format!("{REVIEWS}/{kind}"), &json!({ "spec": spec })).await?.fields(),
        );
    }
    assert_snapshot!(transcript, @r#"
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
async fn self_subject_rules_review_lists_rules() -> Result<()> {
    let case = Case::begin("access").await?;
    let user = name(&case, "rules");
    allow(&case, &user, &json!([rule(&[""], &["configmaps"], &["get"])])).await?;
    let user = case.user(&user)?;
    until_allowed(&user, "configmaps/x").await?;
    let user = user.with_header("impersonate-group", "system:authenticated")?;
    let reviewed =
        review(&user, "SelfSubjectRulesReview", &json!({ "namespace": case.ns() })).await?;
    let rules = reviewed["status"]["resourceRules"].as_array().context("no rules")?;
    let expected = json!({ "verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"] });
    assert!(rules.contains(&expected), "{rules:?}");
    assert_eq!(reviewed["status"]["incomplete"], false);
    Ok(())
}
