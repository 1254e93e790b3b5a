//! What is retrieved, and what is not.

use anyhow::Result;
use serde_json::json;

use super::platform::{Platform, ask, history, reaches, refused};
use crate::support::{Operated, graph_data, prometheus};

const VERSIONS: [&str; 2] = ["5.1.0", "5.1.1"];

/// A platform, and a cluster with its first release.
async fn start() -> Result<Option<(Platform, Operated)>> {
    let Some(platform) = Platform::new(&VERSIONS)? else { return Ok(None) };
    let data = graph_data(&VERSIONS, &[]);
    let data: Vec<_> = data.iter().map(|(name, text)| (&name[..], &text[..])).collect();
    let graph = platform.graph(&data).await?;
    let nobody = prometheus("http://127.0.0.1:9")?;
    let operated = platform.cluster("stable-5.1", &graph.url(), nobody, |_| {}).await?;
    Ok(Some((platform, operated)))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_signed_is_refused_until_somebody_does() -> Result<()> {
    let Some((platform, mut operated)) = start().await? else { return Ok(()) };
    ask(&operated, json!({"image": platform.image("5.1.1")})).await?;
    let told = refused(&operated, "RetrievePayload").await?;
    assert!(told.contains("cannot be verified"), "{told}");
    assert!(told.contains("no signature in the cluster"), "{told}");

    platform.sign(&operated, "5.1.1").await?;
    let status = reaches(&operated, "5.1.1").await?;
    assert!(status.history[0].verified);
    assert_eq!(status.desired.version, "5.1.1");
    assert_eq!(history(&status), ["5.1.1", "5.1.0"]);
    operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn signatures_of_others_and_of_other_images_do_not_count() -> Result<()> {
    let Some((platform, mut operated)) = start().await? else { return Ok(()) };
    platform.forge(&operated, "5.1.1").await?;
    platform.sign_with_that_of_another(&operated, "5.1.1").await?;
    ask(&operated, json!({"image": platform.image("5.1.1")})).await?;
    let told = refused(&operated, "RetrievePayload").await?;
    assert_eq!(told.matches(" rejected for ").count(), 2, "{told}");
    operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_has_to_have_the_version_that_was_asked_for() -> Result<()> {
    let Some((platform, mut operated)) = start().await? else { return Ok(()) };
    platform.sign(&operated, "5.1.1").await?;
    ask(&operated, json!({"image": platform.image("5.1.1"), "version": "5.1.2"})).await?;
    let told = refused(&operated, "VerifyPayloadVersion").await?;
    assert!(told.contains("5.1.1 does not match the expected version 5.1.2"), "{told}");
    ask(&operated, json!({"version": "5.1.1"})).await?;
    reaches(&operated, "5.1.1").await?;
    operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_nowhere_is_told_with_every_place() -> Result<()> {
    let Some((_platform, mut operated)) = start().await? else { return Ok(()) };
    let image = format!("127.0.0.1:9/release@sha256:{}", "0".repeat(64));
    ask(&operated, json!({"image": image, "force": true})).await?;
    let told = refused(&operated, "RetrievePayload").await?;
    assert!(told.contains("oci:") && told.contains("127.0.0.1:9/release: "), "{told}");
    operated.stop().await
}
