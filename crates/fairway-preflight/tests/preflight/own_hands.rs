//! A release looks once, and whoever asks it creates the Jobs of its operators.

use std::sync::Arc;

use anyhow::Result;
use fairway_findings::vet::{self, NAMESPACE};
use fairway_findings::{CheckStatus, labels};
use fairway_preflight::jobs::{Board, OwnHands};
use fairway_preflight::runner::{Runner, Until};
use fairway_testkit::TestCluster;
use fairway_testkit::releases::TestRelease;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, ListParams};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::monitor::{selection, settings};
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

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_creates_the_jobs_and_removes_them_again() -> Result<()> {
    let cluster = TestCluster::in_turn().await?;
    make_namespace(&cluster).await?;
    let (client, settings) = (cluster.client(), settings());
    let run = vet::Run {
        id: settings.run.clone(),
        source_version: "5.0.0".to_owned(),
        target_version: "5.1.0".to_owned(),
        target_image: settings.image.clone(),
        // The test says how it ends: no node is to run it.
        node_selector: json!({"nowhere": "true"}),
        ..vet::Run::default()
    };
    let hands = Arc::new(OwnHands::new(client.clone(), run));
    let creates = Arc::clone(&hands) as Arc<dyn fairway_preflight::jobs::Hands>;
    let board = Arc::new(Board::new(client.clone(), &settings.run, creates));
    let content = release().load()?;
    let (selection, checks) = (selection(), Vec::new());
    let runner =
        Runner::prepare(client.clone(), &settings, &selection, content, checks, Some(board))
            .await?;
    let looking = tokio::spawn(runner.run(Until::Done, CancellationToken::new()));
    let of_run = format!("{}={}", labels::RUN, settings.run);
    end(&client, &of_run, 1, "there are two stacks").await?;
    let known = looking.await?;

    let told: Vec<_> = known.checks.iter().map(|it| (it.name.as_str(), it.status)).collect();
    assert_eq!(told, [("greedy", CheckStatus::Refused), ("network", CheckStatus::Found)]);
    insta::assert_snapshot!(known.checks[0].message, @"spec.template.spec.hostNetwork: a check has no part in the network of its node");
    let said = known.risks.iter().find(|risk| risk.check == "network").unwrap();
    assert_eq!(said.message, "there are two stacks");

    hands.clear().await?;
    let of_run = ListParams::default().labels(&of_run);
    let jobs: Api<Job> = Api::namespaced(client.clone(), NAMESPACE);
    let accounts: Api<ServiceAccount> = Api::namespaced(client, NAMESPACE);
    assert!(
        jobs.list(&of_run).await?.items.iter().all(|job| job.metadata.deletion_timestamp.is_some())
    );
    assert!(accounts.list(&of_run).await?.items.is_empty());
    Ok(())
}
