//! Decisions after a restart of the operator.

use anyhow::Result;
use fairway_api::cluster_version::ClusterVersionStatus;
use fairway_operator::settings::UnacceptedRiskPolicy;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use serde_json::json;

use super::platform::{Platform, ask, delete_signatures, history, reaches, refused};
use crate::conditional_updates::snapshot;
use crate::support::{OperatedCluster, graph_data, prometheus, reason};

const VERSIONS: [&str; 2] = ["5.1.0", "5.1.1"];

#[tokio::test(flavor = "multi_thread")]
async fn restart_during_update_resumes_without_gate() -> Result<()> {
    let Some(platform) = Platform::new(&VERSIONS)? else { return Ok(()) };
    let data = graph_data(&VERSIONS, &[("5.1.1", "DiskLoss", "exposed")]);
    let data: Vec<_> = data.iter().map(|(name, text)| (&name[..], &text[..])).collect();
    let (graph, directory) = (platform.graph(&data).await?, tempfile::tempdir()?);
    let metrics = snapshot(&directory, "exposed 1\n")?;
    let mut operated = platform
        .cluster("stable-5.1", &graph.url(), metrics, |settings| {
            settings.target.unaccepted_risks = UnacceptedRiskPolicy::Record;
        })
        .await?;
    platform.sign(&operated, "5.1.1").await?;
    ask(&operated, json!({"version": "5.1.1"})).await?;
    let before = reaches(&operated, "5.1.1").await?;
    operated.stop().await?;

    // Today the risk gate would refuse it.
    operated.settings.target.unaccepted_risks = UnacceptedRiskPolicy::Gate;
    operated.start();
    // An object that only the current operator can have written.
    ask(&operated, json!({"acceptRisks": [{"name": "Other"}]})).await?;
    let generation = before.observed_generation + 1;
    let after = operated
        .status("the operator to resume", |status| {
            status.observed_generation >= generation
                && reason(status, "ReleaseAccepted") == "PayloadLoaded"
        })
        .await?;
    assert_eq!(history(&after), ["5.1.1", "5.1.0"]);
    assert_eq!(after.history, before.history, "verified, with the risks, times and all");
    assert_eq!(after.desired.version, "5.1.1");

    // A withdrawn request keeps a complete release, whatever release the operator is from.
    operated.patch_spec(json!({"desiredUpdate": null})).await?;
    let kept = operated
        .status("the request to be gone", |status| status.observed_generation > generation)
        .await?;
    assert_eq!(kept.history, before.history);
    assert_eq!(reason(&kept, "ReleaseAccepted"), "PayloadLoaded");
    assert_eq!(kept.desired.version, "5.1.1");

    // A rollback to the operator's own release is an update like any other.
    ask(&operated, json!({"version": "5.1.0"})).await?;
    let back = reaches(&operated, "5.1.0").await?;
    assert_eq!(history(&back), ["5.1.0", "5.1.1", "5.1.0"]);
    assert!(back.history[0].accepted_risks.is_some(), "it is not offered");
    operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn rollback_across_minor_version_to_own_release_is_refused() -> Result<()> {
    let Some(platform) = Platform::new(&["5.1.0", "5.2.0"])? else { return Ok(()) };
    let data = graph_data(&["5.1.0", "5.2.0"], &[]);
    let data: Vec<_> = data.iter().map(|(name, text)| (&name[..], &text[..])).collect();
    let graph = platform.graph(&data).await?;
    let no_metrics = prometheus("http://127.0.0.1:9")?;
    let mut operated = platform.cluster("stable-5.1", &graph.url(), no_metrics, |_| {}).await?;
    platform.sign(&operated, "5.2.0").await?;
    ask(&operated, json!({"version": "5.2.0"})).await?;
    reaches(&operated, "5.2.0").await?;
    ask(&operated, json!({"version": "5.1.0"})).await?;
    let message = refused(&operated, "PreconditionChecks").await?;
    assert!(message.contains("LowDesiredVersion"), "{message}");
    assert_eq!(marker(&operated).await?, "5.2.0");
    operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn restart_with_unreadable_release_reports_it_and_keeps_update() -> Result<()> {
    let Some(platform) = Platform::new(&VERSIONS)? else { return Ok(()) };
    let data = graph_data(&VERSIONS, &[]);
    let data: Vec<_> = data.iter().map(|(name, text)| (&name[..], &text[..])).collect();
    let graph = platform.graph(&data).await?;
    let no_metrics = prometheus("http://127.0.0.1:9")?;
    let mut operated = platform.cluster("stable-5.1", &graph.url(), no_metrics, |_| {}).await?;
    platform.sign(&operated, "5.1.1").await?;
    // No server listens on this port, but the image is in a layout.
    let image = platform.image("5.1.1").replace("registry.example", "127.0.0.1:9");
    ask(&operated, json!({"image": image})).await?;
    let before = reaches(&operated, "5.1.1").await?;
    operated.stop().await?;

    let layouts = std::mem::take(&mut operated.settings.target.images);
    operated.start();
    let message = refused(&operated, "RetrievePayload").await?;
    assert!(message.contains("127.0.0.1:9/release: "), "{message}");
    assert_eq!(marker(&operated).await?, "5.1.1");
    operated.stop().await?;

    operated.settings.target.images = layouts;
    operated.start();
    let after = operated
        .status("the release to be read", |status| {
            reason(status, "ReleaseAccepted") == "PayloadLoaded"
        })
        .await?;
    assert_eq!(after.history, before.history);
    assert_eq!(marker(&operated).await?, "5.1.1");
    operated.stop().await
}

/// Waits until the operator has accepted a release for a later generation of the spec than that of
/// a status: only an operator that runs now can report it.
async fn resumes(operated: &OperatedCluster, before: &ClusterVersionStatus) -> Result<()> {
    ask(
        operated,
        json!({"acceptRisks": [{"name": format!("Other{}", before.observed_generation)}]}),
    )
    .await?;
    let resumed = operated.status("the rollout to be resumed", |status| {
        status.observed_generation > before.observed_generation
            && reason(status, "ReleaseAccepted") == "PayloadLoaded"
    });
    let resumed = resumed.await?;
    assert_eq!(resumed.history, before.history);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn restart_during_update_verifies_signature_again() -> Result<()> {
    let Some(platform) = Platform::new(&VERSIONS)? else { return Ok(()) };
    let no_metrics = prometheus("http://127.0.0.1:9")?;
    let mut operated = platform.cluster("", "http://127.0.0.1:9", no_metrics, |_| {}).await?;
    platform.sign(&operated, "5.1.1").await?;
    ask(&operated, json!({"image": platform.image("5.1.1")})).await?;
    let before = reaches(&operated, "5.1.1").await?;
    assert!(before.history[0].verified);
    operated.stop().await?;

    // As if a client had written the history of an update that no operator accepted.
    delete_signatures(&operated).await?;
    operated.start();
    let message = refused(&operated, "RetrievePayload").await?;
    assert!(message.contains("the update cannot be verified"), "{message}");
    platform.sign(&operated, "5.1.1").await?;
    let resumed = |status: &_| reason(status, "ReleaseAccepted") == "PayloadLoaded";
    let after = operated.status("the rollout to be resumed", resumed).await?;
    assert_eq!(after.history, before.history);
    operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn restart_during_forced_update_requires_force_in_spec() -> Result<()> {
    let Some(platform) = Platform::new(&VERSIONS)? else { return Ok(()) };
    let no_metrics = prometheus("http://127.0.0.1:9")?;
    let mut operated = platform.cluster("", "http://127.0.0.1:9", no_metrics, |_| {}).await?;
    ask(&operated, json!({"image": platform.image("5.1.1"), "force": true})).await?;
    let before = reaches(&operated, "5.1.1").await?;
    assert!(!before.history[0].verified);
    operated.stop().await?;

    operated.start();
    resumes(&operated, &before).await?;
    operated.stop().await?;

    ask(&operated, json!({"force": null})).await?;
    operated.start();
    let message = refused(&operated, "RetrievePayload").await?;
    assert!(message.contains("the update cannot be verified"), "{message}");
    ask(&operated, json!({"force": true})).await?;
    let resumed = |status: &_| reason(status, "ReleaseAccepted") == "PayloadLoaded";
    operated.status("the rollout to be resumed", resumed).await?;
    operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn restart_with_unreadable_release_gates_and_accepts_another() -> Result<()> {
    let versions = ["5.1.0", "5.1.1", "5.1.2", "5.2.0"];
    let Some(platform) = Platform::new(&versions)? else { return Ok(()) };
    let data = graph_data(&versions, &[("5.1.2", "DiskLoss", "exposed")]);
    let data: Vec<_> = data.iter().map(|(name, text)| (&name[..], &text[..])).collect();
    let (graph, directory) = (platform.graph(&data).await?, tempfile::tempdir()?);
    let metrics = snapshot(&directory, "exposed 1\n")?;
    let mut operated = platform.cluster("stable-5.1", &graph.url(), metrics, |_| {}).await?;
    for version in &versions[1..] {
        platform.sign(&operated, version).await?;
    }
    // No server listens on this port, but the image is in a layout.
    let image = platform.image("5.1.1").replace("registry.example", "127.0.0.1:9");
    ask(&operated, json!({"image": image})).await?;
    reaches(&operated, "5.1.1").await?;
    operated.stop().await?;

    platform.delete("5.1.1")?;
    operated.start();
    refused(&operated, "RetrievePayload").await?;
    ask(&operated, json!({"image": null, "version": "5.1.2"})).await?;
    let message = refused(&operated, "UnacceptedRisks").await?;
    assert!(message.contains("DiskLoss"), "{message}");
    ask(&operated, json!({"acceptRisks": [{"name": "DiskLoss"}]})).await?;
    let status = reaches(&operated, "5.1.2").await?;
    assert_eq!(history(&status), ["5.1.2", "5.1.1", "5.1.0"]);
    assert_eq!(marker(&operated).await?, "5.1.2");
    operated.stop().await
}

/// Version of the release whose object is in the cluster.
async fn marker(operated: &OperatedCluster) -> Result<String> {
    let maps: Api<ConfigMap> =
        Api::namespaced(operated.cluster.client(), "openshift-config-managed");
    let data = maps.get("marker").await?.data.unwrap_or_default();
    Ok(data.get("version").cloned().unwrap_or_default())
}
