//! Test double of the operator: creates requested Jobs, deletes others, and ends every check as the
//! test defines.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use fairway_findings::jobs::{
    ANSWERS, FORMAT, JobAnswer, JobAnswers, JobRequest, JobRequests, JobState, REQUESTS,
};
use fairway_findings::labels;
use fairway_findings::vet::NAMESPACE;
use fairway_preflight::results;
use fairway_testkit::{TestCluster, wait};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Namespace, Pod, ServiceAccount};
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt as _};
use serde_json::json;

/// How a check ends.
pub(crate) enum End {
    /// With an exit code and a termination message.
    Exits(i32, &'static str),
    /// Its Job is refused.
    Refused(&'static str),
}

pub(crate) struct TestOperator {
    client: Client,
    directory: PathBuf,
    ends: BTreeMap<&'static str, End>,
}

impl TestOperator {
    /// Creates the namespace of checks.
    pub(crate) async fn new(
        cluster: &TestCluster,
        directory: &Path,
        ends: impl Into<BTreeMap<&'static str, End>>,
    ) -> Result<Self> {
        make_namespace(cluster).await?;
        Ok(Self { client: cluster.client(), directory: directory.to_owned(), ends: ends.into() })
    }

    /// Answers requests until it is dropped.
    pub(crate) async fn work(self) -> Result<()> {
        let mut answers: Vec<JobAnswer> = Vec::new();
        loop {
            let answered = answers.clone();
            let requested = wait::until("other requests", async || {
                let names = |requests: &JobRequests| {
                    requests.jobs.iter().map(|job| job.name.clone()).collect::<Vec<_>>()
                };
                let known: Vec<_> = answered.iter().map(|job| job.name.clone()).collect();
                Ok(self.requests().filter(|requests| names(requests) != known))
            })
            .await;
            let Ok(requested) = requested else { continue };
            let jobs: Api<Job> = Api::namespaced(self.client.clone(), NAMESPACE);
            for gone in answers.iter().filter(|known| is_missing(&requested, known)) {
                if gone.state == JobState::Created {
                    jobs.delete(&gone.name, &DeleteParams::background()).await?;
                }
            }
            answers.retain(|known| !is_missing(&requested, known));
            for request in &requested.jobs {
                if answers.iter().all(|known| known.name != request.name) {
                    answers.push(self.answer(&requested.preflight_id, request).await?);
                }
            }
            let (format, preflight_id) = (FORMAT.to_owned(), requested.preflight_id.clone());
            let document = JobAnswers { format, preflight_id, jobs: answers.clone() };
            results::write(&self.directory, ANSWERS, &document)?;
        }
    }

    fn requests(&self) -> Option<JobRequests> {
        serde_json::from_slice(&fs::read(self.directory.join(REQUESTS)).ok()?).ok()
    }

    async fn answer(&self, run: &str, request: &JobRequest) -> Result<JobAnswer> {
        let name = request.name.clone();
        match self.ends.get(request.check.as_str()).context("a check that the test knows")? {
            End::Refused(why) => {
                Ok(JobAnswer { name, state: JobState::Refused, message: (*why).to_owned() })
            }
            End::Exits(code, message) => {
                self.create(run, request).await?;
                end(&self.client, &format!("job-name={name}"), *code, message).await?;
                Ok(JobAnswer { name, state: JobState::Created, message: String::new() })
            }
        }
    }

    async fn create(&self, run: &str, request: &JobRequest) -> Result<()> {
        let mut job = request.manifest.clone();
        let labels = json!({labels::RUN: run});
        job["metadata"] = json!({"name": request.name, "labels": labels});
        job["spec"]["template"]["metadata"]["labels"] = labels;
        // Not schedulable: the test itself ends the pod.
        job["spec"]["template"]["spec"]["nodeSelector"] = json!({"nowhere": "true"});
        let jobs: Api<Job> = Api::namespaced(self.client.clone(), NAMESPACE);
        jobs.create(&PostParams::default(), &serde_json::from_value(job)?).await?;
        Ok(())
    }
}

/// Creates the namespace of checks, unless it exists.
pub(crate) async fn make_namespace(cluster: &TestCluster) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    let metadata = ObjectMeta { name: Some(NAMESPACE.to_owned()), ..ObjectMeta::default() };
    let namespace = Namespace { metadata, ..Namespace::default() };
    match namespaces.create(&PostParams::default(), &namespace).await {
        Err(kube::Error::Api(status)) if status.code == 409 => {}
        created => drop(created?),
    }
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client(), NAMESPACE);
    wait::until("the ServiceAccount", async || Ok(accounts.get_opt("default").await?)).await?;
    Ok(())
}

/// Terminates the pod of a Job, like a kubelet.
pub(crate) async fn end(client: &Client, label: &str, code: i32, message: &str) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let of_job = ListParams::default().labels(label);
    let pod = wait::until("the pod of a check", async || {
        Ok(pods.list(&of_job).await?.items.into_iter().next())
    })
    .await?;
    let state = json!({"terminated": {
        "exitCode": code, "reason": if code == 0 { "Completed" } else { "Error" },
        "message": message, "startedAt": null, "finishedAt": null,
    }});
    let status = json!({"status": {
        "phase": if code == 0 { "Succeeded" } else { "Failed" },
        "containerStatuses": [{
            "name": "check", "image": "registry.example/check", "imageID": "", "ready": false,
            "restartCount": 0, "state": state,
        }],
    }});
    let params = PatchParams::default();
    pods.patch_status(&pod.name_any(), &params, &Patch::Merge(&status)).await?;
    Ok(())
}

fn is_missing(requested: &JobRequests, known: &JobAnswer) -> bool {
    requested.jobs.iter().all(|request| request.name != known.name)
}
