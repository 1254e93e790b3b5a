//! A cluster with an operator, an update service and a metrics server.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use fairway_api::cluster_version::{ClusterVersionStatus, ConditionalUpdate};
use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion, Condition, Conditions as _};
use fairway_cincinnati::query::UpdateServices;
use fairway_findings::record;
use fairway_operator::Settings;
use fairway_operator::election::{ElectionSettings, LeaseName, Timing};
use fairway_operator::endpoint::{EndpointSettings, MetricsAuth};
use fairway_operator::settings::{
    MetricsSource, PreflightSettings, PrometheusSettings, ReleaseSettings, ResultsDirectory,
    RiskSettings, TargetSettings,
};
use fairway_operator::stage::updates::{self, RequestIntervals};
use fairway_risk::QueryPolicy;
use fairway_testkit::platform::Platform;
use fairway_testkit::releases::TestRelease;
use fairway_testkit::{AuditEvent, AuditMark, TestCluster, objects, wait};
use fairway_update_service::source::{Directory, ReleasesFile};
use fairway_update_service::{PolledSource, Service, ServiceOptions};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Settle time of the update service's files: tests write them at once.
const SETTLE: Duration = Duration::from_millis(10);

/// Channel of clusters in tests.
pub(crate) const CHANNEL: &str = "stable-5.1";

/// An update service with graph-data in files.
pub(crate) struct Graph {
    service: Service,
    _files: TempDir,
}

impl Graph {
    /// Serves graph-data and releases of these versions, with updates from all earlier versions.
    pub(crate) async fn of(files: &[(&str, &str)], versions: &[&str]) -> Result<Self> {
        let images: Vec<_> =
            versions.iter().map(|version| (*version, objects::release(version).image)).collect();
        Self::of_images(files, &images).await
    }

    /// Like [`Self::of`], with release images.
    pub(crate) async fn of_images(
        files: &[(&str, &str)],
        images: &[(&str, String)],
    ) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let data = directory.path().join("graph-data");
        for (name, content) in files {
            let path = data.join(name);
            std::fs::create_dir_all(path.parent().context("a file is in a directory")?)?;
            std::fs::write(path, content)?;
        }
        let versions: Vec<&str> = images.iter().map(|(version, _)| *version).collect();
        let releases: Vec<Value> = images
            .iter()
            .enumerate()
            .map(|(place, (version, image))| {
                json!({
                    "image": image,
                    "arch": "amd64",
                    "release-metadata": {
                        "kind": "cincinnati-metadata-v0",
                        "version": version,
                        "previous": versions[..place],
                        "metadata": {"url": format!("https://errata.example/{version}")},
                    },
                })
            })
            .collect();
        let file = directory.path().join("releases.json");
        std::fs::write(&file, serde_json::to_vec(&releases)?)?;
        let service = serve(&data, &file).await?;
        Ok(Self { service, _files: directory })
    }

    /// Serves releases of these versions in the channel `stable-5.1`. A risk has a version, a name,
    /// and a query.
    pub(crate) async fn with_risks(
        versions: &[&str],
        risks: &[(&str, &str, &str)],
    ) -> Result<Self> {
        let files = graph_data(versions, risks);
        let files: Vec<_> = files.iter().map(|(name, text)| (&name[..], &text[..])).collect();
        Self::of(&files, versions).await
    }

    /// Serves the graph-data and releases of a platform, and waits until the update service has
    /// read them.
    pub(crate) async fn of_platform(platform: &Platform) -> Result<Self> {
        let service = serve(&platform.graph_data(), &platform.releases()).await?;
        let graph = Self { service, _files: tempfile::tempdir()? };
        let http = http()?;
        let question = format!("{}?channel=stable-4.17", graph.url());
        wait::until("the platform to be read", || async {
            let answer = http.get(&question).header("Accept", "application/json").send().await?;
            Ok(answer.status().is_success().then_some(()))
        })
        .await?;
        Ok(graph)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/api/upgrades_info/graph", self.service.address())
    }
}

/// Graph-data of these versions in the channel `stable-5.1`, with risks.
pub(crate) fn graph_data(versions: &[&str], risks: &[(&str, &str, &str)]) -> Vec<(String, String)> {
    let channel = json!({"name": CHANNEL, "versions": versions}).to_string();
    let mut files = vec![
        ("version".to_owned(), "1.1.0\n".to_owned()),
        (format!("channels/{CHANNEL}.yaml"), channel),
    ];
    for (to, name, query) in risks {
        let block = json!({
            "to": to,
            "from": ".*",
            "url": format!("https://example.com/{name}"),
            "name": name,
            "message": format!("{name} may break the cluster."),
            "matchingRules": [{"type": "PromQL", "promql": {"promql": query}}],
        });
        files.push((format!("blocked-edges/{to}-{name}.yaml"), block.to_string()));
    }
    files
}

async fn serve(data: &Path, releases: &Path) -> Result<Service> {
    let every = Duration::from_millis(200);
    let data = PolledSource::new(Directory::new(data).settle(SETTLE), every);
    let releases = PolledSource::new(ReleasesFile::new(releases).settle(SETTLE), every);
    Ok(Service::start(ServiceOptions::new(([127, 0, 0, 1], 0).into(), data, releases)).await?)
}

/// A client without a proxy.
pub(crate) fn http() -> Result<reqwest::Client> {
    // An error means that another test has installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Ok(reqwest::Client::builder().no_proxy().build()?)
}

/// A cluster with an operator.
pub(crate) struct OperatedCluster {
    pub(crate) cluster: TestCluster,
    pub(crate) settings: Settings,
    /// The client of the operator.
    pub(crate) client: Client,
    payload: TempDir,
    endpoint: SocketAddr,
    http: reqwest::Client,
    running: Option<(CancellationToken, JoinHandle<Result<()>>)>,
}

impl OperatedCluster {
    /// A cluster at a version, with a channel and an update service. The operator is not started.
    pub(crate) async fn new(
        version: &str,
        channel: &str,
        upstream: &str,
        metrics: MetricsSource,
    ) -> Result<Self> {
        // Over TLS, so that tests can break connections.
        http()?;
        let cluster = TestCluster::exclusive().await?.over_tls().await?;
        Self::on(cluster, version, channel, upstream, metrics).await
    }

    /// Like [`Self::new`], on a cluster with the CRDs.
    pub(crate) async fn on(
        cluster: TestCluster,
        version: &str,
        channel: &str,
        upstream: &str,
        metrics: MetricsSource,
    ) -> Result<Self> {
        // Shows the log of the operator if a test fails; an error means that it is set up already.
        let _ = tracing_subscriber::fmt().with_test_writer().try_init();
        let http = http()?;
        let client = cluster.client();
        for (namespace, config_map) in
            [("openshift-config-managed", "admin-gates"), ("openshift-config", "admin-acks")]
        {
            ensure_config_map(&cluster, namespace, config_map).await?;
        }
        ensure_namespace(&cluster, "openshift-cluster-version").await?;
        forget_preflights(&cluster).await?;
        let mut object = objects::cluster_version();
        object.spec.channel = Some(channel.to_owned());
        object.spec.upstream = Some(upstream.to_owned());
        Api::<ClusterVersion>::all(client.clone()).create(&PostParams::default(), &object).await?;

        let payload = tempfile::tempdir()?;
        let image = objects::release(version).image;
        TestRelease::new(version).write(payload.path())?;
        // The kernel does not reuse a port that soon.
        let endpoint = TcpListener::bind(("127.0.0.1", 0)).await?.local_addr()?;
        let settings = settings(payload.path(), &image, metrics, endpoint);
        let running = None;
        Ok(Self { cluster, settings, client, payload, endpoint, http, running })
    }

    /// Replaces the operator's own release.
    pub(crate) fn write_payload(&self, release: &TestRelease) -> Result<()> {
        release.write(self.payload.path())
    }

    /// Starts the operator.
    pub(crate) fn start(&mut self) {
        let stop = CancellationToken::new();
        let run = fairway_operator::run(self.client.clone(), self.settings.clone(), stop.clone());
        let task = tokio::spawn(async move { Ok(run.await?) });
        self.running = Some((stop, task));
    }

    /// Stops the operator and waits for its end.
    pub(crate) async fn stop(&mut self) -> Result<()> {
        let (stop, task) = self.running.take().context("the operator does not run")?;
        stop.cancel();
        task.await?
    }

    /// Waits for metrics.
    pub(crate) async fn metrics(
        &self,
        what: &str,
        is_right: impl Fn(&str) -> bool,
    ) -> Result<String> {
        let last = std::sync::Mutex::new(String::new());
        let url = format!("http://{}/metrics", self.endpoint);
        let found = wait::until(what, || async {
            // The endpoint may not be started yet.
            let Ok(answer) = self.http.get(&url).send().await else { return Ok(None) };
            let text = answer.text().await?;
            if is_right(&text) {
                return Ok(Some(text));
            }
            *last.lock().expect("no panic") = text;
            Ok(None)
        });
        found.await.with_context(|| format!("the last metrics are {}", last.lock().expect("read")))
    }

    /// Waits until a metric has a value.
    pub(crate) async fn reports(&self, series: &str, value: f64) -> Result<()> {
        let what = format!("{series} {value}");
        self.metrics(&what, |text| sample(text, series) == Some(value)).await.map(drop)
    }

    /// Waits until a metric has at least a value.
    pub(crate) async fn reaches(&self, series: &str, value: f64) -> Result<()> {
        let what = format!("{series} {value} or more");
        let reaches = |text: &str| sample(text, series).is_some_and(|found| found >= value);
        self.metrics(&what, reaches).await.map(drop)
    }

    /// The current value of a metric.
    pub(crate) async fn sample(&self, series: &str) -> Result<f64> {
        let text = self.metrics(series, |text| sample(text, series).is_some()).await?;
        sample(&text, series).context("it was there")
    }

    /// Number of status writes since a mark.
    pub(crate) fn status_writes(&self, since: AuditMark) -> Result<usize> {
        let events = self.cluster.audit_log()?.since(since)?;
        let is_status = |event: &&AuditEvent| {
            let object = event.object_ref.as_ref();
            let is_status = object.is_some_and(|object| object.subresource == "status");
            event.is_write() && event.is_about("clusterversions") && is_status
        };
        Ok(events.iter().filter(is_status).count())
    }

    pub(crate) fn cluster_version(&self) -> Api<ClusterVersion> {
        Api::all(self.cluster.client())
    }

    /// Waits for a status.
    pub(crate) async fn status(
        &self,
        what: &str,
        is_right: impl Fn(&ClusterVersionStatus) -> bool,
    ) -> Result<ClusterVersionStatus> {
        let last = std::sync::Mutex::new(None);
        let found = wait::until(what, || async {
            // A failing API server does not always answer.
            let object = self.cluster_version().get(CLUSTER_VERSION_NAME).await;
            let status = object.map(|object| object.status.unwrap_or_default());
            match status {
                Ok(status) if is_right(&status) => return Ok(Some(status)),
                other => *last.lock().expect("no panic") = Some(other),
            }
            Ok(None)
        });
        found.await.with_context(|| format!("the last status is {last:#?}"))
    }

    pub(crate) async fn patch_spec(&self, spec: Value) -> Result<()> {
        let patch = Patch::Merge(json!({ "spec": spec }));
        let api = self.cluster_version();
        wait::until("the API server to accept a patch", || async {
            match api.patch(CLUSTER_VERSION_NAME, &PatchParams::default(), &patch).await {
                Ok(_) => Ok(Some(())),
                Err(refused @ kube::Error::Api(_)) => Err(refused.into()),
                // A failing API server does not always answer.
                Err(_) => Ok(None),
            }
        })
        .await
    }
}

impl Drop for OperatedCluster {
    fn drop(&mut self) {
        if let Some((stop, task)) = self.running.take() {
            stop.cancel();
            task.abort();
        }
    }
}

/// Settings with short intervals.
fn settings(payload: &Path, image: &str, metrics: MetricsSource, listen: SocketAddr) -> Settings {
    let second = Duration::from_secs(1);
    Settings {
        node_name: "node".to_owned(),
        release: ReleaseSettings { image: image.to_owned(), payload: payload.to_owned() },
        election: ElectionSettings {
            lease: LeaseName {
                namespace: "openshift-cluster-version".to_owned(),
                name: "version".to_owned(),
            },
            identity: format!("test-{}", std::process::id()),
            timing: Timing { lease: 15 * second, renew: 10 * second, retry: second },
        },
        endpoint: Some(EndpointSettings {
            listen,
            tls: None,
            client_ca: None,
            auth: MetricsAuth::None,
        }),
        probes: None,
        updates: updates::Settings {
            services: UpdateServices { instead: None, default: None },
            pace: RequestIntervals { every: second..=second, retry: second / 2, gap: second / 10 },
            ..updates::Settings::default()
        },
        risks: RiskSettings {
            metrics,
            min_interval: second,
            burst: 8,
            policy: QueryPolicy::default(),
        },
        target: TargetSettings::default(),
        // These tests run no preflights.
        preflight: PreflightSettings {
            results: ResultsDirectory::at(payload.join("preflight")),
            ..PreflightSettings::default()
        },
        max_watch_age: fairway_watch::MAX_WATCH_AGE,
    }
}

/// Prometheus at a URL.
pub(crate) fn prometheus(url: &str) -> Result<MetricsSource> {
    Ok(MetricsSource::Prometheus(PrometheusSettings {
        url: Some(url.parse()?),
        namespace: String::new(),
        service: String::new(),
        use_dns: false,
        ca_bundle: PathBuf::new(),
        token: PathBuf::new(),
    }))
}

/// Deletes the preflight results of an earlier test.
async fn forget_preflights(cluster: &TestCluster) -> Result<()> {
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), "openshift-cluster-version");
    let records = ListParams::default().labels(record::LABEL);
    maps.delete_collection(&DeleteParams::default(), &records).await?;
    Ok(())
}

async fn ensure_namespace(cluster: &TestCluster, name: &str) -> Result<()> {
    let api: Api<Namespace> = Api::all(cluster.client());
    let object: Namespace = serde_json::from_value(json!({"metadata": {"name": name}}))?;
    exists(api.create(&PostParams::default(), &object).await)
}

async fn ensure_config_map(cluster: &TestCluster, namespace: &str, name: &str) -> Result<()> {
    ensure_namespace(cluster, namespace).await?;
    let api: Api<ConfigMap> = Api::namespaced(cluster.client(), namespace);
    let object: ConfigMap = serde_json::from_value(json!({"metadata": {"name": name}}))?;
    exists(api.create(&PostParams::default(), &object).await)
}

fn exists<K>(created: kube::Result<K>) -> Result<()> {
    match created {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The value of a metric. The labels may be a part of its labels.
fn sample(text: &str, series: &str) -> Option<f64> {
    let (name, labels) = series.split_once('{').unwrap_or((series, ""));
    let mut lines = text
        .lines()
        .filter(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' '])));
    let line = lines.find(|line| line.contains(labels.trim_end_matches('}')))?;
    line.rsplit(' ').next()?.parse().ok()
}

/// The reason of a condition; empty without the condition.
pub(crate) fn reason<'a>(status: &'a ClusterVersionStatus, type_: &str) -> &'a str {
    status.conditions.find(type_).and_then(|it| it.reason.as_deref()).unwrap_or_default()
}

/// The conditional update to a version.
pub(crate) fn update<'a>(
    status: &'a ClusterVersionStatus,
    version: &str,
) -> Option<&'a ConditionalUpdate> {
    status.conditional_updates.iter().find(|update| update.release.version == version)
}

/// The condition `Recommended` of an update.
pub(crate) fn recommended<'a>(
    status: &'a ClusterVersionStatus,
    version: &str,
) -> Option<&'a Condition> {
    update(status, version)?.conditions.find("Recommended")
}

/// The recommended versions.
pub(crate) fn available(status: &ClusterVersionStatus) -> Vec<&str> {
    let available = status.available_updates.iter().flatten();
    available.map(|release| release.version.as_str()).collect()
}
