//! `fairway upgrade explain`.

use std::sync::Arc;

use anyhow::Result;
use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use fairway_api::{ClusterVersion, Conditions as _};
use fairway_testkit::releases::TestRelease;
use fairway_testkit::{NAMESPACE, OperatorOptions, TestCluster, TestOperator, objects, wait};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::{create_cluster_version, document, upgrade};

const QUERY: &str = "group by (type) (cluster_proxy_enabled == 1)";

/// An update service with one conditional update, and a Prometheus by which its risk applies. Dropping it
/// ends both.
struct StubServices {
    url: String,
    graph: Value,
    task: JoinHandle<()>,
}

impl StubServices {
    async fn start() -> Result<Self> {
        let node = |version: &str| json!({"version": version, "payload": objects::release(version).image, "metadata": {}});
        let risk = json!({
            "name": "Proxy", "message": "A proxy may break it.", "url": "https://example.com/proxy",
            "matchingRules": [{"type": "PromQL", "promql": {"promql": QUERY}}, {"type": "Always"}],
        });
        let conditional = json!({"edges": [{"from": "5.1.0", "to": "5.2.0"}], "risks": [risk]});
        let graph = json!({
            "nodes": [node("5.1.0"), node("5.2.0")], "edges": [], "conditionalEdges": [conditional],
        });
        let sample = json!({"metric": {"type": "http"}, "value": [0, "1"]});
        let answer =
            json!({"status": "success", "data": {"resultType": "vector", "result": [sample]}});
        let alerts = json!({"status": "success", "data": {"alerts": []}});
        let serve = |document: Value| {
            let text = document.to_string();
            get(async move || ([(CONTENT_TYPE, "application/json")], text))
        };
        let router = Router::new()
            .route("/graph", serve(graph.clone()))
            .route("/api/v1/query", serve(answer))
            .route("/api/v1/alerts", serve(alerts));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let task = tokio::spawn(async move {
            // It ends when the task is aborted.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { url, graph, task })
    }
}

impl Drop for StubServices {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Starts an operator that uses the services.
fn start_operator(
    cluster: &Arc<TestCluster>,
    payload: &TempDir,
    services: &StubServices,
) -> Result<TestOperator> {
    TestRelease::new("5.1.0").write(payload.path())?;
    let url = &services.url;
    let options = OperatorOptions {
        arguments: vec![format!("--metrics-url={url}"), format!("--update-service={url}/graph")],
        ..OperatorOptions::new(&objects::release("5.1.0").image, payload.path())
    };
    TestOperator::start(Arc::clone(cluster), options)
}

async fn ensure_namespace(cluster: &TestCluster) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    if namespaces.get_opt(NAMESPACE).await?.is_none() {
        let object = serde_json::from_value(json!({"metadata": {"name": NAMESPACE}}))?;
        namespaces.create(&PostParams::default(), &object).await?;
    }
    Ok(())
}

/// Replaces ages by a placeholder.
fn without_ages(text: &str) -> String {
    let is_age = |word: &str| {
        word.starts_with(|it: char| it.is_ascii_digit())
            && word.ends_with(['s', 'm', 'h', 'd'])
            && word.chars().all(|it| it.is_ascii_digit() || "smhd".contains(it))
    };
    let words = text.split_inclusive(char::is_whitespace);
    let without_ages = words.map(|word| match word.trim_end() {
        age if is_age(age) => word.replace(age, "AGE"),
        _ => word.to_owned(),
    });
    without_ages.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_prints_queries_and_their_results() -> Result<()> {
    let cluster = Arc::new(TestCluster::exclusive().await?);
    ensure_namespace(&cluster).await?;
    let versions: Api<ClusterVersion> = Api::all(cluster.client());
    let mut object = objects::cluster_version();
    object.spec.channel = Some("stable-5.1".to_owned());
    versions.create(&PostParams::default(), &object).await?;
    let services = StubServices::start().await?;
    let payload = tempfile::tempdir()?;
    let _operator = start_operator(&cluster, &payload, &services)?;
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), NAMESPACE);
    let decided = async || -> Result<Option<()>> {
        let status = versions.get("version").await?.status.unwrap_or_default();
        let mut updates = status.conditional_updates.iter();
        let is_decided = updates.any(|update| update.conditions.is_false("Recommended"));
        let noted = maps.get_opt("risk-evaluations").await?.is_some();
        Ok((is_decided && noted).then_some(()))
    };
    wait::until("stored results of queries", decided).await?;

    let explain = |subject: &str| upgrade(cluster.kubeconfig(), &["explain", subject]);
    insta::assert_snapshot!(without_ages(&explain("Proxy")), @r#"
    exit code: 3
    ----- stdout -----
    Proxy: applies to this cluster, since AGE (Match)
      The query returned 1: the risk applies to this cluster.

    Source: the update service

    Description:
      A proxy may break it.
      https://example.com/proxy

    Evaluation (the first rule with a result decides):
      1. PromQL (decides)
         group by (type) (cluster_proxy_enabled == 1)
         This cluster is exposed: evaluated AGE ago, next evaluation in AGE
           {type="http"} 1
      2. Always: applies to every cluster

    Affected updates:
      5.2.0  Recommended=False, because of this risk

    Not accepted. To accept it, run `fairway upgrade accept Proxy`.
    "#);
    insta::assert_snapshot!(without_ages(&explain("5.2.0")), @"
    exit code: 3
    ----- stdout -----
    5.2.0: available from 5.1.0, conditional on its risks
    Recommended=False for this cluster: Proxy, since AGE

    Channel: stable-5.1
    Update service: default of the operator
    Image: registry.example/release@sha256:8ecd4901ea069209005fa5d998421b30df046f771a2a930189f6c1adad5cea2e

    Risks:
      Proxy: applies to this cluster; source: the update service
        A proxy may break it.
        The query returned 1: the risk applies to this cluster.

    For details of a risk, run `fairway upgrade explain RISK`.
    ");
    let explained = document(cluster.kubeconfig(), &["explain", "Proxy"])?;
    assert_eq!(explained["kind"], "UpgradeExplanation");
    let evaluation = &explained["risk"]["definitions"][0]["rules"][0]["evaluation"];
    assert_eq!(evaluation["samples"], json!([{"labels": {"type": "http"}, "value": "1"}]));
    assert_eq!(
        (&evaluation["outcome"], &evaluation["overdue"]),
        (&"matches".into(), &false.into())
    );

    // A graph has more details about updates that are not offered.
    let directory = tempfile::tempdir()?;
    let graph = directory.path().join("graph.json");
    std::fs::write(&graph, services.graph.to_string())?;
    let graph = format!("--graph={}", graph.display());
    let explained = document(cluster.kubeconfig(), &["explain", "5.1.9", &graph])?;
    assert_eq!(
        explained["update"]["blockers"],
        json!([{"type": "noPath", "reason": "unknownVersion"}])
    );

    // Recorded files give the same text.
    let write = |name: &str, object: &Value| {
        std::fs::write(directory.path().join(name), object.to_string())
    };
    let mut version = serde_json::to_value(versions.get("version").await?)?;
    version["apiVersion"] = "config.openshift.io/v1".into();
    version["kind"] = "ClusterVersion".into();
    let mut map = serde_json::to_value(maps.get("risk-evaluations").await?)?;
    map["apiVersion"] = "v1".into();
    map["kind"] = "ConfigMap".into();
    write("version.yaml", &version)?;
    write("notes.yaml", &map)?;
    let mut command = crate::fairway();
    command.current_dir(directory.path()).args(["upgrade", "explain", "Proxy"]);
    command.args(["--from-file=version.yaml", "--from-file=notes.yaml"]);
    let offline = crate::transcript(&mut command);
    assert_eq!(without_ages(&offline), without_ages(&explain("Proxy")));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_without_stored_results() -> Result<()> {
    check_without_stored_results().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn explain_without_stored_results_in_a_real_cluster() -> Result<()> {
    check_without_stored_results().await
}

async fn check_without_stored_results() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    create_cluster_version(&cluster).await?;
    let explain =
        |subject: &str| without_ages(&upgrade(cluster.kubeconfig(), &["explain", subject]));
    insta::allow_duplicates! {
        insta::assert_snapshot!(explain("SlowDisks"), @"
        exit code: 3
        ----- stdout -----
        SlowDisks: applies to this cluster, since AGE (Match)
          It does.

        Source: the update service

        Description:
          Nodes with slow disks may miss leases.
          https://example.com/slow-disks

        Evaluation:
          1. Always: applies to every cluster

        Affected updates:
          5.2.0  Recommended=False, because of this risk

        Not accepted. To accept it, run `fairway upgrade accept SlowDisks`.
        ");
        insta::assert_snapshot!(explain("5.1.1"), @"
        exit code: 0
        ----- stdout -----
        5.1.1: recommended, available from 5.1.0 without conditions

        Channel: stable-5.1
        Update service: default of the operator
        Image: registry.example/release@sha256:4ccec3fd47ee5162962804420d4b53c8ee5ecfc827f79ffd21e679b305742003
        ");
        insta::assert_snapshot!(explain("5.2.7"), @"
        exit code: 4
        ----- stdout -----
        5.2.7: not available from 5.1.0

        Channel: stable-5.1
        Update service: default of the operator

        Reasons:
          Other updates to that minor version are available: 5.2.0.

        To find an upgrade path, run `fairway upgrade plan --to=5.2.7`.
        ");
        insta::assert_snapshot!(explain("SlowDisk"), @r#"
        exit code: 4
        ----- stderr -----
        error: no available update has a risk named "SlowDisk", and no such risk is accepted
        hint: did you mean SlowDisks?
        "#);
        insta::assert_snapshot!(explain("5.2"), @r#"
        exit code: 2
        ----- stderr -----
        error: invalid value '5.2' for '<RISK|VERSION>': "5.2" is not a semantic version such as 5.1.0 or 5.2.0-rc.1

        For more information, try '--help'.
        "#);
    }
    Ok(())
}
