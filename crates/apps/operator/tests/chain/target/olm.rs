//! OLM operators with a maximum version, the OLM guard, and the risk gate.

use std::time::Duration;

use anyhow::Result;
use fairway_compat::olm::{MAXIMUM_ANNOTATION, OlmPolicy};
use fairway_olm::{CertificateSettings, StalenessTimeouts, WebhookAddress};
use fairway_operator::election::{ElectionSettings, LeaseName, Timing};
use fairway_testkit::{TestCluster, TestNamespace, olm};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::platform::{Platform, ask, history, reaches, refused};
use crate::conditional_updates::snapshot;
use crate::support::{available, graph_data, recommended, update};

const VERSIONS: [&str; 4] = ["5.1.0", "5.1.1", "5.2.0", "5.3.0"];

/// Kind of installed operators.
const OPERATORS: &str = "ClusterServiceVersion";

#[tokio::test(flavor = "multi_thread")]
async fn update_beyond_maximum_of_olm_operator_is_refused() -> Result<()> {
    let Some(platform) = Platform::new(&VERSIONS)? else { return Ok(()) };
    let data = graph_data(&VERSIONS, &[]);
    let data: Vec<_> = data.iter().map(|(name, text)| (&name[..], &text[..])).collect();
    let (graph, directory) = (platform.graph(&data).await?, tempfile::tempdir()?);
    let metrics = snapshot(&directory, "")?;
    let mut operated = platform.cluster("stable-5.1", &graph.url(), metrics, |_| {}).await?;
    for version in &VERSIONS[1..] {
        platform.sign(&operated, version).await?;
    }
    let guarded = Guarded::new(&operated.cluster).await?;
    guarded.install("old.v1", Some("5.1")).await?;
    guarded.install("later.v1", Some("5.2")).await?;
    guarded.install("silent.v1", None).await?;
    let risk = |name: &str| format!("OperatorWillNotRun-{}:{name}", guarded.namespace.name());
    let (old, later) = (risk("old.v1"), risk("later.v1"));

    // Each target has the risks of operators that do not support it; a patch release has none.
    let status = operated
        .status("the guard to be heard", |status| {
            let risks = |version| update(status, version).map(|it| it.risk_names.clone());
            risks("5.2.0") == Some(vec![old.clone()])
                && risks("5.3.0") == Some(vec![later.clone(), old.clone()])
        })
        .await?;
    assert_eq!(available(&status), ["5.1.1"]);
    for version in ["5.2.0", "5.3.0"] {
        let verdict = recommended(&status, version).map(|it| it.status.to_string());
        assert_eq!(verdict.as_deref(), Some("False"), "{version}");
    }

    ask(&operated, json!({"version": "5.2.0"})).await?;
    let message = refused(&operated, "UnacceptedRisks").await?;
    assert!(message.ends_with(&format!("fairway upgrade accept {old}")), "{message}");
    assert!(!message.contains(&later), "{message}");

    ask(&operated, json!({"version": "5.1.1"})).await?;
    let status = reaches(&operated, "5.1.1").await?;
    assert_eq!(status.history[0].accepted_risks, None);

    ask(&operated, json!({"version": "5.2.0", "acceptRisks": [{"name": old}]})).await?;
    let status = reaches(&operated, "5.2.0").await?;
    let recorded = status.history[0].accepted_risks.as_deref().unwrap_or_default();
    assert!(recorded.ends_with(&format!("Accepted by name: {old}.")), "{recorded}");

    // An acceptance is valid for the next update as well, which has a risk of the other operator.
    ask(&operated, json!({"version": "5.3.0"})).await?;
    let message = refused(&operated, "UnacceptedRisks").await?;
    assert!(message.ends_with(&format!("fairway upgrade accept {later}")), "{message}");
    assert_eq!(history(&status), ["5.2.0", "5.1.1", "5.1.0"]);
    drop(guarded);
    operated.stop().await
}

/// A cluster with the kinds of OLM, and a guard.
struct Guarded<'a> {
    cluster: &'a TestCluster,
    namespace: TestNamespace,
    stop: CancellationToken,
}

impl<'a> Guarded<'a> {
    async fn new(cluster: &'a TestCluster) -> Result<Self> {
        let namespace = cluster.namespace("olm").await?;
        olm::define(&cluster.client()).await?;
        let guarded = Self { cluster, namespace, stop: CancellationToken::new() };
        guarded.start().await?;
        Ok(guarded)
    }

    async fn start(&self) -> Result<()> {
        let socket = TcpListener::bind(("127.0.0.1", 0)).await?;
        let listen = socket.local_addr()?;
        let namespace = self.namespace.name().to_owned();
        let settings = fairway_olm::Settings {
            cluster_operator: "operator-lifecycle-manager".to_owned(),
            namespace: namespace.clone(),
            policy: OlmPolicy::default(),
            release_version: None,
            listen,
            probes: None,
            metrics_auth: fairway_olm::MetricsAuth::None,
            reach: WebhookAddress::Url(format!("https://{listen}/validate").parse()?),
            certificate: CertificateSettings {
                settling: Duration::from_secs(1),
                ..CertificateSettings::default()
            },
            election: ElectionSettings {
                lease: LeaseName { namespace, name: "olm-guard".to_owned() },
                identity: "test".to_owned(),
                timing: Timing::default(),
            },
            staleness: StalenessTimeouts::default(),
            shutdown_grace_period: Duration::ZERO,
        };
        let client = self.cluster.client();
        tokio::spawn(fairway_olm::run_on(socket, client, settings, self.stop.clone()));
        Ok(())
    }

    /// Installs an operator with a maximum version.
    async fn install(&self, name: &str, maximum: Option<&str>) -> Result<()> {
        let annotations = maximum.map(|maximum| json!({MAXIMUM_ANNOTATION: maximum}));
        let content = json!({"metadata": {"annotations": annotations}, "spec": {}});
        let object = olm::object(OPERATORS, name, content)?;
        let api = olm::objects(&self.cluster.client(), OPERATORS, self.namespace.name())?;
        api.create(&PostParams::default(), &object).await?;
        Ok(())
    }
}

impl Drop for Guarded<'_> {
    fn drop(&mut self) {
        self.stop.cancel();
        self.cluster.clean_up(|client| async move {
            let webhooks = Api::<ValidatingWebhookConfiguration>::all(client.clone());
            let _ = webhooks.delete("fairway-olm-guard", &DeleteParams::default()).await;
            olm::remove(&client).await;
            Ok(())
        });
    }
}
