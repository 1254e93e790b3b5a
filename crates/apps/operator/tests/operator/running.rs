//! The complete operator.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use fairway_api::{ClusterOperator, ClusterVersion};
use fairway_cincinnati::query::UpdateServices;
use fairway_operator::election::{ElectionSettings, LeaseName, Timing};
use fairway_operator::endpoint::{EndpointSettings, MetricsAuth};
use fairway_operator::settings::{
    MetricsSource, PreflightSettings, PrometheusSettings, ReleaseSettings, ResultsDirectory,
    RiskSettings, TargetSettings,
};
use fairway_operator::stage::updates;
use fairway_operator::{OperatorError, Settings, run};
use fairway_risk::QueryPolicy;
use fairway_testkit::releases::TestRelease;
use fairway_testkit::{TestCluster, objects, wait};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const TIMING: Timing = Timing {
    lease: Duration::from_secs(3),
    renew: Duration::from_secs(2),
    retry: Duration::from_millis(300),
};

/// CA bundle of the tests, in place of the files in a Pod.
const CA: &str = "ca.crt";

/// Addresses of an operator.
#[derive(Clone, Copy)]
struct Addresses {
    metrics: SocketAddr,
    probes: SocketAddr,
}

impl Addresses {
    /// Unused addresses. The kernel does not reuse a port that soon.
    async fn unused() -> Result<Self> {
        let metrics = TcpListener::bind(("127.0.0.1", 0)).await?;
        let probes = TcpListener::bind(("127.0.0.1", 0)).await?;
        Ok(Self { metrics: metrics.local_addr()?, probes: probes.local_addr()? })
    }
}

fn settings(namespace: &str, payload: &Path, addresses: Addresses, auth: MetricsAuth) -> Settings {
    Settings {
        node_name: "node-1".to_owned(),
        release: ReleaseSettings {
            image: objects::release("5.1.0").image,
            payload: payload.to_owned(),
        },
        election: ElectionSettings {
            lease: LeaseName { namespace: namespace.to_owned(), name: "version".to_owned() },
            identity: "operator".to_owned(),
            timing: TIMING,
        },
        endpoint: Some(EndpointSettings {
            listen: addresses.metrics,
            tls: None,
            client_ca: None,
            auth,
        }),
        probes: Some(addresses.probes),
        updates: updates::Settings {
            services: UpdateServices { instead: None, default: None },
            ..updates::Settings::default()
        },
        risks: RiskSettings {
            // The cluster does not have it.
            metrics: MetricsSource::Prometheus(PrometheusSettings {
                url: None,
                namespace: "openshift-monitoring".to_owned(),
                service: "thanos-querier".to_owned(),
                use_dns: false,
                ca_bundle: payload.join(CA),
                token: payload.join(CA),
            }),
            min_interval: Duration::from_secs(1),
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

/// A running operator.
pub(crate) struct Running {
    addresses: Addresses,
    http: reqwest::Client,
    /// Bearer token of requests.
    pub(crate) token: Option<String>,
    stop: CancellationToken,
    task: JoinHandle<Result<(), OperatorError>>,
    _payload: TempDir,
}

impl Running {
    pub(crate) async fn start(client: Client, namespace: &str) -> Result<Self> {
        let addresses = Addresses::unused().await?;
        Self::start_at(addresses, client, namespace, MetricsAuth::None)
    }

    /// Starts an operator whose metrics need a token.
    pub(crate) async fn start_with_auth(client: Client, namespace: &str) -> Result<Self> {
        let addresses = Addresses::unused().await?;
        Self::start_at(addresses, client, namespace, MetricsAuth::Token)
    }

    fn start_at(
        addresses: Addresses,
        client: Client,
        namespace: &str,
        auth: MetricsAuth,
    ) -> Result<Self> {
        // An error means that another test of this process has installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let stop = CancellationToken::new();
        let payload = tempfile::tempdir()?;
        TestRelease::new("5.1.0").write(payload.path())?;
        std::fs::write(payload.path().join(CA), "")?;
        let settings = settings(namespace, payload.path(), addresses, auth);
        let task = tokio::spawn(run(client, settings, stop.clone()));
        let http = reqwest::Client::builder().no_proxy().build()?;
        Ok(Self { addresses, http, token: None, stop, task, _payload: payload })
    }

    async fn get(&self, path: &str) -> Result<(u16, String)> {
        let Addresses { metrics, probes } = self.addresses;
        let address = if path == "/metrics" { metrics } else { probes };
        let mut request = self.http.get(format!("http://{address}{path}"));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await?;
        Ok((answer.status().as_u16(), answer.text().await?))
    }

    /// Waits for a response.
    pub(crate) async fn until(
        &self,
        path: &str,
        expected: impl Fn(u16, &str) -> bool,
    ) -> Result<String> {
        wait::until(path, async || {
            // The endpoint may not be started yet.
            let answer = self.get(path).await.ok();
            Ok(answer.filter(|(status, text)| expected(*status, text)).map(|(_, text)| text))
        })
        .await
    }

    pub(crate) async fn until_ready(&self) -> Result<()> {
        self.until("/readyz", |status, _| status == 200).await.map(drop)
    }

    pub(crate) async fn stop(self) -> Result<()> {
        self.stop.cancel();
        Ok(self.task.await??)
    }
}

async fn holder(leases: &Api<Lease>) -> Result<String> {
    let spec = leases.get("version").await?.spec.context("a spec")?;
    Ok(spec.holder_identity.unwrap_or_default())
}

#[tokio::test]
async fn operator_leads_reports_and_stops() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let namespace = cluster.namespace("operator").await?;
    let versions: Api<ClusterVersion> = Api::all(cluster.client());
    versions.create(&PostParams::default(), &objects::cluster_version()).await?;
    let operators: Api<ClusterOperator> = Api::all(cluster.client());
    operators.create(&PostParams::default(), &objects::cluster_operator("dns")).await?;

    let operator = Running::start(cluster.client(), namespace.name()).await?;
    operator.until_ready().await?;
    let metrics = operator.get("/metrics").await?.1;
    assert!(metrics.contains("fairway_operator_leader 1"), "{metrics}");
    let dns = r#"cluster_operator_up{name="dns",version="",reason="NoAvailableCondition"} 0"#;
    assert!(metrics.contains(dns), "{metrics}");

    operators.delete("dns", &DeleteParams::default()).await?;
    operator.until("/metrics", |_, text| !text.contains(r#"name="dns""#)).await?;
    operator.stop().await?;
    assert_eq!(holder(&namespace.api()).await?, "");
    Ok(())
}

#[tokio::test]
async fn operator_after_lost_lease_leads_again() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let namespace = cluster.namespace("operator").await?;
    let operator = Running::start(cluster.client(), namespace.name()).await?;
    operator.until_ready().await?;
    let leases: Api<Lease> = namespace.api();
    let stolen = json!({"spec": {"holderIdentity": "a rival", "leaseDurationSeconds": 2}});
    leases.patch("version", &PatchParams::default(), &Patch::Merge(stolen)).await?;
    operator.until("/readyz", |status, _| status == 503).await?;
    // The rendered metrics may be a second old.
    let no_leader = |_, text: &str| text.contains("fairway_operator_leader 0");
    let metrics = operator.until("/metrics", no_leader).await?;
    assert!(!metrics.contains("cluster_operator_up{"), "only the leader speaks for the cluster");
    operator.until_ready().await?;
    assert_eq!(holder(&leases).await?, "operator");
    operator.stop().await
}

#[tokio::test]
async fn operator_with_taken_ports_leads_and_retries() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let namespace = cluster.namespace("operator").await?;
    let versions: Api<ClusterVersion> = Api::all(cluster.client());
    versions.create(&PostParams::default(), &objects::cluster_version()).await?;
    let other = TcpListener::bind(("127.0.0.1", 0)).await?;
    let other_probes = TcpListener::bind(("127.0.0.1", 0)).await?;
    let addresses = Addresses { metrics: other.local_addr()?, probes: other_probes.local_addr()? };
    let (client, auth) = (cluster.client(), MetricsAuth::None);
    let operator = Running::start_at(addresses, client, namespace.name(), auth)?;
    let leases: Api<Lease> = namespace.api();
    wait::until("the operator to lead", async || {
        let lease = leases.get_opt("version").await?;
        let holder = lease.and_then(|lease| lease.spec?.holder_identity);
        Ok(holder.filter(|holder| holder == "operator"))
    })
    .await?;
    drop((other, other_probes));
    operator.until_ready().await?;
    operator.until("/metrics", |status, _| status == 200).await?;
    operator.stop().await
}
