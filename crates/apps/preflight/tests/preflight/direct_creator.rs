//! Runs with Jobs that the user's credentials create.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use fairway_findings::jobs::{FORMAT, JobRequest, JobRequests};
use fairway_findings::vet::{self, AccessPolicy, NAMESPACE};
use fairway_findings::{CheckStatus, labels};
use fairway_preflight::jobs::{DirectJobCreator, JobCreator as _, JobRunner};
use fairway_preflight::runner::{Runner, Until};
use fairway_preflight::settings::Settings;
use fairway_release::Manifest;
use fairway_sandbox::faults::Fault;
use fairway_testkit::releases::TestRelease;
use fairway_testkit::{TestCluster, wait};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::monitor::{settings, target};
use crate::operator::{end, make_namespace};

fn check(mut object: Value) -> Value {
    object["metadata"]["annotations"] = json!({"openshift.io/preflight-check": "true"});
    object
}

fn job(name: &str, extra: &Value) -> Value {
    let image = format!("registry.example/check@sha256:{}", "0".repeat(64));
    let mut pod = json!({
        "serviceAccountName": "network", "restartPolicy": "Never",
        "containers": [{"name": "main", "image": image, "command": ["/bin/preflight"]}],
    });
    if let (Value::Object(pod), Value::Object(extra)) = (&mut pod, extra) {
        pod.extend(extra.clone());
    }
    check(json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "namespace": "network"},
        "spec": {"template": {"spec": pod}},
    }))
}

fn release() -> TestRelease {
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": "network", "namespace": "network"},
    });
    let (host, nothing) = (json!({"hostNetwork": true, "serviceAccountName": ""}), json!({}));
    TestRelease::new("5.1.0")
        .object("0000_50_network_10-account", check(account))
        .object("0000_50_network_20-job", job("network-preflight", &nothing))
        .object("0000_50_greedy_20-job", job("greedy-preflight", &host))
}

fn run(settings: &Settings) -> vet::RunParameters {
    vet::RunParameters {
        id: settings.run.clone(),
        source_version: "5.0.0".to_owned(),
        target_version: "5.1.0".to_owned(),
        target_image: settings.image.clone(),
        // Not schedulable: the test itself ends the pod.
        node_selector: json!({"nowhere": "true"}),
        ..vet::RunParameters::default()
    }
}

/// Names of the remaining objects of a run.
async fn left(client: &Client, run: &str) -> Result<Vec<String>> {
    let of_run = ListParams::default().labels(&labels::selector(run));
    let jobs: Api<Job> = Api::namespaced(client.clone(), NAMESPACE);
    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), NAMESPACE);
    let mut left: Vec<String> = Vec::new();
    left.extend(jobs.list(&of_run).await?.iter().map(ResourceExt::name_any));
    left.extend(pods.list(&of_run).await?.iter().map(ResourceExt::name_any));
    left.extend(accounts.list(&of_run).await?.iter().map(ResourceExt::name_any));
    Ok(left)
}

#[tokio::test(flavor = "multi_thread")]
async fn direct_creator_creates_and_removes_jobs() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    make_namespace(&cluster).await?;
    let (client, settings) = (cluster.client(), settings());
    let run = run(&settings);
    let creator = Arc::new(DirectJobCreator::new(client.clone(), run, AccessPolicy::verified()));
    let creates = Arc::clone(&creator) as Arc<dyn fairway_preflight::jobs::JobCreator>;
    let job_runner = Arc::new(JobRunner::new(client.clone(), &settings.run, creates));
    let content = release().load()?;
    let (selection, checks) = (target(), Vec::new());
    let runner =
        Runner::prepare(client.clone(), &settings, &selection, content, checks, Some(job_runner))
            .await?;
    let looking = tokio::spawn(runner.run(Until::Done, CancellationToken::new()));
    let of_run = labels::selector(&settings.run);
    end(&client, &of_run, 1, "there are two stacks").await?;
    let known = looking.await?;

    let rendered: Vec<_> = known.checks.iter().map(|it| (it.name.as_str(), it.status)).collect();
    assert_eq!(rendered, [("greedy", CheckStatus::Refused), ("network", CheckStatus::Found)]);
    insta::assert_snapshot!(known.checks[0].message, @"spec.template.spec.hostNetwork: a check must not use the host network");
    let granted: Vec<_> = known.checks.iter().map(|check| check.granted.join("; ")).collect();
    assert_eq!(granted, ["", "own ServiceAccount network"]);
    let finding = known.risks.iter().find(|risk| risk.check == "network").unwrap();
    assert_eq!(finding.message, "there are two stacks");

    creator.clear().await?;
    assert_eq!(left(&client, &settings.run).await?, [""; 0]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn direct_creator_leaves_nothing_after_cancellation() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    make_namespace(&cluster).await?;
    let (client, settings) = (cluster.client(), settings());
    let creator =
        Arc::new(DirectJobCreator::new(client.clone(), run(&settings), AccessPolicy::verified()));
    if let Some(sandbox) = cluster.as_sandbox() {
        let slow = Fault::delay(Duration::from_secs(2)).verb("create").resource("jobs");
        sandbox.faults().add(slow);
    }
    let content = release().load()?;
    let of_check = |manifest: &&Manifest| manifest.id.name.starts_with("network");
    let mut objects = content.manifests.iter().filter(of_check).map(Manifest::object);
    let requests = JobRequests {
        format: FORMAT.to_owned(),
        preflight_id: settings.run.clone(),
        jobs: vec![JobRequest {
            name: "network-preflight-01234567".to_owned(),
            check: "network".to_owned(),
            access: objects.next().into_iter().collect(),
            manifest: objects.next().context("the Job")?,
        }],
    };
    let asking = {
        let (creator, requests) = (Arc::clone(&creator), requests.clone());
        tokio::spawn(async move { creator.ask(&requests).await })
    };
    wait::until("the account of the check", async || {
        let left = left(&client, &settings.run).await?;
        Ok((!left.is_empty()).then_some(()))
    })
    .await?;
    asking.abort();
    creator.clear().await?;
    assert_eq!(left(&client, &settings.run).await?, [""; 0]);
    creator.ask(&requests).await?;
    assert_eq!(left(&client, &settings.run).await?, [""; 0], "nothing is created any more");
    Ok(())
}
