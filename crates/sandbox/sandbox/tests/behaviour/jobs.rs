//! Jobs.

use anyhow::Result;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::differences;
use crate::support::{Case, Transcript, once};

/// A Job whose pods run a script.
fn job(image: &str, script: &str) -> Value {
    json!({
        "metadata": { "name": "j" },
        "spec": { "backoffLimit": 0, "template": { "spec": once(image, script) } },
    })
}

/// The condition of this type with status True.
fn condition<'a>(job: &'a Value, name: &str) -> Option<&'a Value> {
    let mut conditions = job["status"]["conditions"].as_array().into_iter().flatten();
    conditions.find(|it| it["type"] == name && it["status"] == "True")
}

/// Creates a modified Job as soon as its namespace accepts pods.
async fn create(case: &Case, script: &str, change: impl FnOnce(&mut Value)) -> Result<Value> {
    let mut job = job(&case.shell().await?, script);
    change(&mut job["spec"]);
    case.until("serviceaccounts/default", "to be there", |_| true).await?;
    case.create("jobs", &job).await?.object()
}

/// The current pods of the Job.
async fn pods(case: &Case) -> Result<Vec<Value>> {
    let list = case.get("pods?labelSelector=job-name%3Dj").await?.object()?;
    Ok(list["items"].as_array().cloned().unwrap_or_default())
}

#[tokio::test]
async fn job_completes_with_its_pod() -> Result<()> {
    let case = Case::begin("jobs").await?;
    create(&case, "exit 0", |_| ()).await?;
    let job =
        case.until("jobs/j", "to complete", |job| condition(job, "Complete").is_some()).await?;
    let status = &job["status"];
    assert_eq!((&status["succeeded"], &status["failed"]), (&json!(1), &Value::Null));
    assert!(status["startTime"].is_string() && status["completionTime"].is_string(), "{status}");
    let pods = pods(&case).await?;
    assert_eq!(pods.len(), 1);
    let (metadata, uid) = (&pods[0]["metadata"], &job["metadata"]["uid"]);
    assert!(metadata["name"].as_str().is_some_and(|name| name.starts_with("j-")));
    assert_eq!(
        (&metadata["labels"]["controller-uid"], &metadata["labels"]["job-name"]),
        (uid, &json!("j"))
    );
    let owner = &metadata["ownerReferences"][0];
    assert_eq!(
        (&owner["uid"], &owner["controller"], &owner["kind"]),
        (uid, &json!(true), &json!("Job"))
    );
    Ok(())
}

#[tokio::test]
async fn job_fails_at_backoff_limit() -> Result<()> {
    let case = Case::begin("jobs").await?;
    create(&case, "exit 1", |_| ()).await?;
    let job = case.until("jobs/j", "to fail", |job| condition(job, "Failed").is_some()).await?;
    let failed = condition(&job, "Failed").cloned().unwrap_or_default();
    assert_snapshot!(json!([failed["reason"], failed["message"], job["status"]["failed"], job["status"]["completionTime"]]), @r#"["BackoffLimitExceeded","Job has reached the specified backoff limit",1,null]"#);
    assert_eq!(pods(&case).await?.len(), 1, "the pod stays, for its log");
    Ok(())
}

#[tokio::test]
async fn failed_pod_of_job_is_replaced() -> Result<()> {
    let case = Case::begin("jobs").await?;
    let has_failed = |job: &Value| job["status"]["failed"].as_u64().is_some_and(|count| count > 0);
    create(&case, "exit ${CODE:-1}", |spec| {
        spec["backoffLimit"] = json!(9);
        let code =
            json!({ "configMapKeyRef": { "name": "code", "key": "code", "optional": true } });
        let container = &mut spec["template"]["spec"]["containers"][0];
        container["env"] = json!([{ "name": "CODE", "valueFrom": code }]);
    })
    .await?;
    case.until("jobs/j", "to have failed once", has_failed).await?;
    case.config_map("code", json!({ "code": "0" })).await?;
    let job =
        case.until("jobs/j", "to complete", |job| condition(job, "Complete").is_some()).await?;
    assert!(job["status"]["succeeded"] == 1 && has_failed(&job), "{job}");
    Ok(())
}

#[tokio::test]
async fn job_fails_at_active_deadline() -> Result<()> {
    let case = Case::begin("jobs").await?;
    create(&case, "sleep 60", |spec| spec["activeDeadlineSeconds"] = json!(1)).await?;
    let job = case.until("jobs/j", "to fail", |job| condition(job, "Failed").is_some()).await?;
    let failed = condition(&job, "Failed").cloned().unwrap_or_default();
    assert_snapshot!(json!([failed["reason"], failed["message"]]), @r#"["DeadlineExceeded","Job was active longer than specified deadline"]"#);
    let gone = "pods?labelSelector=job-name%3Dj";
    case.until(gone, "no pod", |list| list["items"].as_array().is_some_and(Vec::is_empty)).await?;
    Ok(())
}

#[tokio::test]
async fn job_runs_one_pod_per_completion() -> Result<()> {
    let case = Case::begin("jobs").await?;
    create(&case, "exit 0", |spec| {
        spec["completions"] = json!(3);
        spec["parallelism"] = json!(2);
    })
    .await?;
    let job =
        case.until("jobs/j", "to complete", |job| condition(job, "Complete").is_some()).await?;
    assert_eq!(job["status"]["succeeded"], 3);
    assert_eq!(pods(&case).await?.len(), 3);
    Ok(())
}

#[tokio::test]
async fn parallelism_limits_running_pods() -> Result<()> {
    let case = Case::begin("jobs").await?;
    create(&case, "sleep 60", |spec| {
        spec["completions"] = json!(5);
        spec["parallelism"] = json!(2);
    })
    .await?;
    case.until("jobs/j", "two pods", |job| job["status"]["active"] == 2).await?;
    assert_eq!(pods(&case).await?.len(), 2);
    case.merge("jobs/j", &json!({ "spec": { "parallelism": 1 } })).await?.object()?;
    case.until("jobs/j", "one pod", |job| job["status"]["active"] == 1).await?;
    Ok(())
}

#[tokio::test]
async fn job_deletion_propagates_as_requested() -> Result<()> {
    let case = Case::begin("jobs").await?;
    let list = "pods?labelSelector=job-name%3Dj";
    create(&case, "sleep 60", |_| ()).await?;
    case.until(list, "a pod", |list| list["items"].as_array().is_some_and(|it| it.len() == 1))
        .await?;
    case.delete_with("jobs/j", &json!({ "propagationPolicy": "Foreground" })).await?.object()?;
    case.until_gone("jobs/j").await?;
    assert_eq!(pods(&case).await?, Vec::<Value>::new());
    create(&case, "sleep 60", |_| ()).await?;
    case.until(list, "a pod", |list| list["items"].as_array().is_some_and(|it| it.len() == 1))
        .await?;
    case.delete_with("jobs/j", &json!({ "propagationPolicy": "Orphan" })).await?.object()?;
    case.until_gone("jobs/j").await?;
    let left = pods(&case).await?;
    assert_eq!((left.len(), &left[0]["metadata"]["ownerReferences"]), (1, &Value::Null));
    Ok(())
}

#[tokio::test]
async fn finished_job_is_deleted_after_ttl() -> Result<()> {
    let case = Case::begin("jobs").await?;
    if differences::JOB_TIME_TO_LIVE.is_missing(&case).await? {
        return Ok(());
    }
    create(&case, "exit 0", |spec| spec["ttlSecondsAfterFinished"] = json!(1)).await?;
    case.until_gone("jobs/j").await
}

#[tokio::test]
async fn suspended_job_runs_after_resume() -> Result<()> {
    let case = Case::begin("jobs").await?;
    if differences::JOB_SUSPENSION.is_missing(&case).await? {
        return Ok(());
    }
    create(&case, "exit 0", |spec| spec["suspend"] = json!(true)).await?;
    case.until("jobs/j", "to be suspended", |job| condition(job, "Suspended").is_some()).await?;
    assert_eq!(pods(&case).await?, Vec::<Value>::new());
    case.merge("jobs/j", &json!({ "spec": { "suspend": false } })).await?.object()?;
    case.until("jobs/j", "to complete", |job| condition(job, "Complete").is_some()).await?;
    Ok(())
}

#[tokio::test]
async fn job_defaults_are_applied() -> Result<()> {
    let case = Case::begin("jobs").await?;
    let mut wanted = job("image", "exit 0");
    wanted["spec"].as_object_mut().map(|spec| spec.remove("backoffLimit"));
    let spec = case.create("jobs?dryRun=All", &wanted).await?.object()?["spec"].clone();
    assert_snapshot!(json!([spec["parallelism"], spec["completions"], spec["backoffLimit"]]), @"[1,1,6]");
    let (selector, labels) =
        (&spec["selector"]["matchLabels"], &spec["template"]["metadata"]["labels"]);
    assert!(selector.as_object().is_some_and(|it| !it.is_empty()));
    assert_eq!(labels["job-name"], "j");
    Ok(())
}

#[tokio::test]
async fn invalid_jobs_are_refused() -> Result<()> {
    let case = Case::begin("jobs").await?;
    let mut transcript = Transcript::default();
    for (pointer, value) in [
        ("/spec/template/spec/restartPolicy", json!("Always")),
        ("/spec/backoffLimit", json!(-1)),
        ("/spec/template/spec/containers", json!([])),
    ] {
        let mut wanted = job("image", "exit 0");
        if let Some(place) = wanted.pointer_mut(pointer) {
            *place = value;
        }
        transcript.line(pointer, case.create("jobs", &wanted).await?.fields());
    }
    assert_snapshot!(transcript, @"
    /spec/template/spec/restartPolicy: 422 Invalid
      FieldValueRequired spec.template.spec.restartPolicy
    /spec/backoffLimit: 422 Invalid
      FieldValueInvalid spec.backoffLimit
    /spec/template/spec/containers: 422 Invalid
      FieldValueRequired spec.template.spec.containers
    ");
    case.create("jobs", &job("image", "exit 0")).await?.object()?;
    let template = json!({ "spec": { "template": { "metadata": { "labels": { "a": "b" } } } } });
    assert_snapshot!(case.merge("jobs/j", &template).await?.fields(), @"
    422 Invalid
      FieldValueInvalid spec.template
    ");
    Ok(())
}
