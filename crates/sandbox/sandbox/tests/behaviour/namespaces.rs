//! Namespaces.

use anyhow::{Context, Result};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Case, Transcript, config_map, held_config_map};

/// An additional namespace that the case may delete.
async fn another(case: &Case) -> Result<String> {
    let namespace = json!({ "metadata": { "name": format!("{}-2", case.ns()) } });
    let created = case.create_outside("/api/v1/namespaces", &namespace).await?.object()?;
    Ok(format!("/api/v1/namespaces/{}", created["metadata"]["name"].as_str().context("no name")?))
}

/// A deleted namespace with an object that has a finalizer.
async fn waiting(case: &Case) -> Result<String> {
    let path = another(case).await?;
    case.create(&format!("{path}/configmaps"), &held_config_map("held")).await?.object()?;
    case.delete(&path).await?.object()?;
    Ok(path)
}

#[tokio::test]
async fn new_namespace_is_active_with_defaults() -> Result<()> {
    let case = Case::begin("namespace").await?;
    let namespace = case.get("/api/v1/namespaces/{ns}").await?.object()?;
    assert_eq!(namespace["status"], json!({ "phase": "Active" }));
    assert_eq!(namespace["spec"], json!({ "finalizers": ["kubernetes"] }));
    case.until("serviceaccounts/default", "to be there", |_| true).await?;
    let root = case.until("configmaps/kube-root-ca.crt", "to be there", |_| true).await?;
    let certificate = root["data"]["ca.crt"].as_str().unwrap_or_default();
    assert!(certificate.starts_with("-----BEGIN CERTIFICATE-----"), "{certificate}");
    Ok(())
}

#[tokio::test]
async fn namespace_deletion_deletes_content() -> Result<()> {
    let case = Case::begin("namespace").await?;
    let path = another(&case).await?;
    for name in ["a", "b"] {
        case.create(&format!("{path}/configmaps"), &config_map(name, json!({}))).await?.object()?;
    }
    let deleted = case.delete(&path).await?;
    assert_eq!(deleted.status, 200);
    let deleted = deleted.object()?;
    assert_eq!(deleted["kind"], "Namespace");
    assert!(deleted["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(deleted["status"]["phase"], "Terminating");
    case.until_gone(&path).await?;
    assert_eq!(case.get(&format!("{path}/configmaps/a")).await?.status, 404);
    Ok(())
}

#[tokio::test]
async fn terminating_namespace_refuses_new_objects() -> Result<()> {
    let case = Case::begin("namespace").await?;
    let path = waiting(&case).await?;
    let mut transcript = Transcript::default();
    let refused = case.create(&format!("{path}/configmaps"), &config_map("new", json!({}))).await?;
    transcript.add("create", &refused);
    let changed =
        case.merge(&format!("{path}/configmaps/held"), &json!({ "data": { "k": "v" } })).await?;
    transcript.line("change", changed.status);
    assert_snapshot!(transcript, @r#"
    create: 403 Forbidden: configmaps "new" is forbidden: unable to create new content in namespace NS-2 because it is being terminated
      about {"kind":"configmaps","name":"new"}
      NamespaceTerminating metadata.namespace: namespace NS-2 is being terminated
    change: 200
    "#);
    case.release(&format!("{path}/configmaps/held")).await?;
    case.until_gone(&path).await
}

#[tokio::test]
async fn terminating_namespace_reports_remaining_content() -> Result<()> {
    let case = Case::begin("namespace").await?;
    let path = waiting(&case).await?;
    let namespace = case
        .until(&path, "conditions", |namespace| {
            conditions(namespace)
                .iter()
                .any(|it| it.starts_with("NamespaceFinalizersRemaining True"))
        })
        .await?;
    assert_snapshot!(conditions(&namespace).join("\n"), @"
    NamespaceContentRemaining True SomeResourcesRemain Some resources are remaining: configmaps. has 1 resource instances
    NamespaceDeletionContentFailure False ContentDeleted All content successfully deleted, may be waiting on finalization
    NamespaceDeletionDiscoveryFailure False ResourcesDiscovered All resources successfully discovered
    NamespaceDeletionGroupVersionParsingFailure False ParsedGroupVersions All legacy kube types successfully parsed
    NamespaceFinalizersRemaining True SomeFinalizersRemain Some content in the namespace has finalizers remaining: example.com/wait in 1 resource instances
    ");
    case.release(&format!("{path}/configmaps/held")).await?;
    Ok(())
}

/// The conditions, one per line, sorted by type.
fn conditions(namespace: &Value) -> Vec<String> {
    let conditions = namespace["status"]["conditions"].as_array().into_iter().flatten();
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let mut lines: Vec<String> = conditions
        .map(|it| [&it["type"], &it["status"], &it["reason"], &it["message"]].map(word).join(" "))
        .collect();
    lines.sort();
    lines
}

#[tokio::test]
async fn namespace_finalizer_delays_deletion() -> Result<()> {
    let case = Case::begin("namespace").await?;
    let path = another(&case).await?;
    case.merge(&path, &json!({ "metadata": { "finalizers": ["example.com/wait"] } }))
        .await?
        .object()?;
    case.create(&format!("{path}/configmaps"), &config_map("a", json!({}))).await?.object()?;
    case.delete(&path).await?.object()?;
    case.until_gone(&format!("{path}/configmaps/a")).await?;
    assert_eq!(case.get(&path).await?.status, 200);
    case.release(&path).await?;
    case.until_gone(&path).await
}

#[tokio::test]
async fn protected_namespaces_cannot_be_deleted() -> Result<()> {
    let case = Case::begin("namespace").await?;
    let mut transcript = Transcript::default();
    for name in ["default", "kube-system", "kube-public"] {
        transcript.add(name, &case.delete(&format!("/api/v1/namespaces/{name}?dryRun=All")).await?);
    }
    assert_snapshot!(transcript, @r#"
    default: 403 Forbidden: namespaces "default" is forbidden: this namespace may not be deleted
      about {"kind":"namespaces","name":"default"}
    kube-system: 403 Forbidden: namespaces "kube-system" is forbidden: this namespace may not be deleted
      about {"kind":"namespaces","name":"kube-system"}
    kube-public: 403 Forbidden: namespaces "kube-public" is forbidden: this namespace may not be deleted
      about {"kind":"namespaces","name":"kube-public"}
    "#);
    Ok(())
}

#[tokio::test]
async fn namespace_deletion_deletes_custom_resources() -> Result<()> {
    let case = Case::begin("namespace").await?;
    case.define(&json!({ "type": "object" })).await?;
    let path = another(&case).await?;
    let name = path.rsplit('/').next().unwrap_or_default();
    let collection = format!("/apis/{}.test/v1/namespaces/{name}/widgets", case.ns());
    case.create(&collection, &case.widget("w", &json!({}))).await?.object()?;
    case.delete(&path).await?.object()?;
    case.until_gone(&path).await?;
    assert_eq!(case.get(&format!("{collection}/w")).await?.status, 404);
    Ok(())
}
