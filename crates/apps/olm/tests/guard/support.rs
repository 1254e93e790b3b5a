//! A cluster with the kinds of OLM, and guards in it.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use fairway_api::condition::Conditions as _;
use fairway_api::{ClusterOperator, ClusterVersion};
use fairway_compat::olm::{MAXIMUM_ANNOTATION, OlmPolicy, PROPERTIES_ANNOTATION};
use fairway_election::{ElectionSettings, LeaseName, Timing};
use fairway_olm::{
    CertificateSettings, GuardError, MetricsAuth, Settings, StalenessTimeouts, WebhookAddress,
};
use fairway_sandbox::sandbox::Sandbox;
use fairway_testkit::{TestCluster, TestNamespace, objects, olm, wait};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Name of the ClusterOperator, different from that of a real OLM.
pub(crate) const OPERATOR: &str = "olm-guard-test";

/// Kind of installed operators.
const OPERATORS: &str = "ClusterServiceVersion";

/// Name of the webhook configuration.
const CONFIGURATION: &str = "fairway-olm-guard";

/// A cluster with the kinds of OLM.
pub(crate) struct Platform {
    pub(crate) cluster: TestCluster,
    pub(crate) namespace: TestNamespace,
    /// Socket of the guards, which run one after the other.
    socket: TcpListener,
}

/// A running guard.
pub(crate) struct Running {
    stop: CancellationToken,
    task: JoinHandle<Result<(), GuardError>>,
}

/// A client that trusts CA certificates.
pub(crate) fn trusting(ca_certificates: &[String]) -> Result<reqwest::Client> {
    let read = |pem: &String| reqwest::Certificate::from_pem(pem.as_bytes());
    let ca_certificates = ca_certificates.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    Ok(http_client().tls_certs_only(ca_certificates).build()?)
}

/// A client with a connection for each request, so that each is balanced.
pub(crate) fn http_client() -> reqwest::ClientBuilder {
    // An error means that another test of this process has done it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0)
}

impl Running {
    /// Stops it and waits for its end.
    pub(crate) async fn stop(mut self) -> Result<()> {
        self.stop.cancel();
        Ok((&mut self.task).await??)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Platform {
    /// A cluster at that version; `None` is plain Kubernetes.
    pub(crate) async fn begin(version: Option<&str>) -> Result<Self> {
        let cluster = TestCluster::exclusive().await?;
        let namespace = cluster.namespace("olm").await?;
        let socket = TcpListener::bind("127.0.0.1:0")?;
        socket.set_nonblocking(true)?;
        let platform = Self { cluster, namespace, socket };
        olm::define(&platform.client()).await?;
        if let Some(version) = version {
            let api = Api::<ClusterVersion>::all(platform.client());
            api.create(&PostParams::default(), &objects::cluster_version()).await?;
            platform.reach_version(version).await?;
        }
        Ok(platform)
    }

    pub(crate) fn client(&self) -> Client {
        self.cluster.client()
    }

    /// Creates or changes an object of OLM.
    pub(crate) async fn put(&self, kind: &str, name: &str, content: Value) -> Result<()> {
        let api = olm::objects(&self.client(), kind, self.namespace.name())?;
        let object = olm::object(kind, name, content)?;
        if api.get_opt(name).await?.is_some() {
            api.patch(name, &PatchParams::default(), &Patch::Merge(object)).await?;
        } else {
            api.create(&PostParams::default(), &object).await?;
        }
        Ok(())
    }

    /// Adds a request of a user for an API.
    pub(crate) async fn count_request(&self, api: &str, user: &str) -> Result<()> {
        let counts = olm::request_counts(&self.client()).await?;
        let user = json!({ "username": user });
        let count = json!({
            "apiVersion": "apiserver.openshift.io/v1", "kind": "APIRequestCount",
            "metadata": { "name": api },
            "status": { "last24h": [{ "byNode": [{ "byUser": [user] }] }] },
        });
        counts.create(&PostParams::default(), &serde_json::from_value(count)?).await?;
        Ok(())
    }

    /// Operators of the test's namespace.
    fn installed(&self) -> Api<DynamicObject> {
        olm::objects(&self.client(), OPERATORS, self.namespace.name()).expect("one of the kinds")
    }

    /// Sets the version of the cluster.
    pub(crate) async fn reach_version(&self, version: &str) -> Result<()> {
        let api = Api::<ClusterVersion>::all(self.client());
        let mut cluster_version = api.get("version").await?;
        cluster_version.status = Some(objects::status_at(version));
        api.replace_status("version", &PostParams::default(), &cluster_version).await?;
        Ok(())
    }

    /// Installs an operator; returns the message of a refusal.
    pub(crate) async fn install(&self, name: &str, metadata: Value) -> Result<(), String> {
        self.try_to_install(name, metadata, &PostParams::default()).await
    }

    /// Installs an operator as a dry run.
    pub(crate) async fn install_dry_run(&self, name: &str, metadata: Value) -> Result<(), String> {
        let dry_run = PostParams { dry_run: true, ..PostParams::default() };
        self.try_to_install(name, metadata, &dry_run).await
    }

    async fn try_to_install(
        &self,
        name: &str,
        metadata: Value,
        parameters: &PostParams,
    ) -> Result<(), String> {
        let object = olm::object(OPERATORS, name, json!({ "metadata": metadata, "spec": {} }))
            .map_err(|error| error.to_string())?;
        match self.installed().create(parameters, &object).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) => {
                Err(status.message.replace(self.namespace.name(), "NS"))
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Changes the annotations of an operator.
    pub(crate) async fn change(&self, name: &str, metadata: Value) -> Result<()> {
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        self.installed().patch(name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    pub(crate) async fn uninstall(&self, name: &str) -> Result<()> {
        self.installed().delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    /// Settings of a guard.
    pub(crate) fn settings(&self) -> Result<Settings> {
        let address: SocketAddr = self.socket.local_addr()?;
        let namespace = self.namespace.name().to_owned();
        Ok(Settings {
            cluster_operator: OPERATOR.to_owned(),
            namespace: namespace.clone(),
            policy: OlmPolicy::default(),
            release_version: None,
            listen: address,
            probes: None,
            metrics_auth: MetricsAuth::None,
            reach: WebhookAddress::Url(format!("https://{address}/validate").parse()?),
            certificate: CertificateSettings {
                lifetime: Duration::from_hours(1),
                settling: Duration::from_secs(3),
            },
            election: ElectionSettings {
                lease: LeaseName { namespace, name: "olm-guard".to_owned() },
                identity: "test".to_owned(),
                timing: Timing::default(),
            },
            staleness: StalenessTimeouts::default(),
            shutdown_grace_period: Duration::ZERO,
        })
    }

    /// Starts a guard.
    pub(crate) fn start(&self, settings: Settings) -> Result<Running> {
        self.start_as(self.client(), settings)
    }

    /// Starts a guard with a client.
    pub(crate) fn start_as(&self, client: Client, settings: Settings) -> Result<Running> {
        let socket = tokio::net::TcpListener::from_std(self.socket.try_clone()?)?;
        Ok(start_on(socket, client, settings))
    }

    /// Metrics of the guard.
    pub(crate) async fn metrics(&self) -> Result<String> {
        let client = trusting(&self.ca_certificates().await?)?;
        let url = format!("https://{}/metrics", self.socket.local_addr()?);
        Ok(client.get(url).send().await?.text().await?)
    }

    /// Address of the webhook.
    pub(crate) fn address(&self) -> Result<SocketAddr> {
        Ok(self.socket.local_addr()?)
    }

    /// Status of a request for metrics with a token.
    pub(crate) async fn scrape(&self, token: Option<&str>) -> Result<u16> {
        let client = trusting(&self.ca_certificates().await?)?;
        let mut request = client.get(format!("https://{}/metrics", self.address()?));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        Ok(request.send().await?.status().as_u16())
    }

    /// The sandbox, if the cluster is one.
    pub(crate) fn sandbox(&self) -> Option<&Sandbox> {
        self.cluster.fault_injection()
    }

    /// Waits for a condition `Upgradeable`.
    pub(crate) async fn until_upgradeable(&self, expected: &str) -> Result<()> {
        let expected = expected.replace("NS", self.namespace.name());
        let api = Api::<ClusterOperator>::all(self.client());
        let last = std::sync::Mutex::new(String::new());
        let reached = wait::until(&format!("{expected:?}"), || async {
            let Some(operator) = api.get_opt(OPERATOR).await? else { return Ok(None) };
            let conditions = operator.status.unwrap_or_default().conditions;
            // The status follows the creation.
            let Some(condition) = conditions.find("Upgradeable").cloned() else { return Ok(None) };
            let found = format!(
                "{} {}: {}",
                condition.status,
                condition.reason.unwrap_or_default(),
                condition.message.unwrap_or_default()
            );
            last.lock().expect("no panic").clone_from(&found);
            Ok((found == expected).then_some(()))
        })
        .await;
        reached.with_context(|| format!("it is {:?}", last.lock().expect("no panic")))
    }

    /// Waits for a message of the condition `Degraded`.
    pub(crate) async fn until_degraded(&self, expected: &str) -> Result<()> {
        let api = Api::<ClusterOperator>::all(self.client());
        wait::until(&format!("{expected:?}"), || async {
            let operator = api.get_opt(OPERATOR).await?;
            let conditions = operator.and_then(|it| it.status).unwrap_or_default().conditions;
            let degraded = conditions.find("Degraded").and_then(|it| it.message.as_deref());
            Ok(degraded.is_some_and(|message| message.contains(expected)).then_some(()))
        })
        .await
    }

    /// Waits until an operator with that maximum is refused; returns the message.
    pub(crate) async fn until_refused(&self, maximum: &str) -> Result<String> {
        wait::until("the webhook to refuse", || async {
            Ok(self.install_dry_run("too-old", up_to(maximum)).await.err())
        })
        .await
    }

    /// Number of replicas that have annotated the Secret.
    pub(crate) async fn notes(&self) -> Result<usize> {
        let api = self.namespace.api::<Secret>();
        let Some(secret) = api.get_opt("olm-guard-serving").await? else { return Ok(0) };
        let is_note = |key: &&String| key.starts_with("fairway.dev/serves-");
        Ok(secret.annotations().keys().filter(is_note).count())
    }

    /// CA certificates of the webhook configuration.
    pub(crate) async fn ca_certificates(&self) -> Result<Vec<String>> {
        let api = Api::<ValidatingWebhookConfiguration>::all(self.client());
        let configuration = api.get(CONFIGURATION).await?;
        let webhooks = configuration.webhooks.unwrap_or_default();
        let bundle = webhooks.into_iter().find_map(|it| it.client_config.ca_bundle);
        let bundle = String::from_utf8(bundle.context("no bundle")?.0)?;
        let end = "-----END CERTIFICATE-----";
        let certificates = bundle.split_inclusive(end).map(str::trim).filter(|it| !it.is_empty());
        let certificates: Vec<String> = certificates.map(str::to_owned).collect();
        ensure!(!certificates.is_empty(), "no CA certificate");
        Ok(certificates)
    }
}

/// Starts a guard on a socket.
pub(crate) fn start_on(
    socket: tokio::net::TcpListener,
    client: Client,
    settings: Settings,
) -> Running {
    let stop = CancellationToken::new();
    let run = fairway_olm::run_on(socket, client, settings, stop.clone());
    Running { stop, task: tokio::spawn(run) }
}

impl Drop for Platform {
    fn drop(&mut self) {
        let name = self.namespace.name().to_owned();
        self.cluster.clean_up(|client| async move {
            let parameters = DeleteParams::default();
            // Objects of a test have the name of its namespace.
            let _ = Api::<ClusterRole>::all(client.clone()).delete(&name, &parameters).await;
            let bindings = Api::<ClusterRoleBinding>::all(client.clone());
            let _ = bindings.delete(&name, &parameters).await;
            let roles = Api::<Role>::namespaced(client.clone(), "default");
            let _ = roles.delete(&name, &parameters).await;
            let bindings = Api::<RoleBinding>::namespaced(client.clone(), "default");
            let _ = bindings.delete(&name, &parameters).await;
            let configurations = Api::<ValidatingWebhookConfiguration>::all(client.clone());
            let _ = configurations.delete(CONFIGURATION, &parameters).await;
            olm::remove(&client).await;
            Ok(())
        });
    }
}

/// Metadata of an operator with a maximum version in the annotation.
pub(crate) fn up_to(maximum: &str) -> Value {
    json!({ "annotations": { MAXIMUM_ANNOTATION: maximum } })
}

/// Metadata of an operator with a maximum version in the properties of OLM; the value is JSON.
pub(crate) fn with_property(value: &str) -> Value {
    let properties =
        format!(r#"{{"properties":[{{"type":"olm.maxOpenShiftVersion","value":{value}}}]}}"#);
    json!({ "annotations": { PROPERTIES_ANNOTATION: properties } })
}
