//! Retrieval of releases.

use anyhow::Result;
use serde_json::json;

use super::platform::{Platform, ask, history, reaches, refused};
use crate::support::{OperatedCluster, graph_data, prometheus};

const VERSIONS: [&str; 2] = ["5.1.0", "5.1.1"];

/// A platform, and a cluster with its first release.
async fn start() -> Result<Option<(Platform, OperatedCluster)>> {
    let Some(platform) = Platform::new(&VERSIONS)? else { return Ok(None) };
    let data = graph_data(&VERSIONS, &[]);
    let data: Vec<_> = data.iter().map(|(name, text)| (&name[..], &text[..])).collect();
    let graph = platform.graph(&data).await?;
    let no_metrics = prometheus("http://127.0.0.1:9")?;
    let operated = platform.cluster("stable-5.1", &graph.url(), no_metrics, |_| {}).await?;
    Ok(Some((platform, operated)))
}

#[tokio::test(flavor = "multi_thread")]
async fn release_without_signature_is_refused_until_signed() -> Result<()> {
    let Some((platform, mut operated)) = start().await? else { return Ok(()) };
    ask(&operated, json!({"image": platform.image("5.1.1")})).await?;
    let message = refused(&operated, "RetrievePayload").await?;
    assert!(message.contains("cannot be verified"), "{message}");
    assert!(message.contains("no signature in the cluster"), "{message}");

    platform.sign(&operated, "5.1.1").await?;
    let status = reaches(&operated, "5.1.1").await?;
    assert!(status.history[0].verified);
    assert_eq!(status.desired.version, "5.1.1");
    assert_eq!(history(&status), ["5.1.1", "5.1.0"]);
    operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn release_with_other_signatures_is_refused() -> Result<()> {
    let Some((platform, mut operated)) = start().await? else { return Ok(()) };
    platform.forge(&operated, "5.1.1").await?;
    platform.sign_with_that_of_another(&operated, "5.1.1").await?;
    ask(&operated, json!({"image": platform.image("5.1.1")})).await?;
    let message = refused(&operated, "RetrievePayload").await?;
    assert_eq!(message.matches(" rejected for ").count(), 2, "{message}");
    operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn release_with_other_version_is_refused() -> Result<()> {
    let Some((platform, mut operated)) = start().await? else { return Ok(()) };
    platform.sign(&operated, "5.1.1").await?;
    ask(&operated, json!({"image": platform.image("5.1.1"), "version": "5.1.2"})).await?;
    let message = refused(&operated, "VerifyPayloadVersion").await?;
    assert!(message.contains("5.1.1 does not match the expected version 5.1.2"), "{message}");
    ask(&operated, json!({"version": "5.1.1"})).await?;
    reaches(&operated, "5.1.1").await?;
    operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn release_that_is_missing_is_reported_with_all_sources() -> Result<()> {
    let Some((_platform, mut operated)) = start().await? else { return Ok(()) };
    let image = format!("127.0.0.1:9/release@sha256:{}", "0".repeat(64));
    ask(&operated, json!({"image": image, "force": true})).await?;
    let message = refused(&operated, "RetrievePayload").await?;
    assert!(message.contains("oci:") && message.contains("127.0.0.1:9/release: "), "{message}");
    operated.stop().await
}
