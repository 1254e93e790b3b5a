//! The conditional update to 4.7.4 with three risks, on three clusters.

use anyhow::{Context as _, Result};
use fairway_api::cluster_version::ClusterVersionStatus;
use fairway_api::{ClusterOperator, ConditionStatus, Conditions as _, OperatorCondition};
use fairway_operator::settings::MetricsSource;
use fairway_testkit::blocked_edges::FILES;
use fairway_testkit::testbed::prometheus::{Options, Prometheus};
use fairway_testkit::{objects, wait};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fault_proxy::{Behaviour, FaultProxy};
use crate::support::{Graph, OperatedCluster, available, http, prometheus, recommended, update};
use crate::telemetry::Telemetry;

pub(crate) const CHANNEL: &str =
    "name: stable-4.7\nversions:\n- 4.6.23\n- 4.6.42\n- 4.6.43\n- 4.7.4\n";

/// The risks of 4.7.4, by name.
pub(crate) const RISKS: [&str; 3] = [
    "AuthOAuthProxyLeakedConnections",
    "VSphereHW14CrossNodeNetworkingError",
    "VSphereNodeNameChanges",
];

pub(crate) async fn graph() -> Result<Graph> {
    let files = [("version", "1.1.0\n"), ("channels/stable-4.7.yaml", CHANNEL)];
    let files: Vec<_> = files.into_iter().chain(FILES).collect();
    Graph::of(&files, &["4.6.23", "4.6.42", "4.6.43", "4.7.4"]).await
}

/// Metrics of a cluster with or without a proxy, on an infrastructure.
pub(crate) fn samples(proxy: bool, infrastructure: &str) -> String {
    format!(
        "cluster_proxy_enabled{{type=\"http\"}} {}\ncluster_infrastructure_provider{{type=\"{infrastructure}\"}} 1\n",
        u8::from(proxy)
    )
}

pub(crate) fn snapshot(directory: &TempDir, samples: &str) -> Result<MetricsSource> {
    let path = directory.path().join("samples");
    std::fs::write(&path, samples)?;
    Ok(MetricsSource::Snapshot(path))
}

/// Waits for the status of the recommendation of 4.7.4.
async fn verdict(
    operated: &OperatedCluster,
    status: &ConditionStatus,
) -> Result<ClusterVersionStatus> {
    operated
        .status("a verdict about 4.7.4", |found| {
            recommended(found, "4.7.4").is_some_and(|condition| condition.status == *status)
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_exposed_to_all_risks_has_all_of_them() -> Result<()> {
    let (graph, directory) = (graph().await?, tempfile::tempdir()?);
    let metrics = snapshot(&directory, &samples(true, "VSphere"))?;
    let mut operated = OperatedCluster::new("4.6.23", "stable-4.7", &graph.url(), metrics).await?;
    operated.start();
    let status = verdict(&operated, &ConditionStatus::False).await?;

    assert_eq!(available(&status), ["4.6.43", "4.6.42"], "in decreasing order");
    let update = update(&status, "4.7.4").unwrap();
    assert_eq!(update.risk_names, RISKS);
    let mut shown = serde_json::to_value(update)?;
    for condition in shown["conditions"].as_array_mut().unwrap() {
        condition["lastTransitionTime"] = json!("…");
    }
    for risk in shown["risks"].as_array_mut().unwrap() {
        for condition in risk["conditions"].as_array_mut().unwrap() {
            condition["lastTransitionTime"] = json!("…");
        }
    }
    insta::assert_snapshot!(serde_json::to_string_pretty(&shown)?);
    let names: Vec<&str> =
        status.conditional_update_risks.iter().map(|risk| risk.name.as_str()).collect();
    assert_eq!(names, RISKS);
    operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_without_exposure_is_recommended_the_update() -> Result<()> {
    let (graph, directory) = (graph().await?, tempfile::tempdir()?);
    let metrics = snapshot(&directory, &samples(false, "AWS"))?;
    let mut operated = OperatedCluster::new("4.6.23", "stable-4.7", &graph.url(), metrics).await?;
    operated.start();
    let status = verdict(&operated, &ConditionStatus::True).await?;
    assert_eq!(available(&status), ["4.7.4", "4.6.43", "4.6.42"]);
    assert_eq!(recommended(&status, "4.7.4").unwrap().reason, "NotExposedToRisks");
    operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_without_metrics_has_unknown_risks() -> Result<()> {
    let graph = graph().await?;
    // No server listens on this port.
    let metrics = prometheus("http://127.0.0.1:9")?;
    let mut operated = OperatedCluster::new("4.6.23", "stable-4.7", &graph.url(), metrics).await?;
    operated.start();
    let status = verdict(&operated, &ConditionStatus::Unknown).await?;
    assert_eq!(available(&status), ["4.6.43", "4.6.42"]);
    assert_eq!(recommended(&status, "4.7.4").unwrap().reason, "EvaluationFailed");
    operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn update_with_accepted_risks_is_available() -> Result<()> {
    let (graph, directory) = (graph().await?, tempfile::tempdir()?);
    let metrics = snapshot(&directory, &samples(true, "VSphere"))?;
    let mut operated = OperatedCluster::new("4.6.23", "stable-4.7", &graph.url(), metrics).await?;
    operated.start();
    verdict(&operated, &ConditionStatus::False).await?;

    let accepted: Vec<_> = RISKS.iter().map(|name| json!({ "name": name })).collect();
    operated.patch_spec(json!({"desiredUpdate": {"acceptRisks": accepted[..2]}})).await?;
    let status = operated
        .status("one risk to be left", |status| {
            recommended(status, "4.7.4").is_some_and(|condition| condition.reason == RISKS[2])
        })
        .await?;
    assert_eq!(available(&status), ["4.6.43", "4.6.42"]);

    operated.patch_spec(json!({"desiredUpdate": {"acceptRisks": accepted}})).await?;
    let status = verdict(&operated, &ConditionStatus::True).await?;
    assert_eq!(available(&status), ["4.7.4", "4.6.43", "4.6.42"]);
    assert_eq!(recommended(&status, "4.7.4").unwrap().reason, "AllExposedRisksAccepted");
    operated.stop().await
}

/// A server with metrics to scrape.
async fn exporter(samples: &str) -> Result<FaultProxy> {
    let exporter = FaultProxy::start(|_| Box::pin(std::future::pending())).await?;
    exporter.behaves(Behaviour::Metrics(samples.to_owned()));
    Ok(exporter)
}

/// Waits until Prometheus has scraped an infrastructure.
async fn is_scraped(prometheus: &Prometheus, infrastructure: &str) -> Result<()> {
    let (http, url) = (http()?, format!("{}/api/v1/query", prometheus.url()));
    wait::until(infrastructure, || async {
        let request_builder = http.get(&url).query(&[("query", "cluster_infrastructure_provider")]);
        let answer: Value = request_builder.send().await?.json().await?;
        let found = answer["data"]["result"].as_array().map_or(&[][..], Vec::as_slice);
        let is_it = matches!(found, [one] if one["metric"]["type"] == infrastructure);
        Ok(is_it.then_some(()))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn cluster_with_real_prometheus_has_same_results() -> Result<()> {
    let (graph, exporter) = (graph().await?, exporter(&samples(true, "VSphere")).await?);
    let options = Options { scrape: vec![exporter.address().to_string()], ..Options::default() };
    let server = tokio::task::spawn_blocking(|| Prometheus::start(options)).await??;
    is_scraped(&server, "VSphere").await?;
    let metrics = prometheus(&server.url())?;
    let mut operated = OperatedCluster::new("4.6.23", "stable-4.7", &graph.url(), metrics).await?;
    operated.start();
    let status = verdict(&operated, &ConditionStatus::False).await?;
    let condition = recommended(&status, "4.7.4").unwrap();
    assert_eq!(condition.reason, "MultipleReasons");
    for about in ["oauth-server connections", "lose node names", "cross-node networking"] {
        assert!(condition.message.contains(about), "{}", condition.message);
    }
    assert_eq!(available(&status), ["4.6.43", "4.6.42"]);
    operated.stop().await?;

    // The cluster changes. Results are valid for an hour; a new operator has none.
    exporter.behaves(Behaviour::Metrics(samples(false, "AWS")));
    is_scraped(&server, "AWS").await?;
    operated.start();
    let status = verdict(&operated, &ConditionStatus::True).await?;
    assert_eq!(available(&status), ["4.7.4", "4.6.43", "4.6.42"]);
    assert_eq!(recommended(&status, "4.7.4").unwrap().reason, "NotExposedToRisks");
    operated.stop().await?;

    // Prometheus is down.
    tokio::task::spawn_blocking(|| server.stop()).await??;
    operated.start();
    let status = verdict(&operated, &ConditionStatus::Unknown).await?;
    assert_eq!(available(&status), ["4.6.43", "4.6.42"]);
    operated.stop().await
}

/// The query of graph-data: whether storage is degraded.
const QUERY: &str = "max(cluster_operator_conditions{name=\"storage\",condition=\"Degraded\"})\n\
    or\n0 * max(cluster_operator_conditions)";

/// The metric of the operator that the query reads.
const SERIES: &str = "cluster_operator_conditions{name=\"storage\",condition=\"Degraded\"}";

#[tokio::test(flavor = "multi_thread")]
async fn update_with_risk_of_degraded_operator_is_not_recommended() -> Result<()> {
    let telemetry = Telemetry::of("").await?;
    let risks = [("5.1.1", "StorageMigrationStalls", QUERY)];
    let graph = Graph::with_risks(&["5.1.0", "5.1.1"], &risks).await?;
    let mut operated =
        OperatedCluster::new("5.1.0", crate::support::CHANNEL, &graph.url(), telemetry.source()?)
            .await?;
    let storage = objects::cluster_operator("storage");
    let operators: Api<ClusterOperator> = Api::all(operated.cluster.client());
    operators.create(&PostParams::default(), &storage).await?;

    for (is_degraded, is_recommended, reason, offered) in [
        (false, ConditionStatus::True, "NotExposedToRisks", &["5.1.1"][..]),
        (true, ConditionStatus::False, "StorageMigrationStalls", &[]),
    ] {
        report(&operators, is_degraded).await?;
        operated.start();
        operated.reports(SERIES, f64::from(u8::from(is_degraded))).await?;
        telemetry.knows(&operated.metrics("metrics", |_| true).await?);
        // Results are valid for an hour; a new operator has none.
        operated.stop().await?;
        operated.start();
        let status = operated
            .status("a verdict about 5.1.1", |found| {
                recommended(found, "5.1.1")
                    .is_some_and(|condition| condition.status == is_recommended)
            })
            .await?;
        assert_eq!(recommended(&status, "5.1.1").unwrap().reason, reason);
        assert_eq!(available(&status), offered);
        operated.stop().await?;
    }
    Ok(())
}

/// Sets the condition `Degraded` of storage.
async fn report(operators: &Api<ClusterOperator>, is_degraded: bool) -> Result<()> {
    let mut storage = operators.get("storage").await?;
    let mut status = objects::working_at("5.1.0");
    let condition = OperatorCondition::new("Degraded", is_degraded).reason("Disks").message("…");
    status.conditions.set(condition, objects::beginning().0);
    storage.status = Some(status);
    operators.replace_status("storage", &PostParams::default(), &storage).await?;
    Ok(())
}

/// Removes fields from the CRD that older clusters do not have.
async fn remove_fields(operated: &OperatedCluster) -> Result<()> {
    let api: Api<CustomResourceDefinition> = Api::all(operated.cluster.client());
    let mut crd = api.get("clusterversions.config.openshift.io").await?;
    let schema = crd.spec.versions[0].schema.as_mut().context("a schema")?;
    let schema = schema.open_api_v3_schema.as_mut().context("a schema")?;
    let status = schema.properties.as_mut().and_then(|fields| fields.get_mut("status"));
    let fields = status.and_then(|status| status.properties.as_mut()).context("a status")?;
    fields.remove("conditionalUpdateRisks").context("no such field")?;
    api.replace("clusterversions.config.openshift.io", &PostParams::default(), &crd).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn status_with_older_crd_has_known_fields() -> Result<()> {
    let (graph, directory) = (graph().await?, tempfile::tempdir()?);
    let metrics = snapshot(&directory, &samples(true, "VSphere"))?;
    let mut operated = OperatedCluster::new("4.6.23", "stable-4.7", &graph.url(), metrics).await?;
    remove_fields(&operated).await?;
    operated.start();
    let is_evaluated = |status: &ClusterVersionStatus| {
        let condition = recommended(status, "4.7.4");
        condition.is_some_and(|condition| condition.status == ConditionStatus::False)
    };
    let status = operated.status("a verdict about 4.7.4", is_evaluated).await?;
    assert!(status.conditional_update_risks.is_empty(), "the API server drops the field");

    operated.stop().await
}
