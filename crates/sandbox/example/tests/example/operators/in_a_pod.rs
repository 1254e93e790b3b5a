//! Operators in pods, with the permissions of their releases.

use anyhow::Result;
use fairway_api::Conditions as _;
use serde_json::json;

use super::support::{Component, is};

#[tokio::test(flavor = "multi_thread")]
async fn operator_installs_updates_and_follows_behaviour() -> Result<()> {
    let network = Component::install("network", "5.0.0").await?;
    let status =
        network.until("at 5.0.0", |status| status.version_of("operator") == Some("5.0.0")).await?;
    assert!(is(&status, "Available", true), "{status:?}");

    network
        .configure(json!({ "degraded": "One link is down.", "not-upgradeable": "Not now." }))
        .await?;
    let status = network.until("Degraded", |status| is(status, "Degraded", true)).await?;
    assert!(is(&status, "Available", true) && is(&status, "Upgradeable", false), "{status:?}");
    let message = status.conditions.find("Degraded").and_then(|it| it.message.as_deref());
    assert_eq!(message, Some("One link is down."));

    network.configure(json!({ "stuck": "It waits.", "degraded": null })).await?;
    network.apply("5.0.1").await?;
    let status = network.until("stuck", |status| is(status, "Progressing", true)).await?;
    assert_eq!(status.version_of("operator"), Some("5.0.0"));
    let message = status.conditions.find("Progressing").and_then(|it| it.message.clone());
    assert_eq!(message.as_deref(), Some("Updating from 5.0.0 to 5.0.1. It waits."));

    network.configure(json!({ "stuck": null, "unavailable": "All links are down." })).await?;
    let status =
        network.until("at 5.0.1", |status| status.version_of("operator") == Some("5.0.1")).await?;
    assert!(is(&status, "Available", false), "{status:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_crash_is_restarted() -> Result<()> {
    let fragile = Component::install("fragile", "5.1.0").await?;
    let status = fragile.until("Degraded", |status| is(status, "Degraded", true)).await?;
    assert_eq!(status.version_of("operator"), None, "it is Degraded on its way alone");
    fragile.until("at 5.1.0", |status| is(status, "Degraded", false)).await?;

    fragile.configure(json!({ "crash": "Configured crash." })).await?;
    fragile.until_restarted().await?;
    fragile.configure(json!({ "crash": null, "degraded": "It remembers." })).await?;
    fragile.until("back", |status| is(status, "Degraded", true)).await?;
    Ok(())
}
