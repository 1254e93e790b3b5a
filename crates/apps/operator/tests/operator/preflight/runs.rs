//! Start, monitoring and end of runs.

use anyhow::{Context, Result};
use fairway_api::ConditionStatus;
use fairway_api::cluster_version::{AcceptRisk, Update, UpdateMode};
use fairway_findings::{ExecutionStatus, Finding, record};
use fairway_testkit::{objects, wait};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use serde_json::json;

use super::stage::PreflightStage;

#[tokio::test]
async fn withdrawn_request_removes_run() -> Result<()> {
    let stage = PreflightStage::new().await?;
    stage.until_reason("PreflightRunning", "NotRequested").await?;
    let image = stage.release("5.1.0")?;
    stage.request(&image).await?;
    let run = stage.until_run(&image, "5.1.0").await?;
    stage.until("a run", |preflight| !preflight.is_clear).await?;

    run.write(&run.document(ExecutionStatus::Running))?;
    stage.until_reason("PreflightRunning", "Checking").await?;
    let mut document = run.document(ExecutionStatus::Completed);
    run.write(&document)?;
    let output = stage.until_reason("PreflightCompleted", "NoRisksFound").await?;
    assert!(output.outcomes[&image].complete, "{output:#?}");
    document.risks.push(Finding { name: "SomethingBreaks".to_owned(), ..Finding::default() });
    run.write(&document)?;
    let output = stage.until_reason("PreflightCompleted", "RisksFound").await?;
    assert_eq!(output.outcomes[&image].findings, ["SomethingBreaks"]);
    assert_eq!(output.not_offered.len(), 1, "no update leads there");

    // A completed update requests nothing.
    stage.set_desired_update(Some(&objects::update_to("5.0.0"))).await?;
    let output = stage.until_reason("PreflightRunning", "NotRequested").await?;
    assert!(output.concerns.is_empty(), "{output:#?}");
    stage.until_clear().await
}

#[tokio::test]
async fn fifty_requests_leave_one_run() -> Result<()> {
    let stage = PreflightStage::new().await?;
    let versions: Vec<String> = (0..50).map(|patch| format!("5.1.{patch}")).collect();
    let mut last = String::new();
    for version in &versions {
        last = stage.release(version)?;
        stage.request(&last).await?;
    }
    let run = stage.until_run(&last, &versions[49]).await?;
    run.write(&run.document(ExecutionStatus::Completed))?;
    stage.until_reason("PreflightCompleted", "NoRisksFound").await?;
    assert_eq!(stage.deployments().list(&ListParams::default()).await?.items.len(), 1);
    assert_eq!(stage.directories()?, [run.id]);
    stage.set_desired_update(None).await?;
    stage.until_clear().await
}

#[tokio::test]
async fn restarted_operator_resumes_run_and_moved_operator_restarts_it() -> Result<()> {
    let mut stage = PreflightStage::new().await?;
    let image = stage.release("5.1.0")?;
    stage.request(&image).await?;
    let run = stage.until_run(&image, "5.1.0").await?;
    run.write(&run.document(ExecutionStatus::Completed))?;
    stage.until_reason("PreflightCompleted", "NoRisksFound").await?;

    stage.start("node-1")?;
    stage.until_reason("PreflightCompleted", "NoRisksFound").await?;
    assert_eq!(stage.directories()?, std::slice::from_ref(&run.id), "it is the same run");

    stage.start("node-2")?;
    stage.until_reason("PreflightRunning", "Restarting").await?;
    let another = stage.until_another_run(&run.id, &image, "5.1.0").await?;
    another.write(&another.document(ExecutionStatus::Completed))?;
    stage.until_reason("PreflightRunning", "Monitoring").await?;
    assert_eq!(stage.directories()?, [another.id]);
    Ok(())
}

#[tokio::test]
async fn restarted_operator_does_not_repeat_aborted_run() -> Result<()> {
    let mut stage = PreflightStage::new().await?;
    let image = stage.release("5.1.0")?;
    stage.request(&image).await?;
    let run = stage.until_run(&image, "5.1.0").await?;
    std::fs::write(run.directory.join("too-much"), vec![0; 9 << 20])?;
    stage.until_reason("PreflightFailed", "ResultsTooLarge").await?;
    stage.until_clear().await?;
    let records: Api<ConfigMap> = stage.namespace.api();
    let name = record::name(&image).context("no digest")?;
    wait::until("the record", async || {
        let data = records.get_opt(&name).await?.and_then(|record| record.data);
        Ok(data.filter(|data| data.contains_key(record::FAILURE)))
    })
    .await?;

    stage.start("node-1")?;
    let output = stage.until_reason("PreflightRunning", "Stopped").await?;
    assert_eq!(output.conditions[2].reason.as_deref(), Some("ResultsTooLarge"), "{output:#?}");
    stage.until_clear().await?;

    stage.set_desired_update(None).await?;
    stage.until_reason("PreflightRunning", "NotRequested").await?;
    stage.request(&image).await?;
    stage.until_another_run(&run.id, &image, "5.1.0").await?;
    Ok(())
}

#[tokio::test]
async fn request_with_signature_replaces_forced_run() -> Result<()> {
    let stage = PreflightStage::new().await?;
    let image = stage.release("5.1.0")?;
    stage.request(&image).await?;
    let run = stage.until_run(&image, "5.1.0").await?;
    run.write(&run.document(ExecutionStatus::Completed))?;
    stage.until_reason("PreflightRunning", "Monitoring").await?;

    let mode = Some(UpdateMode::Preflight);
    let signed = Update { image: Some(image.clone()), mode, ..Update::default() };
    stage.set_desired_update(Some(&signed)).await?;
    let output = stage.until_reason("PreflightFailed", "ImageVerificationFailed").await?;
    assert_ne!(output.conditions[0].reason.as_deref(), Some("Monitoring"), "{output:#?}");
    stage.until_clear().await
}

#[tokio::test]
async fn leftover_run_is_removed_although_records_are_unreadable() -> Result<()> {
    let mut stage = PreflightStage::new().await?;
    let image = stage.release("5.1.0")?;
    stage.request(&image).await?;
    stage.until_run(&image, "5.1.0").await?;
    stage.stop();
    stage.set_desired_update(None).await?;
    // Only a sandbox injects faults.
    if !stage.refuse_records() {
        return Ok(());
    }
    stage.start("node-1")?;
    wait::until("the removal of the run", async || {
        let left = stage.deployments().list(&ListParams::default()).await?.items;
        Ok((left.is_empty() && stage.directories()?.is_empty()).then_some(()))
    })
    .await
}

#[tokio::test]
async fn restarted_operator_without_release_has_incomplete_results() -> Result<()> {
    let mut stage = PreflightStage::new().await?;
    let image = stage.release("5.1.0")?;
    stage.request(&image).await?;
    let run = stage.until_run(&image, "5.1.0").await?;
    run.write(&run.document(ExecutionStatus::Completed))?;
    stage.until_reason("PreflightRunning", "Monitoring").await?;
    stage.stop();
    stage.remove_releases()?;
    stage.start("node-1")?;
    let output = stage.until_reason("PreflightRunning", "Checking").await?;
    assert!(!output.outcomes[&image].complete, "{output:#?}");
    Ok(())
}

#[tokio::test]
async fn changed_spec_keeps_run_requested_by_version() -> Result<()> {
    let stage = PreflightStage::new().await?;
    let image = stage.release("5.1.0")?;
    let update = Update {
        version: Some("5.1.0".to_owned()),
        mode: Some(UpdateMode::Preflight),
        force: Some(true),
        ..Update::default()
    };
    let generation = stage.set_desired_update(Some(&update)).await?;
    stage.until_reason("PreflightRunning", "Starting").await?;
    stage.set_update_service(generation, "5.1.0", &image)?;
    let run = stage.until_run(&image, "5.1.0").await?;
    run.write(&run.document(ExecutionStatus::Completed))?;
    stage.until_reason("PreflightRunning", "Monitoring").await?;

    let accept_risks = vec![AcceptRisk { name: "DiskLoss".to_owned(), ..AcceptRisk::default() }];
    let update = Update { accept_risks, ..update };
    let generation = stage.set_desired_update(Some(&update)).await?;
    let output = stage.until("a look", |preflight| preflight.generation == generation).await?;
    assert_eq!(output.conditions[0].reason.as_deref(), Some("Monitoring"), "{output:#?}");
    stage.set_update_service(generation, "5.1.0", &image)?;
    run.write(&run.document(ExecutionStatus::Running))?;
    stage.until_reason("PreflightRunning", "Checking").await?;
    assert_eq!(stage.directories()?, [run.id], "it is the same run");
    Ok(())
}

#[tokio::test]
async fn each_run_has_pull_secret_of_its_own_after_restart() -> Result<()> {
    let mut stage = PreflightStage::new().await?;
    stage.set_pull_secret(true).await?;
    for version in ["5.1.0", "5.2.0"] {
        let image = stage.release(version)?;
        stage.request(&image).await?;
        let run = stage.until_run(&image, version).await?;
        let name = stage.until_pull_secret(&run).await?;
        stage.until("the run", |preflight| !preflight.is_clear).await?;

        stage.stop();
        let secrets: Api<Secret> = stage.namespace.api();
        secrets.delete(&name, &DeleteParams::default()).await?;
        stage.start("node-1")?;
        stage.until_pull_secret(&run).await?;
        assert_eq!(stage.directories()?, [run.id], "it is the same run");
    }
    stage.set_pull_secret(false).await
}

#[tokio::test]
async fn reader_role_with_write_access_refuses_preflight() -> Result<()> {
    let stage = PreflightStage::new().await?;
    let image = stage.release("5.1.0")?;
    let secrets = json!({"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]});
    let widgets = json!({"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["get"]});
    stage.set_reader_role("preflight-widgets", Some(widgets)).await?;
    stage.request(&image).await?;
    stage.until_run(&image, "5.1.0").await?;
    stage.until("a run", |preflight| !preflight.is_clear).await?;

    stage.set_reader_role("preflight-secrets", Some(secrets)).await?;
    stage
        .until_failure_contains("ClusterRole preflight-secrets, rules[0].resources[0]", true)
        .await?;
    stage.until_reason("PreflightFailed", "ReaderRoleRefused").await?;
    stage.until_reason("PreflightRunning", "Stopped").await?;
    stage.until_clear().await?;

    stage.set_desired_update(None).await?;
    stage.until_reason("PreflightRunning", "NotRequested").await?;
    stage.request(&image).await?;
    stage.until_reason("PreflightFailed", "ReaderRoleRefused").await?;
    stage.until_clear().await?;
    stage.set_reader_role("preflight-secrets", None).await?;
    stage.set_reader_role("preflight-widgets", None).await
}

#[tokio::test]
async fn restarted_operator_removes_withdrawn_run() -> Result<()> {
    let mut stage = PreflightStage::new().await?;
    let image = stage.release("5.1.0")?;
    stage.request(&image).await?;
    stage.until_run(&image, "5.1.0").await?;
    stage.stop();
    stage.set_desired_update(None).await?;
    stage.start("node-1")?;
    stage.until_clear().await
}

#[tokio::test]
async fn unsupported_requests_are_reported_and_start_nothing() -> Result<()> {
    let mut stage = PreflightStage::new().await?;
    let image = stage.release("5.1.0")?;
    let update = |image: &str, version: Option<&str>, mode| Update {
        image: Some(image.to_owned()),
        version: version.map(str::to_owned),
        mode: Some(mode),
        force: Some(version.is_some()),
        ..Update::default()
    };
    let preflight = || UpdateMode::Preflight;
    for (update, reason) in [
        (update(&image, None, preflight()), "ImageVerificationFailed"),
        (update(&image, Some("5.7.0"), preflight()), "VerifyPayloadVersion"),
        (update("registry.example/release:5.1.0", None, preflight()), "RetrievePayload"),
    ] {
        stage.set_desired_update(Some(&update)).await?;
        let output = stage.until_reason("PreflightFailed", reason).await?;
        let waits = reason == "ImageVerificationFailed";
        let running = output.conditions[0].status == ConditionStatus::True;
        assert_eq!(running, waits, "only a signature may still come: {output:#?}");
    }
    stage.settings.enabled = false;
    stage.start("node-1")?;
    stage.request(&image).await?;
    stage.until_reason("PreflightFailed", "PreflightDisabled").await?;
    stage.until_clear().await
}
