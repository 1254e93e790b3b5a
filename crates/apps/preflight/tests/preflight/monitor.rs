//! The first pass and the reaction to changes.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use fairway_api::{ClusterOperator, Version};
use fairway_findings::{CheckKind, Document, ExecutionStatus, ExpectedDocument, Finding};
use fairway_preflight::check::{BuiltInCheck, BuiltInResult, NoResult};
use fairway_preflight::cluster::{Cluster, Resource};
use fairway_preflight::engine::CheckSchedule;
use fairway_preflight::monitor::{MonitorError, MonitorPaths, monitor};
use fairway_preflight::results::RESULT_FILE;
use fairway_preflight::settings::{ImageSettings, Settings};
use fairway_preflight::target::SelectionSettings;
use fairway_preflight::target::Target;
use fairway_testkit::objects::cluster_operator;
use fairway_testkit::releases::TestRelease;
use fairway_testkit::{TestCluster, wait};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::SignedDuration;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, PostParams};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::operator::{End, TestOperator};

const RUN: &str = "0123456789abcdef0123456789abcdef";
const FORBIDDEN: &str = "forbidden-by-the-next-release";

/// A check that finds a ConfigMap.
struct Names;

impl BuiltInCheck for Names {
    fn name(&self) -> &'static str {
        "names"
    }

    fn watched(&self) -> &[Resource] {
        const KINDS: [Resource; 2] = [
            Resource::new("", "v1", "ConfigMap", "configmaps"),
            Resource::new("example.test", "v1", "Absent", "absents"),
        ];
        &KINDS
    }

    fn run<'a>(
        &'a self,
        cluster: &'a Cluster,
        _target: &'a Target,
    ) -> BoxFuture<'a, Result<BuiltInResult, NoResult>> {
        async {
            let mut findings = Vec::new();
            let collect_name = |map: ConfigMap| {
                if map.name_any() == FORBIDDEN {
                    findings.push(Finding { name: "NameForbidden".into(), ..Finding::default() });
                }
            };
            cluster.each(collect_name).await?;
            Ok(findings.into())
        }
        .boxed()
    }
}

/// A check that panics.
struct Broken;

impl BuiltInCheck for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }

    fn watched(&self) -> &[Resource] {
        &[]
    }

    fn run<'a>(
        &'a self,
        _cluster: &'a Cluster,
        _target: &'a Target,
    ) -> BoxFuture<'a, Result<BuiltInResult, NoResult>> {
        async { panic!("on purpose") }.boxed()
    }
}

pub(crate) fn settings() -> Settings {
    Settings {
        run: RUN.to_owned(),
        image: "registry.example/release@sha256:0".to_owned(),
        source: Version::new(5, 0, 0),
        check_timeout: Duration::from_mins(5),
        pace: CheckSchedule { between: SignedDuration::ZERO, ..CheckSchedule::default() },
        images: ImageSettings::default(),
    }
}

pub(crate) fn target() -> SelectionSettings {
    let profile = "self-managed-high-availability".to_owned();
    SelectionSettings { profile, exclude: None }
}

fn job(name: &str) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "annotations": {"openshift.io/preflight-check": "true"}},
        "spec": {"backoffLimit": 0, "template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "check", "image": "registry.example/check"}],
        }}},
    })
}

fn operator(name: &str) -> Value {
    json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": name}})
}

fn release() -> TestRelease {
    TestRelease::new("5.1.0")
        .object("0000_50_network_10-job", job("network-preflight"))
        .object("0000_50_network_90-operator", operator("network"))
        .object("0000_50_storage_10-job", job("storage-preflight"))
        .object("0000_50_storage_90-operator", operator("storage"))
        .object("0000_50_shiny_10-job", job("shiny-preflight"))
        .object("0000_50_shiny_90-operator", operator("shiny"))
        .object("0000_50_greedy_10-job", job("greedy-preflight"))
        .object("0000_50_plain_90-operator", operator("plain"))
}

fn read(directory: &Path) -> Option<Document> {
    serde_json::from_slice(&fs::read(directory.join(RESULT_FILE)).ok()?).ok()
}

/// Waits for results that satisfy a predicate.
async fn results(
    directory: &Path,
    what: &str,
    holds: impl Fn(&Document) -> bool,
) -> Result<Document> {
    wait::until(what, async || Ok(read(directory).filter(|document| holds(document)))).await
}

fn rendered(document: &Document) -> String {
    let lines = document.checks.iter().map(|check| {
        let why =
            if check.message.is_empty() { String::new() } else { format!(": {}", check.message) };
        format!("{} {:?}{why}", check.name, check.status)
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn risks(document: &Document) -> Vec<&str> {
    document.risks.iter().map(|risk| risk.name.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn monitor_repeats_checks_on_changes() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let operators: Api<ClusterOperator> = Api::all(cluster.client());
    for name in ["network", "storage"] {
        operators.create(&PostParams::default(), &cluster_operator(name)).await?;
    }
    let directory = tempfile::tempdir()?;
    let paths = MonitorPaths {
        payload: directory.path().join("payload"),
        results: directory.path().join("results"),
    };
    release().write(&paths.payload)?;
    fs::create_dir(&paths.results)?;
    let found = r#"{"format": "preflight-v1-json", "executionStatus": "completed", "risks": [{"name": "DualStack"}]}"#;
    let ends = [
        ("network", End::Exits(0, found)),
        ("storage", End::Exits(2, "no such driver")),
        ("greedy", End::Refused("it asks for a host path")),
    ];
    let working = TestOperator::new(&cluster, &paths.results, ends).await?;
    let working = tokio::spawn(working.work());
    let stop = CancellationToken::new();
    let (client, at, ended) = (cluster.client(), paths.clone(), stop.clone());
    let looking = tokio::spawn(async move {
        let checks: Vec<Box<dyn BuiltInCheck>> = vec![Box::new(Names), Box::new(Broken)];
        monitor(client, &settings(), &target(), checks, &at, ended).await
    });

    let first = results(&paths.results, "the first pass", |known| known.completed.is_some());
    let first = first.await?;
    insta::assert_snapshot!(rendered(&first), @"
    broken Failed: the check panicked (this is a bug in Fairway): on purpose
    greedy Refused: it asks for a host path
    names Passed
    network Found
    plain Skipped: the release contains no check for this component
    shiny Skipped: its ClusterOperator is new in the target release and does not exist in the cluster yet
    storage Failed: no such driver
    ");
    assert_eq!(
        risks(&first),
        ["BrokenCheckFailed", "DualStack", "GreedyCheckFailed", "StorageCheckFailed"]
    );
    let progress = first.progress(CheckKind::Operator);
    assert_eq!((progress.answered, progress.failed, progress.total), (1, 2, 3));
    assert_eq!((first.preflight_id.as_str(), first.target_version.as_str()), (RUN, "5.1.0"));

    let jobs: Api<Job> = Api::namespaced(cluster.client(), "openshift-cluster-version-preflight");
    wait::until("all Jobs to be gone", async || {
        Ok(jobs.list(&ListParams::default()).await?.items.is_empty().then_some(()))
    })
    .await?;

    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
    let metadata = ObjectMeta { name: Some(FORBIDDEN.to_owned()), ..ObjectMeta::default() };
    let map = ConfigMap { metadata, ..ConfigMap::default() };
    maps.create(&PostParams::default(), &map).await?;
    let has = |name: &'static str| move |known: &Document| risks(known).contains(&name);
    results(&paths.results, "what is new", has("NameForbidden")).await?;
    maps.delete(FORBIDDEN, &DeleteParams::default()).await?;
    let after = results(&paths.results, "what is gone", |known| !has("NameForbidden")(known));
    let after = after.await?;
    assert!(risks(&after).contains(&"DualStack"), "not withdrawn");

    stop.cancel();
    looking.await??;
    working.abort();
    Ok(())
}

#[tokio::test]
async fn monitor_without_payload_reports_failure_in_results() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let directory = tempfile::tempdir()?;
    let paths = MonitorPaths { payload: "/nowhere".into(), results: directory.path().to_owned() };
    let stop = CancellationToken::new();
    let ended = monitor(cluster.client(), &settings(), &target(), Vec::new(), &paths, stop).await;
    assert!(matches!(ended, Err(MonitorError::Payload(_))));
    let written = fs::read(directory.path().join(RESULT_FILE))?;
    let Settings { image, .. } = settings();
    let expected = ExpectedDocument { run: RUN, target_version: "5.1.0", target_image: &image };
    let known = Document::read(&written, &expected)?.document;
    insta::assert_snapshot!(known.message.lines().next().unwrap_or_default(), @"invalid release, 2 errors:");
    assert_eq!(known.execution_status, ExecutionStatus::Failed);
    Ok(())
}
