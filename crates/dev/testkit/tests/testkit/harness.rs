//! The guarantees of the harness.

use std::fs;
use std::path::Path;

use anyhow::Result;
use fairway_api::ClusterVersion;
use fairway_registry::ImageConfig;
use fairway_registry::program::libraries;
use fairway_testkit::{TestCluster, environment, images, objects};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ListParams, PostParams};

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn pushed_directory_runs_in_a_pod() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    assert!(cluster.has_node().await?);
    let directory = tempfile::tempdir()?;
    copy_program(Path::new("/bin/cat"), directory.path())?;
    fs::write(directory.path().join("greeting"), "hello from a directory\n")?;
    let config = ImageConfig { entrypoint: vec!["/bin/cat".into()], ..ImageConfig::default() };
    let registry = environment::registry()?;
    let image = images::push_directory(&registry, "greeting", directory.path(), &config).await?;

    let namespace = cluster.namespace("directory").await?;
    let log = namespace.run(&objects::run_once("greeting", &image, &["/greeting"])).await?;
    assert_eq!(log, "hello from a directory\n");
    Ok(())
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn failing_command_returns_its_log_in_a_pod() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let namespace = cluster.namespace("failing").await?;
    let image = environment::fairway_image()?;
    let failed = namespace.run(&objects::run_once("failing", &image, &["crds", "--bogus"])).await;
    let error = failed.unwrap_err().to_string();
    assert!(error.contains("unexpected argument '--bogus'"), "{error}");
    Ok(())
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn dropped_namespace_is_deleted() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let namespaces: kube::Api<Namespace> = kube::Api::all(cluster.client());
    let namespace = cluster.namespace("passing").await?;
    let name = namespace.name().to_owned();
    assert!(name.starts_with("passing-"));
    drop(namespace);
    let left = namespaces.get_opt(&name).await?;
    assert!(left.is_none_or(|left| left.metadata.deletion_timestamp.is_some()));
    Ok(())
}

#[tokio::test]
async fn sandbox_serves_in_process_and_over_tls() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let namespace = cluster.namespace("reached").await?;
    let name = namespace.name().to_owned();
    let cluster = cluster.over_tls().await?;
    let mark = cluster.audit_log()?.mark()?;
    let namespaces: kube::Api<Namespace> = kube::Api::all(cluster.client());
    assert!(namespaces.get_opt(&name).await?.is_some());
    let events = cluster.audit_log()?.since(mark)?;
    assert!(events.iter().any(|event| event.is_about("namespaces")), "{events:?}");
    drop(namespace);
    let left = namespaces.get_opt(&name).await?;
    assert!(left.is_none_or(|left| left.metadata.deletion_timestamp.is_some()));
    Ok(())
}

#[tokio::test]
async fn exclusive_cluster_has_the_update_api() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let versions: kube::Api<ClusterVersion> = kube::Api::all(cluster.client());
    versions.create(&PostParams::default(), &objects::cluster_version()).await?;
    assert_eq!(versions.list(&ListParams::default()).await?.items.len(), 1);
    Ok(())
}

/// Copies a binary and its libraries to the same paths below a directory.
fn copy_program(program: &Path, directory: &Path) -> Result<()> {
    for file in libraries(program)?.into_iter().chain([program.to_owned()]) {
        let copy = directory.join(file.strip_prefix("/")?);
        fs::create_dir_all(copy.parent().unwrap_or(directory))?;
        fs::copy(&file, copy)?;
    }
    Ok(())
}
