//! A cluster with OLM's kinds, and guards in it.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use fairway_api::condition::Conditions as _;
use fairway_api::{ClusterOperator, ClusterVersion};
use fairway_compat::olm::{MAXIMUM_ANNOTATION, PROPERTIES_ANNOTATION, Policy};
use fairway_election::{ElectionSettings, LeaseName, Timing};
use fairway_olm::{CertificateSettings, GuardError, Reach, Settings};
use fairway_testkit::{TestCluster, TestNamespace, objects, wait};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams,
};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Not the name of a real OLM's.
pub(crate) const OPERATOR: &str = "olm-guard-test";

/// OLM's kinds, as far as they matter here: group, version, kind and resource.
const KINDS: [(&str, &str, &str, &str); 4] = [
    ("operators.coreos.com", "v1alpha1", "ClusterServiceVersion", "clusterserviceversions"),
    ("operators.coreos.com", "v1alpha1", "Subscription", "subscriptions"),
    ("operators.coreos.com", "v1alpha1", "CatalogSource", "catalogsources"),
    ("packages.operators.coreos.com", "v1", "PackageManifest", "packagemanifests"),
];

/// The configuration of the webhook.
const CONFIGURATION: &str = "fairway-olm-guard";

/// A cluster with OLM's kinds.
pub(crate) struct Platform {
    pub(crate) cluster: TestCluster,
    pub(crate) namespace: TestNamespace,
    /// Where guards listen, one after the other.
    socket: TcpListener,
}

/// A guard that runs.
pub(crate) struct Running {
    stop: CancellationToken,
    task: JoinHandle<Result<(), GuardError>>,
}

impl Running {
    /// Ends it in good order.
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
    /// A cluster at that version; without one, it is plain Kubernetes.
    pub(crate) async fn begin(version: Option<&str>) -> Result<Self> {
        let cluster = TestCluster::in_turn().await?;
        let namespace = cluster.namespace("olm").await?;
        let socket = TcpListener::bind("127.0.0.1:0")?;
        socket.set_nonblocking(true)?;
        let platform = Self { cluster, namespace, socket };
        platform.define().await?;
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

    async fn define(&self) -> Result<()> {
        let api = Api::<CustomResourceDefinition>::all(self.client());
        for (group, version, kind, plural) in KINDS {
            let name = format!("{plural}.{group}");
            let definition = serde_json::from_value(json!({
                "metadata": { "name": name },
                "spec": {
                    "group": group, "scope": "Namespaced",
                    "names": { "kind": kind, "plural": plural },
                    "versions": [{
                        "name": version, "served": true, "storage": true,
                        "schema": { "openAPIV3Schema": {
                            "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                        } },
                    }],
                },
            }))?;
            if api.get_opt(&name).await?.is_none() {
                api.create(&PostParams::default(), &definition).await?;
            }
        }
        for (_, _, kind, _) in KINDS {
            let objects = self.objects(kind)?;
            wait::until(&format!("{kind} to be served"), || async {
                Ok(objects.list(&ListParams::default()).await.ok().map(drop))
            })
            .await?;
        }
        Ok(())
    }

    /// Objects of one of OLM's kinds, in the test's namespace.
    fn objects(&self, kind: &str) -> Result<Api<DynamicObject>> {
        let found = KINDS.iter().find(|(_, _, it, _)| *it == kind).context("no such kind")?;
        let kind = GroupVersionKind::gvk(found.0, found.1, found.2);
        let resource = ApiResource::from_gvk_with_plural(&kind, found.3);
        Ok(Api::namespaced_with(self.client(), self.namespace.name(), &resource))
    }

    /// Makes or changes an object of one of OLM's kinds.
    pub(crate) async fn put(&self, kind: &str, name: &str, content: Value) -> Result<()> {
        let api = self.objects(kind)?;
        let found = KINDS.iter().find(|(_, _, it, _)| *it == kind).context("no such kind")?;
        let mut object = json!({
            "apiVersion": format!("{}/{}", found.0, found.1), "kind": kind,
            "metadata": { "name": name },
        });
        for (key, value) in content.as_object().into_iter().flatten() {
            object[key] = value.clone();
        }
        if api.get_opt(name).await?.is_some() {
            api.patch(name, &PatchParams::default(), &Patch::Merge(object)).await?;
        } else {
            api.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
        }
        Ok(())
    }

    /// The operators of the test's namespace.
    fn installed(&self) -> Api<DynamicObject> {
        self.objects("ClusterServiceVersion").expect("it is one of the kinds")
    }

    /// The cluster has got to that version.
    pub(crate) async fn reach_version(&self, version: &str) -> Result<()> {
        let api = Api::<ClusterVersion>::all(self.client());
        let mut cluster_version = api.get("version").await?;
        cluster_version.status = Some(objects::status_at(version));
        api.replace_status("version", &PostParams::default(), &cluster_version).await?;
        Ok(())
    }

    /// Installs an operator, or is told why not.
    pub(crate) async fn install(&self, name: &str, metadata: Value) -> Result<(), String> {
        self.try_to_install(name, metadata, &PostParams::default()).await
    }

    /// Whether an operator could be installed now.
    pub(crate) async fn rehearse(&self, name: &str, metadata: Value) -> Result<(), String> {
        let rehearsal = PostParams { dry_run: true, ..PostParams::default() };
        self.try_to_install(name, metadata, &rehearsal).await
    }

    async fn try_to_install(
        &self,
        name: &str,
        metadata: Value,
        parameters: &PostParams,
    ) -> Result<(), String> {
        let mut object = json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
            "metadata": { "name": name }, "spec": {},
        });
        for (key, value) in metadata.as_object().into_iter().flatten() {
            object["metadata"][key] = value.clone();
        }
        let object = serde_json::from_value(object).map_err(|error| error.to_string())?;
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

    /// How a guard is here.
    pub(crate) fn settings(&self) -> Result<Settings> {
        let address: SocketAddr = self.socket.local_addr()?;
        let namespace = self.namespace.name().to_owned();
        Ok(Settings {
            cluster_operator: OPERATOR.to_owned(),
            namespace: namespace.clone(),
            policy: Policy::default(),
            release_version: None,
            listen: address,
            reach: Reach::Url(format!("https://{address}/validate").parse()?),
            certificate: CertificateSettings {
                lifetime: Duration::from_hours(1),
                settling: Duration::from_secs(3),
            },
            election: ElectionSettings {
                lease: LeaseName { namespace, name: "olm-guard".to_owned() },
                identity: "test".to_owned(),
                timing: Timing::default(),
            },
        })
    }

    /// Starts a guard.
    pub(crate) fn start(&self, settings: Settings) -> Result<Running> {
        self.start_as(self.client(), settings)
    }

    /// Starts a guard of somebody.
    pub(crate) fn start_as(&self, client: Client, settings: Settings) -> Result<Running> {
        let socket = tokio::net::TcpListener::from_std(self.socket.try_clone()?)?;
        let stop = CancellationToken::new();
        let run = fairway_olm::run_on(socket, client, settings, stop.clone());
        Ok(Running { stop, task: tokio::spawn(run) })
    }

    /// Waits until the ClusterOperator says so about updates to the next minor version.
    pub(crate) async fn until_upgradeable(&self, said: &str) -> Result<()> {
        let said = said.replace("NS", self.namespace.name());
        let api = Api::<ClusterOperator>::all(self.client());
        let last = std::sync::Mutex::new(String::new());
        let told = wait::until(&format!("{said:?}"), || async {
            let Some(operator) = api.get_opt(OPERATOR).await? else { return Ok(None) };
            let conditions = operator.status.unwrap_or_default().conditions;
            let condition = conditions.find("Upgradeable").context("no condition")?.clone();
            let found = format!(
                "{} {}: {}",
                condition.status,
                condition.reason.unwrap_or_default(),
                condition.message.unwrap_or_default()
            );
            last.lock().expect("nobody panics").clone_from(&found);
            Ok((found == said).then_some(()))
        })
        .await;
        told.with_context(|| format!("it says {:?}", last.lock().expect("nobody panics")))
    }

    /// Waits until an operator with that maximum cannot be installed; what whoever tries is told.
    pub(crate) async fn until_refused(&self, maximum: &str) -> Result<String> {
        wait::until("the webhook to refuse", || async {
            Ok(self.rehearse("too-old", up_to(maximum)).await.err())
        })
        .await
    }

    /// How many guards have noted on the Secret what they serve.
    pub(crate) async fn notes(&self) -> Result<usize> {
        let api = self.namespace.api::<Secret>();
        let Some(secret) = api.get_opt("olm-guard-serving").await? else { return Ok(0) };
        let is_note = |key: &&String| key.starts_with("fairway.dev/serves-");
        Ok(secret.annotations().keys().filter(is_note).count())
    }

    /// The authorities that API servers know the webhook by.
    pub(crate) async fn authorities(&self) -> Result<Vec<String>> {
        let api = Api::<ValidatingWebhookConfiguration>::all(self.client());
        let configuration = api.get(CONFIGURATION).await?;
        let webhooks = configuration.webhooks.unwrap_or_default();
        let bundle = webhooks.into_iter().find_map(|it| it.client_config.ca_bundle);
        let bundle = String::from_utf8(bundle.context("no bundle")?.0)?;
        let end = "-----END CERTIFICATE-----";
        let authorities = bundle.split_inclusive(end).map(str::trim).filter(|it| !it.is_empty());
        let authorities: Vec<String> = authorities.map(str::to_owned).collect();
        ensure!(!authorities.is_empty(), "no authority");
        Ok(authorities)
    }
}

impl Drop for Platform {
    fn drop(&mut self) {
        let name = self.namespace.name().to_owned();
        self.cluster.clean_up(|client| async move {
            let parameters = DeleteParams::default();
            // What a test has made of these has the name of its namespace.
            let _ = Api::<ClusterRole>::all(client.clone()).delete(&name, &parameters).await;
            let bindings = Api::<ClusterRoleBinding>::all(client.clone());
            let _ = bindings.delete(&name, &parameters).await;
            let configurations = Api::<ValidatingWebhookConfiguration>::all(client.clone());
            let _ = configurations.delete(CONFIGURATION, &parameters).await;
            let definitions = Api::<CustomResourceDefinition>::all(client);
            for (group, _, _, plural) in KINDS {
                let _ = definitions.delete(&format!("{plural}.{group}"), &parameters).await;
            }
            Ok(())
        });
    }
}

/// The metadata of an operator that runs up to that version, by the annotation.
pub(crate) fn up_to(maximum: &str) -> Value {
    json!({ "annotations": { MAXIMUM_ANNOTATION: maximum } })
}

/// The metadata of an operator that runs up to that version, by the property in which OLM keeps it;
/// the value is JSON text.
pub(crate) fn with_property(value: &str) -> Value {
    let properties =
        format!(r#"{{"properties":[{{"type":"olm.maxOpenShiftVersion","value":{value}}}]}}"#);
    json!({ "annotations": { PROPERTIES_ANNOTATION: properties } })
}
