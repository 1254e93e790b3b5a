//! Results and Job requests of untrusted runs.

use std::fs;
use std::os::unix::fs::symlink;

use anyhow::Result;
use fairway_findings::jobs::{
    ANSWERS, FORMAT, JobAnswers, JobRequest, JobRequests, JobState, REQUESTS,
};
use fairway_findings::{Document, ExecutionStatus, Finding, record, vet};
use fairway_testkit::releases::TestRelease;
use fairway_testkit::wait;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use serde_json::{Value, json};

use super::stage::{PreflightStage, Run};

const INCLUDED: &str = "include.release.openshift.io/self-managed-high-availability";

fn object(version: &str, kind: &str, rest: Value) -> Value {
    let annotations = json!({vet::ANNOTATION: "true", INCLUDED: "true"});
    let mut object = rest;
    object["apiVersion"] = json!(version);
    object["kind"] = json!(kind);
    object["metadata"] =
        json!({"name": "dns-preflight", "namespace": "openshift-dns", "annotations": annotations});
    object
}

/// A check of a component, with the permissions it needs.
fn check() -> [Value; 4] {
    let rbac = "rbac.authorization.k8s.io/v1";
    let container = json!({"name": "dns", "image": "registry.example/dns@sha256:1"});
    let pod = json!({"serviceAccountName": "dns-preflight", "containers": [container]});
    let secret = json!({"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["key"], "verbs": ["get"]});
    let account =
        json!({"kind": "ServiceAccount", "name": "dns-preflight", "namespace": "openshift-dns"});
    let role = json!({"kind": "Role", "name": "dns-preflight"});
    [
        object("batch/v1", "Job", json!({"spec": {"template": {"spec": pod}}})),
        object("v1", "ServiceAccount", json!({})),
        object(rbac, "Role", json!({"rules": [secret]})),
        object(rbac, "RoleBinding", json!({"roleRef": role, "subjects": [account]})),
    ]
}

/// Requests a check like the target release, and waits for its answer.
async fn ask(run: &Run, name: &str, [job, access @ ..]: [Value; 4]) -> Result<(JobState, String)> {
    let (check, access) = ("dns".to_owned(), access.to_vec());
    let job = JobRequest { name: name.to_owned(), check, manifest: job, access };
    let (format, preflight_id) = (FORMAT.to_owned(), run.id.clone());
    let requests = JobRequests { format, preflight_id, jobs: vec![job] };
    fs::write(run.directory.join("draft"), serde_json::to_vec(&requests)?)?;
    fs::rename(run.directory.join("draft"), run.directory.join(REQUESTS))?;
    wait::until(name, async || {
        let Ok(bytes) = fs::read(run.directory.join(ANSWERS)) else { return Ok(None) };
        let answers = JobAnswers::read(&bytes, &run.id)?;
        let answer = answers.jobs.into_iter().find(|answer| answer.name == name);
        Ok(answer.map(|answer| (answer.state, answer.message)))
    })
    .await
}

#[tokio::test]
async fn access_of_unverified_release_is_refused_and_reported() -> Result<()> {
    let mut stage = PreflightStage::new().await?;
    // Neither the flag nor the consent of the request helps a release without a signature.
    stage.settings.grant_secrets = true;
    stage.start("node-1")?;
    let release = check().into_iter().enumerate().fold(
        TestRelease::new("5.1.0"),
        |release, (index, object)| {
            release.file(&format!("release-manifests/0000_50_dns_{index}.json"), &object)
        },
    );
    let image = stage.store(&release)?;
    stage.request(&image).await?;
    stage.allow_secrets(&image, &["openshift-dns/key"]).await?;
    let run = stage.until_run_with_consent(&image, "5.1.0").await?;

    let mut greedy = check();
    greedy[2]["rules"][0]["resourceNames"] = json!(["crown-jewels"]);
    let (answer, why) = ask(&run, "dns-preflight-greedy", greedy).await?;
    assert_eq!(answer, JobState::AccessRefused, "{why}");
    assert!(why.contains("Role dns-preflight: not part of the check"), "{why}");
    let (answer, why) = ask(&run, "dns-preflight-honest", check()).await?;
    assert_eq!(answer, JobState::AccessRefused, "{why}");
    assert!(why.contains("the release is not verified"), "{why}");

    // The target release claims that the check passed, with other permissions.
    let mut document = run.document(ExecutionStatus::Completed);
    document.checks[0].granted = vec!["nothing at all".to_owned()];
    run.write(&document)?;
    stage.until_reason("PreflightCompleted", "PreflightPartial").await?;
    stage
        .until_failure_contains(
            "dns: ServiceAccount dns-preflight: the release is not verified",
            true,
        )
        .await?;
    let records: Api<ConfigMap> = stage.namespace.api();
    let name = record::name(&image).unwrap_or_default();
    let kept = wait::until("the record", async || {
        let kept = records.get_opt(&name).await?.and_then(|record| record.data);
        Ok(kept.and_then(|mut data| data.remove(record::PARTIAL)))
    })
    .await?;
    assert!(kept.contains(r#""status":"accessRefused""#), "{kept}");
    assert!(!kept.contains("granted"), "{kept}");
    stage.set_desired_update(None).await?;
    stage.until_clear().await
}

#[tokio::test]
async fn invalid_results_are_reported() -> Result<()> {
    let stage = PreflightStage::new().await?;
    let image = stage.release("5.1.0")?;
    stage.request(&image).await?;
    let run = stage.until_run(&image, "5.1.0").await?;
    let result = run.directory.join("result.json");
    let bytes = |bytes: &[u8]| fs::write(&result, bytes);
    let other = |change: fn(&mut Document)| {
        let mut document = run.document(ExecutionStatus::Completed);
        change(&mut document);
        run.write(&document)
    };

    bytes(b"{\"format\": \"preflight-v1-json\", \"risks\": [")?;
    stage.until_failure_contains("cannot parse the results", true).await?;
    other(|document| document.format = "preflight-v9-json".to_owned())?;
    stage.until_failure_contains("preflight-v9-json", true).await?;
    other(|document| document.preflight_id = "0".repeat(32))?;
    stage.until_failure_contains("belong to the run", true).await?;
    bytes("[".repeat(100_000).as_bytes())?;
    stage.until_failure_contains("cannot parse the results", true).await?;
    other(|document| document.target_version = "5.7.0".to_owned())?;
    stage.until_failure_contains("belong to the version \"5.7.0\"", true).await?;
    bytes(b"{\"format\": \"\xff\"}")?;
    stage.until_failure_contains("cannot parse the results", true).await?;
    bytes(&vec![b' '; (1 << 20) + 1])?;
    stage.until_failure_contains("larger than 1024 KiB", true).await?;
    other(|document| document.target_image = "r.example/a@sha256:0".to_owned())?;
    stage.until_failure_contains("belong to the image", true).await?;
    fs::remove_file(&result)?;
    symlink("/etc/passwd", &result)?;
    stage.until_failure_contains("it is a symbolic link", true).await?;
    ten_thousand_findings(&run)?;
    let output = stage.until_reason("PreflightCompleted", "RisksFound").await?;
    assert!(output.concerns.len() <= 200, "{}", output.concerns.len());
    stage.until_failure_contains("some results are dropped", true).await?;

    run.write(&run.document(ExecutionStatus::Completed))?;
    stage.until_failure_contains("result", false).await?;
    Ok(())
}

fn ten_thousand_findings(run: &Run) -> Result<()> {
    let mut document = run.document(ExecutionStatus::Completed);
    let finding = |number| Finding { name: format!("Risk{number}"), ..Finding::default() };
    document.risks = (0..10_000).map(finding).collect();
    run.write(&document)
}
