//! What a run may have for its checks: what its release has, and nothing else.

use std::fs;

use anyhow::Result;
use fairway_findings::jobs::{
    ANSWERS, FORMAT, JobAnswers, JobRequest, JobRequests, JobState, REQUESTS,
};
use fairway_findings::{ExecutionStatus, record, vet};
use fairway_testkit::releases::TestRelease;
use fairway_testkit::wait;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use serde_json::{Value, json};

use super::stage::{Run, Stage};

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

/// A check of an operator, and what it needs to read.
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

/// Asks for a check as a run does, and waits for what becomes of it.
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
async fn a_run_gets_what_its_release_has_and_that_is_told() -> Result<()> {
    let stage = Stage::begin().await?;
    let release = check().into_iter().enumerate().fold(
        TestRelease::new("5.1.0"),
        |release, (index, object)| {
            release.file(&format!("release-manifests/0000_50_dns_{index}.json"), &object)
        },
    );
    let image = stage.store(&release)?;
    stage.ask(&image).await?;
    let run = stage.until_run(&image, "5.1.0").await?;

    let mut greedy = check();
    greedy[2]["rules"][0]["resourceNames"] = json!(["crown-jewels"]);
    let (answer, why) = ask(&run, "dns-preflight-greedy", greedy).await?;
    assert_eq!(answer, JobState::AccessRefused, "{why}");
    assert!(why.contains("Role dns-preflight: not part of the check"), "{why}");
    // Whether the cluster has a namespace for it is another matter.
    let (answer, why) = ask(&run, "dns-preflight-honest", check()).await?;
    assert!(matches!(answer, JobState::Created | JobState::NotCreated), "{answer}: {why}");

    let mut document = run.document(ExecutionStatus::Completed);
    document.checks[0].granted = vec!["nothing at all".to_owned()];
    run.write(&document)?;
    stage.until_reason("PreflightCompleted", "NoRisksFound").await?;
    let records: Api<ConfigMap> = stage.namespace.api();
    let name = record::name(&image).unwrap_or_default();
    let granted =
        r#""granted":["own ServiceAccount dns-preflight","get secrets (key) in openshift-dns"]"#;
    wait::until("what was granted", async || {
        let kept = records.get_opt(&name).await?.and_then(|record| record.data);
        let complete = kept.and_then(|mut data| data.remove(record::COMPLETE));
        Ok(complete.filter(|complete| complete.contains(granted)).map(drop))
    })
    .await?;
    stage.want(None).await?;
    stage.until_clear().await
}
