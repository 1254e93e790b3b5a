//! Runs that are begun, followed, and ended.

use anyhow::{Context, Result};
use fairway_api::ConditionStatus;
use fairway_api::cluster_version::{AcceptRisk, Update, UpdateMode};
use fairway_findings::{ExecutionStatus, Finding, record};
use fairway_testkit::{objects, wait};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use serde_json::json;

use super::stage::Stage;

#[tokio::test]
async fn a_release_is_asked_and_nothing_is_left_when_it_is_withdrawn() -> Result<()> {
    let stage = Stage::begin().await?;
    stage.until_reason("PreflightRunning", "NotRequested").await?;
    let image = stage.release("5.1.0")?;
    stage.ask(&image).await?;
    let run = stage.until_run(&image, "5.1.0").await?;
    stage.until("a run", |preflight| !preflight.is_clear).await?;

    run.write(&run.document(ExecutionStatus::Running))?;
    stage.until_reason("PreflightRunning", "Checking").await?;
    let mut document = run.document(ExecutionStatus::Completed);
    run.write(&document)?;
    let said = stage.until_reason("PreflightCompleted", "NoRisksFound").await?;
    assert!(said.outcomes[&image].complete, "{said:#?}");
    document.risks.push(Finding { name: "SomethingBreaks".to_owned(), ..Finding::default() });
    run.write(&document)?;
    let said = stage.until_reason("PreflightCompleted", "RisksFound").await?;
    assert_eq!(said.outcomes[&image].findings, ["SomethingBreaks"]);
    assert_eq!(said.not_offered.len(), 1, "no update leads there");

    // The update that is asked for is complete.
    stage.want(Some(&objects::update_to("5.0.0"))).await?;
    let said = stage.until_reason("PreflightRunning", "NotRequested").await?;
    assert!(said.concerns.is_empty(), "{said:#?}");
    stage.until_clear().await
}

#[tokio::test]
async fn fifty_targets_in_a_row_leave_one_run() -> Result<()> {
    let stage = Stage::begin().await?;
    let versions: Vec<String> = (0..50).map(|patch| format!("5.1.{patch}")).collect();
    let mut last = String::new();
    for version in &versions {
        last = stage.release(version)?;
        stage.ask(&last).await?;
    }
    let run = stage.until_run(&last, &versions[49]).await?;
    run.write(&run.document(ExecutionStatus::Completed))?;
    stage.until_reason("PreflightCompleted", "NoRisksFound").await?;
    assert_eq!(stage.deployments().list(&ListParams::default()).await?.items.len(), 1);
    assert_eq!(stage.directories()?, [run.id]);
    stage.want(None).await?;
    stage.until_clear().await
}

#[tokio::test]
async fn a_run_outlives_its_operator_and_follows_it_to_another_node() -> Result<()> {
    let mut stage = Stage::begin().await?;
    let image = stage.release("5.1.0")?;
    stage.ask(&image).await?;
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
async fn what_an_operator_has_given_up_is_not_begun_again_by_the_next() -> Result<()> {
    let mut stage = Stage::begin().await?;
    let image = stage.release("5.1.0")?;
    stage.ask(&image).await?;
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
    let said = stage.until_reason("PreflightRunning", "Stopped").await?;
    assert_eq!(said.conditions[2].reason.as_deref(), Some("ResultsTooLarge"), "{said:#?}");
    stage.until_clear().await?;

    stage.want(None).await?;
    stage.until_reason("PreflightRunning", "NotRequested").await?;
    stage.ask(&image).await?;
    stage.until_another_run(&run.id, &image, "5.1.0").await?;
    Ok(())
}

#[tokio::test]
async fn whoever_wants_a_signature_gets_another_run() -> Result<()> {
    let stage = Stage::begin().await?;
    let image = stage.release("5.1.0")?;
    stage.ask(&image).await?;
    let run = stage.until_run(&image, "5.1.0").await?;
    run.write(&run.document(ExecutionStatus::Completed))?;
    stage.until_reason("PreflightRunning", "Monitoring").await?;

    let mode = Some(UpdateMode::Preflight);
    let signed = Update { image: Some(image.clone()), mode, ..Update::default() };
    stage.want(Some(&signed)).await?;
    let said = stage.until_reason("PreflightFailed", "ImageVerificationFailed").await?;
    assert_ne!(said.conditions[0].reason.as_deref(), Some("Monitoring"), "{said:#?}");
    stage.until_clear().await
}

#[tokio::test]
async fn what_is_not_rehearsed_again_is_not_complete() -> Result<()> {
    let mut stage = Stage::begin().await?;
    let image = stage.release("5.1.0")?;
    stage.ask(&image).await?;
    let run = stage.until_run(&image, "5.1.0").await?;
    run.write(&run.document(ExecutionStatus::Completed))?;
    stage.until_reason("PreflightRunning", "Monitoring").await?;
    stage.stop();
    stage.lose_releases()?;
    stage.start("node-1")?;
    let said = stage.until_reason("PreflightRunning", "Checking").await?;
    assert!(!said.outcomes[&image].complete, "{said:#?}");
    Ok(())
}

#[tokio::test]
async fn a_change_of_the_spec_does_not_end_what_is_asked_for_by_version() -> Result<()> {
    let stage = Stage::begin().await?;
    let image = stage.release("5.1.0")?;
    let asked = Update {
        version: Some("5.1.0".to_owned()),
        mode: Some(UpdateMode::Preflight),
        force: Some(true),
        ..Update::default()
    };
    let generation = stage.want(Some(&asked)).await?;
    stage.until_reason("PreflightRunning", "Starting").await?;
    stage.answer(generation, "5.1.0", &image)?;
    let run = stage.until_run(&image, "5.1.0").await?;
    run.write(&run.document(ExecutionStatus::Completed))?;
    stage.until_reason("PreflightRunning", "Monitoring").await?;

    let accept_risks = vec![AcceptRisk { name: "DiskLoss".to_owned(), ..AcceptRisk::default() }];
    let asked = Update { accept_risks, ..asked };
    let generation = stage.want(Some(&asked)).await?;
    let said = stage.until("a look", |preflight| preflight.generation == generation).await?;
    assert_eq!(said.conditions[0].reason.as_deref(), Some("Monitoring"), "{said:#?}");
    stage.answer(generation, "5.1.0", &image)?;
    run.write(&run.document(ExecutionStatus::Running))?;
    stage.until_reason("PreflightRunning", "Checking").await?;
    assert_eq!(stage.directories()?, [run.id], "it is the same run");
    Ok(())
}

#[tokio::test]
async fn each_run_gets_a_pull_secret_of_its_own_even_if_its_operator_dies_before() -> Result<()> {
    let mut stage = Stage::begin().await?;
    stage.be_known_to_registries(true).await?;
    for version in ["5.1.0", "5.2.0"] {
        let image = stage.release(version)?;
        stage.ask(&image).await?;
        let run = stage.until_run(&image, version).await?;
        let name = stage.until_known(&run).await?;
        stage.until("the run", |preflight| !preflight.is_clear).await?;

        stage.stop();
        let secrets: Api<Secret> = stage.namespace.api();
        secrets.delete(&name, &DeleteParams::default()).await?;
        stage.start("node-1")?;
        stage.until_known(&run).await?;
        assert_eq!(stage.directories()?, [run.id], "it is the same run");
    }
    stage.be_known_to_registries(false).await
}

#[tokio::test]
async fn a_platform_that_lets_preflights_do_more_than_read_has_none() -> Result<()> {
    let stage = Stage::begin().await?;
    let image = stage.release("5.1.0")?;
    let secrets = json!({"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]});
    let widgets = json!({"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["get"]});
    stage.let_read("preflight-widgets", Some(widgets)).await?;
    stage.ask(&image).await?;
    stage.until_run(&image, "5.1.0").await?;
    stage.until("a run", |preflight| !preflight.is_clear).await?;

    stage.let_read("preflight-secrets", Some(secrets)).await?;
    stage.until_told("ClusterRole preflight-secrets, rules[0].resources[0]", true).await?;
    stage.until_reason("PreflightFailed", "ReaderRoleRefused").await?;
    stage.until_reason("PreflightRunning", "Stopped").await?;
    stage.until_clear().await?;

    stage.want(None).await?;
    stage.until_reason("PreflightRunning", "NotRequested").await?;
    stage.ask(&image).await?;
    stage.until_reason("PreflightFailed", "ReaderRoleRefused").await?;
    stage.until_clear().await?;
    stage.let_read("preflight-secrets", None).await?;
    stage.let_read("preflight-widgets", None).await
}

#[tokio::test]
async fn an_operator_that_starts_removes_what_nobody_asks_for() -> Result<()> {
    let mut stage = Stage::begin().await?;
    let image = stage.release("5.1.0")?;
    stage.ask(&image).await?;
    stage.until_run(&image, "5.1.0").await?;
    stage.stop();
    stage.want(None).await?;
    stage.start("node-1")?;
    stage.until_clear().await
}

#[tokio::test]
async fn what_cannot_be_carried_out_is_told_and_nothing_begins() -> Result<()> {
    let mut stage = Stage::begin().await?;
    let image = stage.release("5.1.0")?;
    let asked = |image: &str, version: Option<&str>, mode| Update {
        image: Some(image.to_owned()),
        version: version.map(str::to_owned),
        mode: Some(mode),
        force: Some(version.is_some()),
        ..Update::default()
    };
    let preflight = || UpdateMode::Preflight;
    for (update, reason) in [
        (asked(&image, None, preflight()), "ImageVerificationFailed"),
        (asked(&image, Some("5.7.0"), preflight()), "VerifyPayloadVersion"),
        (asked("registry.example/release:5.1.0", None, preflight()), "RetrievePayload"),
    ] {
        stage.want(Some(&update)).await?;
        let said = stage.until_reason("PreflightFailed", reason).await?;
        let waits = reason == "ImageVerificationFailed";
        let running = said.conditions[0].status == ConditionStatus::True;
        assert_eq!(running, waits, "only a signature may still come: {said:#?}");
    }
    stage.settings.enabled = false;
    stage.start("node-1")?;
    stage.ask(&image).await?;
    stage.until_reason("PreflightFailed", "PreflightDisabled").await?;
    stage.until_clear().await
}
