//! Acceptance and refusal of updates.

use anyhow::Result;
use fairway_api::{ClusterOperator, OperatorCondition};
use fairway_operator::settings::UnacceptedRiskPolicy;
use fairway_testkit::objects;
use fairway_testkit::releases::TestRelease;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;

use super::platform::{Platform, ask, history, reaches, refused, release};
use crate::conditional_updates::snapshot;
use crate::support::{Graph, OperatedCluster, graph_data, prometheus};

const VERSIONS: [&str; 5] = ["5.1.0", "5.1.1", "5.1.2", "5.2.0", "5.3.0"];

/// A platform, its update service, and a cluster with one of its releases. One release has a risk
/// that applies.
struct TestSetup {
    platform: Platform,
    operated: OperatedCluster,
    _graph: Graph,
    _metrics: tempfile::TempDir,
}

impl TestSetup {
    async fn new(unaccepted_risks: UnacceptedRiskPolicy) -> Result<Option<Self>> {
        let Some(platform) = Platform::new(&VERSIONS)? else { return Ok(None) };
        let data = graph_data(&VERSIONS[..4], &[("5.1.2", "DiskLoss", "exposed")]);
        let data: Vec<_> = data.iter().map(|(name, text)| (&name[..], &text[..])).collect();
        let (graph, directory) = (platform.graph(&data).await?, tempfile::tempdir()?);
        let metrics = snapshot(&directory, "exposed 1\n")?;
        let operated = platform
            .cluster("stable-5.1", &graph.url(), metrics, |settings| {
                settings.target.unaccepted_risks = unaccepted_risks;
            })
            .await?;
        for version in &VERSIONS[1..] {
            platform.sign(&operated, version).await?;
        }
        Ok(Some(Self { platform, operated, _graph: graph, _metrics: directory }))
    }

    /// Sets `Upgradeable=False` on a component.
    async fn is_not_upgradeable(&self) -> Result<()> {
        let api: Api<ClusterOperator> = Api::all(self.operated.cluster.client());
        let mut dns = objects::cluster_operator("dns");
        api.create(&PostParams::default(), &dns).await?;
        let mut status = objects::working_at("5.1.0");
        let condition = OperatorCondition::new("Upgradeable", false)
            .reason("TooOld")
            .message("The name server is too old.");
        fairway_api::Conditions::set(&mut status.conditions, condition, objects::beginning().0);
        dns = api.get("dns").await?;
        dns.status = Some(status);
        api.replace_status("dns", &PostParams::default(), &dns).await?;
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn update_with_unaccepted_risk_is_refused_until_accepted() -> Result<()> {
    let Some(mut setup) = TestSetup::new(UnacceptedRiskPolicy::Gate).await? else { return Ok(()) };
    let operated = &mut setup.operated;
    ask(operated, json!({"version": "5.1.2"})).await?;
    let message = refused(operated, "UnacceptedRisks").await?;
    assert!(message.contains("DiskLoss"), "{message}");
    assert!(message.ends_with("fairway upgrade accept DiskLoss"), "{message}");
    // The same image with another reference is the same release.
    let image = setup.platform.image("5.1.2").replace("registry.example", "mirror.example");
    ask(operated, json!({"version": null, "image": image})).await?;
    operated.status("the request to be seen", |status| status.observed_generation >= 3).await?;
    refused(operated, "UnacceptedRisks").await?;

    ask(operated, json!({"acceptRisks": [{"name": "DiskLoss"}]})).await?;
    let status = reaches(operated, "5.1.2").await?;
    insta::assert_snapshot!(status.history[0].accepted_risks.as_deref().unwrap(), @"
    Updating from 5.1.0 to 5.1.2 is supported, but not recommended for this cluster.

    Reason: DiskLoss

    DiskLoss may break the cluster. https://example.com/DiskLoss

    Accepted by name: DiskLoss.
    ");
    operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn update_with_recorded_risks_starts() -> Result<()> {
    let Some(mut setup) = TestSetup::new(UnacceptedRiskPolicy::Record).await? else {
        return Ok(());
    };
    let operated = &mut setup.operated;
    ask(operated, json!({"version": "5.1.2"})).await?;
    let status = reaches(operated, "5.1.2").await?;
    let recorded = status.history[0].accepted_risks.as_deref().unwrap();
    assert!(recorded.ends_with("Not accepted by name: DiskLoss."), "{recorded}");
    operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn patch_update_ignores_upgradeable_false() -> Result<()> {
    let Some(mut setup) = TestSetup::new(UnacceptedRiskPolicy::Gate).await? else { return Ok(()) };
    setup.is_not_upgradeable().await?;
    let operated = &mut setup.operated;
    operated
        .status("Upgradeable", |status| {
            crate::support::reason(status, "Upgradeable") == "ClusterOperatorNotUpgradeable"
        })
        .await?;
    ask(operated, json!({"version": "5.2.0"})).await?;
    let message = refused(operated, "UnacceptedRisks").await?;
    assert!(message.contains("ClusterOperatorUpgradeable-dns"), "{message}");
    ask(operated, json!({"version": "5.1.1"})).await?;
    let status = reaches(operated, "5.1.1").await?;
    assert_eq!(status.history[0].accepted_risks, None);
    operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn forced_update_waives_preconditions_and_is_recorded() -> Result<()> {
    let Some(mut setup) = TestSetup::new(UnacceptedRiskPolicy::Gate).await? else { return Ok(()) };
    let operated = &mut setup.operated;
    ask(operated, json!({"image": setup.platform.image("5.3.0")})).await?;
    let message = refused(operated, "PreconditionChecks").await?;
    assert!(message.contains("SkipLevelNotOffered"), "{message}");

    ask(operated, json!({"image": setup.platform.image("5.3.0"), "force": true})).await?;
    let status = reaches(operated, "5.3.0").await?;
    let recorded = status.history[0].accepted_risks.as_deref().unwrap();
    assert!(recorded.contains("The update service does not offer the update"), "{recorded}");
    assert!(
        recorded.contains("Forced through: Precondition \"ClusterVersionGiantHop\""),
        "{recorded}"
    );

    ask(operated, json!({"image": setup.platform.image("5.2.0"), "force": null})).await?;
    let message = refused(operated, "PreconditionChecks").await?;
    assert!(message.contains("LowDesiredVersion"), "{message}");
    operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn request_with_mode_starts_no_update() -> Result<()> {
    let Some(mut setup) = TestSetup::new(UnacceptedRiskPolicy::Gate).await? else { return Ok(()) };
    let operated = &mut setup.operated;
    ask(operated, json!({"version": "5.1.1", "mode": "Preflight"})).await?;
    let status =
        operated.status("the request to be seen", |status| status.observed_generation >= 2).await?;
    assert_eq!(history(&status), ["5.1.0"]);
    assert_eq!(crate::support::reason(&status, "ReleaseAccepted"), "PayloadLoaded");

    // Without the mode it is an update, and a later request with a mode does not end it.
    ask(operated, json!({"mode": null})).await?;
    reaches(operated, "5.1.1").await?;
    ask(operated, json!({"version": "5.2.0", "mode": "Preflight"})).await?;
    let status =
        operated.status("the request to be seen", |status| status.observed_generation >= 4).await?;
    assert_eq!(history(&status), ["5.1.1", "5.1.0"]);
    assert_eq!(status.desired.version, "5.1.1");
    operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn update_during_installation_is_refused() -> Result<()> {
    let Some(platform) = Platform::new(&VERSIONS[..2])? else { return Ok(()) };
    let silent = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
        "metadata": {"name": "silent"},
        "status": {"versions": [{"name": "operator", "version": "5.1.0"}]},
    });
    let release = TestRelease::new("5.1.0").object("0000_10_silent_01", silent);
    let no_metrics = prometheus("http://127.0.0.1:9")?;
    let mut written = Ok(());
    let mut operated = platform
        .installation("", "http://127.0.0.1:9", no_metrics, |settings| {
            written = release.write(&settings.release.payload);
        })
        .await?;
    written?;
    operated.status("the installation to begin", |status| !status.history.is_empty()).await?;
    ask(&operated, json!({"image": platform.image("5.1.1"), "force": true})).await?;
    let message = refused(&operated, "PreconditionChecks").await?;
    assert!(
        message.ends_with("the operator evaluates the update once 5.1.0 is installed"),
        "{message}"
    );
    operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn next_minor_during_minor_update_is_a_skip() -> Result<()> {
    let silent = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
        "metadata": {"name": "silent"},
        "status": {"versions": [{"name": "operator", "version": "5.2.0"}]},
    });
    let versions = ["5.1.0", "5.2.0", "5.2.1", "5.3.0"];
    // 5.2.0 never completes.
    let releases = versions.map(|version| match version {
        "5.2.0" => (version, release(version).object("0000_60_silent_01", silent.clone())),
        _ => (version, release(version)),
    });
    let Some(platform) = Platform::with_releases(releases.to_vec())? else { return Ok(()) };
    let no_metrics = prometheus("http://127.0.0.1:9")?;
    let mut operated = platform.cluster("", "http://127.0.0.1:9", no_metrics, |_| {}).await?;
    for version in &versions[1..] {
        platform.sign(&operated, version).await?;
    }
    ask(&operated, json!({"image": platform.image("5.2.0")})).await?;
    operated.status("the update to start", |status| history(status) == ["5.2.0", "5.1.0"]).await?;
    let accept = json!([{"name": "ClusterVersionUpdating"}]);
    ask(&operated, json!({"image": platform.image("5.3.0"), "acceptRisks": accept})).await?;
    let message = refused(&operated, "PreconditionChecks").await?;
    let (_, why) = message.split_once(": ").unwrap_or_default();
    insta::assert_snapshot!(why, @r#"Precondition "ClusterVersionGiantHop" failed because of "SkipLevelNotOffered": 5.3.0 skips a minor version after 5.1.0 (the newest completed release), and the update service does not offer this update; wait until the update to 5.2.0 completes"#);
    // Another patch release of the same minor version is no skip.
    ask(&operated, json!({"image": platform.image("5.2.1")})).await?;
    let status = reaches(&operated, "5.2.1").await?;
    assert_eq!(history(&status), ["5.2.1", "5.2.0", "5.1.0"]);
    operated.stop().await
}
