//! Installation of operators.

use std::time::Duration;

use anyhow::{Result, ensure};
use fairway_olm::{CertificateSettings, Settings};
use fairway_testkit::wait;
use serde_json::json;

use crate::support::{Platform, up_to, with_property};

#[tokio::test]
async fn install_of_incompatible_operator_is_refused() -> Result<()> {
    let platform = Platform::begin(Some("4.7.2")).await?;
    platform.install("before.v1", up_to("4.6")).await.map_err(anyhow::Error::msg)?;
    let guard = platform.start(platform.settings()?)?;
    let message = platform.until_refused("4.6").await?;
    insta::assert_snapshot!(message, @r#"admission webhook "olm-guard.fairway.dev" denied the request: the operator NS/too-old supports OpenShift up to 4.6, but this cluster runs 4.7: choose a version of the operator that supports 4.7"#);

    // Installed operators may be changed and deleted.
    platform.change("before.v1", up_to("4.5")).await?;
    platform.uninstall("before.v1").await?;
    let mut copy = up_to("4.6");
    copy["labels"] = json!({ "olm.copiedFrom": "elsewhere" });
    for (name, metadata) in [
        ("same.v1", up_to("4.7")),
        ("later.v1", with_property("4.10")),
        ("silent.v1", json!({})),
        ("vague.v1", up_to("4.x")),
        ("copy.v1", copy),
    ] {
        platform.install(name, metadata).await.map_err(anyhow::Error::msg)?;
    }
    let refused = platform.install("property.v1", with_property("4.6")).await;
    ensure!(refused.is_err(), "the property does not count");
    guard.stop().await
}

#[tokio::test]
async fn install_of_update_is_allowed() -> Result<()> {
    let platform = Platform::begin(Some("4.7.2")).await?;
    platform.install("etcd.v1.0", up_to("4.6")).await.map_err(anyhow::Error::msg)?;
    let mut copy = up_to("4.6");
    copy["labels"] = json!({ "olm.copiedFrom": "elsewhere" });
    platform.install("copy.v1.0", copy).await.map_err(anyhow::Error::msg)?;
    let guard = platform.start(platform.settings()?)?;
    platform.until_refused("4.6").await?;
    let step = |name: &str, replaces: &str| {
        let mut metadata = up_to("4.6");
        metadata["name"] = json!(name);
        json!({ "metadata": metadata, "spec": { "replaces": replaces } })
    };
    let kind = "ClusterServiceVersion";
    platform.put(kind, "etcd.v1.1", step("etcd.v1.1", "etcd.v1.0")).await?;
    for (name, replaces) in [("kafka.v1.1", "kafka.v1.0"), ("copy.v1.1", "copy.v1.0")] {
        let refused = platform.put(kind, name, step(name, replaces)).await;
        ensure!(refused.is_err(), "{name} replaces no installed operator");
    }
    guard.stop().await
}

#[tokio::test]
async fn install_without_guard_is_allowed() -> Result<()> {
    let platform = Platform::begin(Some("4.7.2")).await?;
    let guard = platform.start(platform.settings()?)?;
    platform.until_refused("4.6").await?;
    guard.stop().await?;
    platform.install("meanwhile.v1", up_to("4.6")).await.map_err(anyhow::Error::msg)?;
    let before = platform.ca_certificates().await?;

    let guard = platform.start(platform.settings()?)?;
    platform.until_refused("4.6").await?;
    assert_eq!(platform.ca_certificates().await?, before);
    guard.stop().await
}

#[tokio::test]
async fn install_during_certificate_renewal_is_refused() -> Result<()> {
    let platform = Platform::begin(Some("4.7.2")).await?;
    let settings = platform.settings()?;
    let guard = platform.start(settings.clone())?;
    platform.until_refused("4.6").await?;
    let old = platform.ca_certificates().await?;
    guard.stop().await?;

    // With this lifetime, the certificate is due for renewal.
    let lifetime = Duration::from_hours(10);
    let certificate = CertificateSettings { lifetime, ..settings.certificate };
    let guard = platform.start(Settings { certificate, ..settings })?;
    platform.until_refused("4.6").await?;
    wait::until("the certificate to be renewed", || async {
        ensure!(platform.install_dry_run("too-old", up_to("4.6")).await.is_err(), "not refused");
        let now = platform.ca_certificates().await?;
        Ok((now.len() == 1 && now != old).then_some(()))
    })
    .await?;
    ensure!(platform.install_dry_run("too-old", up_to("4.6")).await.is_err(), "not refused");
    guard.stop().await
}
