//! Preflights of target releases, requested by `--preflight-on-update` or by an administrator. The tests
//! write the results instead of a release.

use std::fs;

use anyhow::Result;
use fairway_api::cluster_version::ClusterVersionStatus;
use fairway_api::{ConditionStatus, Conditions as _};
use fairway_findings::{
    CheckReport, CheckStatus, Document, ExecutionStatus, FORMAT, Finding, labels,
};
use fairway_operator::settings::OnUpdate;
use fairway_testkit::wait;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;

use super::platform::{Platform, ask, history, reaches, refused};
use crate::conditional_updates::snapshot;
use crate::support::{Graph, OperatedCluster, available, graph_data, reason};

const VERSIONS: [&str; 4] = ["5.1.0", "5.1.1", "5.1.2", "5.3.0"];

/// A platform, its update service, and a cluster at its first release.
struct TestSetup {
    platform: Platform,
    operated: OperatedCluster,
    _graph: Graph,
    _metrics: tempfile::TempDir,
}

impl TestSetup {
    async fn new(on_update: OnUpdate) -> Result<Option<Self>> {
        let Some(platform) = Platform::new(&VERSIONS)? else { return Ok(None) };
        let data = graph_data(&VERSIONS, &[]);
        let data: Vec<_> = data.iter().map(|(name, text)| (&name[..], &text[..])).collect();
        let (graph, directory) = (platform.graph(&data).await?, tempfile::tempdir()?);
        let metrics = snapshot(&directory, "exposed 1\n")?;
        let operated = platform
            .cluster("stable-5.1", &graph.url(), metrics, |settings| {
                settings.preflight.on_update = on_update;
            })
            .await?;
        for version in &VERSIONS[1..] {
            platform.sign(&operated, version).await?;
        }
        Ok(Some(Self { platform, operated, _graph: graph, _metrics: directory }))
    }

    /// Waits for the preflight of a release and writes the result of its check, with a finding if given.
    async fn answer(&self, version: &str, status: CheckStatus, found: Option<&str>) -> Result<()> {
        let image = self.platform.image(version);
        let runs: Api<Deployment> =
            Api::namespaced(self.operated.cluster.client(), "openshift-cluster-version");
        let run = wait::until(&format!("the preflight of {version}"), || async {
            let run = runs.get_opt("cluster-version-operator-preflight").await?;
            let asks = |run: &Deployment| {
                run.annotations().get("fairway.dev/preflight-target").is_some_and(|it| it == image)
            };
            Ok(run.filter(asks).and_then(|run| run.labels().get(labels::RUN).cloned()))
        })
        .await?;
        let finding = |name: &str| Finding {
            name: name.to_owned(),
            message: format!("{name} will happen."),
            check: "network".to_owned(),
            ..Finding::default()
        };
        let document = Document {
            format: FORMAT.to_owned(),
            preflight_id: run.clone(),
            source_version: "5.1.0".to_owned(),
            target_version: version.to_owned(),
            target_image: image.to_owned(),
            execution_status: ExecutionStatus::Completed,
            checks: vec![CheckReport {
                name: "network".to_owned(),
                status,
                ..CheckReport::default()
            }],
            risks: found.map(finding).into_iter().collect(),
            ..Document::default()
        };
        let directory = self.operated.settings.preflight.results.here.join(run);
        let draft = directory.join("draft");
        fs::write(&draft, serde_json::to_vec(&document)?)?;
        Ok(fs::rename(draft, directory.join("result.json"))?)
    }

    /// Waits until the update waits for preflight results.
    async fn until_update_waits(&self) -> Result<ClusterVersionStatus> {
        let waits = |status: &ClusterVersionStatus| {
            status.conditions.find("ReleaseAccepted").is_some_and(|accepted| {
                let message = accepted.message.as_deref().unwrap_or_default();
                accepted.status == ConditionStatus::Unknown
                    && message.contains("Waiting for the preflight results")
            })
        };
        self.operated.status("the update to wait for the preflight", waits).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn report_policy_records_findings_and_starts_update() -> Result<()> {
    let Some(mut setup) = TestSetup::new(OnUpdate::Report).await? else { return Ok(()) };
    ask(&setup.operated, json!({"version": "5.1.1"})).await?;
    let status = setup.until_update_waits().await?;
    assert_eq!(history(&status), ["5.1.0"]);
    setup.answer("5.1.1", CheckStatus::Found, Some("DualStack")).await?;
    let status = reaches(&setup.operated, "5.1.1").await?;
    insta::assert_snapshot!(status.history[0].accepted_risks.as_deref().unwrap_or_default(), @"
    The preflight of 5.1.1 reports:
    * DualStack: DualStack will happen. https://fairway.dev/docs/risks#preflights (Risk identified during preflight check for 5.1.1)
    ");
    setup.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn require_policy_blocks_update_until_findings_are_accepted() -> Result<()> {
    let Some(mut setup) = TestSetup::new(OnUpdate::Require).await? else { return Ok(()) };
    ask(&setup.operated, json!({"version": "5.1.1"})).await?;
    setup.until_update_waits().await?;
    setup.answer("5.1.1", CheckStatus::Found, Some("DualStack")).await?;
    let message = refused(&setup.operated, "UnacceptedRisks").await?;
    assert!(message.ends_with("fairway upgrade accept DualStack"), "{message}");
    ask(&setup.operated, json!({"acceptRisks": [{"name": "DualStack"}]})).await?;
    let status = reaches(&setup.operated, "5.1.1").await?;
    let recorded = status.history[0].accepted_risks.as_deref().unwrap_or_default();
    assert!(recorded.ends_with("Accepted by name: DualStack."), "{recorded}");
    setup.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn require_policy_with_incomplete_results_blocks_update() -> Result<()> {
    let Some(mut setup) = TestSetup::new(OnUpdate::Require).await? else { return Ok(()) };
    ask(&setup.operated, json!({"version": "5.1.1"})).await?;
    setup.answer("5.1.1", CheckStatus::TimedOut, None).await?;
    let message = refused(&setup.operated, "UnacceptedRisks").await?;
    assert!(message.ends_with("fairway upgrade accept PreflightIncomplete"), "{message}");

    // A forced update needs no preflight.
    let forced = json!({"version": "5.1.2", "force": true});
    ask(&setup.operated, forced).await?;
    let status = reaches(&setup.operated, "5.1.2").await?;
    assert_eq!(history(&status), ["5.1.2", "5.1.0"]);
    setup.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn require_policy_with_refused_preflight_blocks_update() -> Result<()> {
    let Some(mut setup) = TestSetup::new(OnUpdate::Require).await? else { return Ok(()) };
    let roles: Api<ClusterRole> = Api::all(setup.operated.cluster.client());
    let excessive = json!({
        "metadata": {"name": "preflight-secrets-of-all", "labels": {labels::AGGREGATE: "true"}},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}],
    });
    roles.create(&PostParams::default(), &serde_json::from_value(excessive)?).await?;
    ask(&setup.operated, json!({"image": setup.platform.image("5.1.1")})).await?;
    let message = refused(&setup.operated, "UnacceptedRisks").await?;
    assert!(message.ends_with("fairway upgrade accept PreflightIncomplete"), "{message}");
    let status = setup.operated.status("the refused reader role", |status| {
        reason(status, "PreflightFailed") == "ReaderRoleRefused"
    });
    assert_eq!(history(&status.await?), ["5.1.0"]);
    roles.delete("preflight-secrets-of-all", &DeleteParams::default()).await?;
    setup.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn skip_level_update_after_clean_preflight_starts() -> Result<()> {
    let Some(mut setup) = TestSetup::new(OnUpdate::Off).await? else { return Ok(()) };
    ask(&setup.operated, json!({"version": "5.3.0"})).await?;
    let message = refused(&setup.operated, "PreconditionChecks").await?;
    assert!(message.contains("SkipLevelNotChecked"), "{message}");

    ask(&setup.operated, json!({"mode": "Preflight"})).await?;
    setup.answer("5.3.0", CheckStatus::Passed, None).await?;
    let is_complete = |status: &ClusterVersionStatus| {
        reason(status, "PreflightCompleted") == "NoRisksFound" && !is_in_progress(status)
    };
    let status = setup.operated.status("complete results", is_complete).await?;
    assert_eq!(history(&status), ["5.1.0"], "a preflight starts no update");
    ask(&setup.operated, json!({"mode": null})).await?;
    reaches(&setup.operated, "5.3.0").await?;
    setup.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn finding_with_invalid_name_is_renamed() -> Result<()> {
    let Some(mut setup) = TestSetup::new(OnUpdate::Off).await? else { return Ok(()) };
    ask(&setup.operated, json!({"version": "5.1.1", "mode": "Preflight"})).await?;
    setup.answer("5.1.1", CheckStatus::Found, Some("5 > 3, says \"who\"\n?")).await?;
    let shown = |status: &ClusterVersionStatus| {
        let risks = status.conditional_update_risks.iter();
        risks.map(|risk| format!("{}: {}", risk.name, risk.message)).collect::<Vec<_>>().join("\n")
    };
    let is_renamed = |status: &ClusterVersionStatus| {
        shown(status).starts_with("InvalidRisk") && !is_in_progress(status)
    };
    let status = setup.operated.status("the renamed finding", is_renamed).await?;
    insta::assert_snapshot!(shown(&status), @r#"InvalidRisk-ab0cc64e9b5f: The status cannot store a published risk: its name "5 > 3, says \"who\"\n?" is not CamelCase. Original message: "5 > 3, says \"who\"\n? will happen.""#);
    assert_eq!(available(&status), ["5.3.0", "5.1.2"], "the finding blocks the update");
    setup.operated.stop().await
}

/// Findings become risks shortly after the results are complete.
fn is_in_progress(status: &ClusterVersionStatus) -> bool {
    status.conditional_update_risks.iter().any(|risk| risk.name == "PreflightInProgress")
}
