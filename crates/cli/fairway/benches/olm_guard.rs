//! Resource usage of the OLM guard on a large cluster: 5,000 ClusterServiceVersions in 300 namespaces,
//! of which 4,700 are copies, each as large as those of real operators.
//!
//! The memory is compared with a maximum, the first report with a bare client that lists all of them.
//! With `FAIRWAY_TEST_CLUSTER=kube`, the API server is a real one.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use fairway_api::{ClusterOperator, ClusterVersion, Conditions as _};
use fairway_testkit::measure::{Figure, Table, option};
use fairway_testkit::testbed::process::{peak_bytes, processor_time, resident_bytes};
use fairway_testkit::testbed::wait::Stopwatch;
use fairway_testkit::{Requests, TestCluster, TestNamespace, objects, wait};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams,
};
use kube::core::GroupVersionKind;
use serde_json::json;
use tokio::time::{Instant, sleep_until};

const NAMESPACES: usize = 300;
const INSTALLED: usize = 300;
const COPIES: usize = 4_700;

/// Size of the spec of a typical operator.
const SPEC_BYTES: usize = 20 << 10;

/// Size of its annotations, mostly example resources.
const EXAMPLES_BYTES: usize = 50 << 10;

/// Concurrent requests.
const PARALLEL: usize = 16;

/// Duration of the idle measurement without `--idle=SECONDS`.
const DEFAULT_IDLE: Duration = Duration::from_secs(30);

/// Maximum memory of the guard.
const MAX_MEMORY: Figure = Figure::Bytes(60 << 20);

const OPERATOR: &str = "olm-guard-bench";
const CRD_NAME: &str = "clusterserviceversions.operators.coreos.com";
const POST: PostParams = PostParams { dry_run: false, field_manager: None };

fn main() -> Result<()> {
    // An error means that it is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    tokio::runtime::Runtime::new()?.block_on(bench())
}

async fn bench() -> Result<()> {
    let cluster = OlmCluster::prepare().await?;
    println!("\nThe OLM guard with {INSTALLED} operators and {COPIES} copies of them");
    let log = cluster.cluster.audit_log()?;
    let mark = log.mark()?;
    let watch = Stopwatch::start();
    let guard = Guard::start(&cluster)?;
    cluster.wait_until_reported("Ready for upgrade").await?;
    let table = Table::new("the guard", "at most / bare");
    let first_report = Figure::Time(watch.elapsed());
    table.row("from start to first report", first_report, Some(cluster.bare_list().await?));
    println!("  ({})", Requests::since(&log, mark)?);

    let watch = Stopwatch::start();
    cluster.set_maximum_version("4.6").await?;
    cluster.wait_until_reported("will not run").await?;
    table.row("from a changed operator to the report", Figure::Time(watch.elapsed()), None);

    let (mark, before) = (log.mark()?, processor_time(guard.pid())?);
    let idle = option("--idle=")?.map_or(DEFAULT_IDLE, Duration::from_secs);
    sleep_until(Instant::now() + idle).await;
    let requests = Requests::since(&log, mark)?;
    println!("while nothing happens for {} s", idle.as_secs());
    table.row("memory", Figure::Bytes(resident_bytes(guard.pid())?), Some(MAX_MEMORY));
    table.row("  the most so far", Figure::Bytes(peak_bytes(guard.pid())?), Some(MAX_MEMORY));
    let processor = processor_time(guard.pid())?.saturating_sub(before);
    table.row("processor time", Figure::Time(processor), None);
    let lease = |what: &str| what.ends_with(" leases");
    table.row("API requests about the lease", Figure::Count(requests.count(lease)), None);
    let others = |what: &str| !lease(what) && !what.starts_with("watch ");
    table.row("other API requests", Figure::Count(requests.count(others)), None);
    println!("  ({requests})");
    Ok(())
}

/// A cluster with many operators.
struct OlmCluster {
    cluster: TestCluster,
    namespace: TestNamespace,
}

impl OlmCluster {
    async fn prepare() -> Result<Self> {
        let cluster = TestCluster::exclusive().await?;
        let namespace = cluster.namespace("olm").await?;
        let this = Self { cluster, namespace };
        this.create_crd().await?;
        let versions = Api::<ClusterVersion>::all(this.cluster.client());
        let mut version = versions.create(&POST, &objects::cluster_version()).await?;
        version.status = Some(objects::status_at("4.6.3"));
        versions.replace_status("version", &POST, &version).await?;
        let namespaces = Api::<Namespace>::all(this.cluster.client());
        let made = stream::iter(0..NAMESPACES).map(|number| {
            let (namespaces, name) = (namespaces.clone(), this.namespace_name(number));
            async move {
                let object = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
                namespaces.create(&POST, &object).await?;
                anyhow::Ok(())
            }
        });
        made.buffer_unordered(PARALLEL).try_collect::<()>().await?;
        let objects =
            stream::iter(0..INSTALLED + COPIES).map(|number| this.create_operator(number));
        objects.buffer_unordered(PARALLEL).try_collect::<()>().await?;
        Ok(this)
    }

    async fn create_crd(&self) -> Result<()> {
        let crd = serde_json::from_value(json!({
            "metadata": { "name": CRD_NAME },
            "spec": {
                "group": "operators.coreos.com", "scope": "Namespaced",
                "names": { "kind": "ClusterServiceVersion", "plural": "clusterserviceversions" },
                "versions": [{
                    "name": "v1alpha1", "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": {
                        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    } },
                }],
            },
        }))?;
        let api = Api::<CustomResourceDefinition>::all(self.cluster.client());
        api.create(&POST, &crd).await?;
        let all = self.all();
        wait::until("ClusterServiceVersions to be served", || async {
            Ok(all.list(&ListParams::default()).await.ok().map(drop))
        })
        .await
    }

    fn namespace_name(&self, number: usize) -> String {
        format!("{}-{number:03}", self.namespace.name())
    }

    fn resource() -> ApiResource {
        let kind =
            GroupVersionKind::gvk("operators.coreos.com", "v1alpha1", "ClusterServiceVersion");
        ApiResource::from_gvk_with_plural(&kind, "clusterserviceversions")
    }

    fn all(&self) -> Api<DynamicObject> {
        Api::all_with(self.cluster.client(), &Self::resource())
    }

    /// Creates an operator for each namespace, and then copies in all namespaces.
    async fn create_operator(&self, number: usize) -> Result<()> {
        let namespace = self.namespace_name(number % NAMESPACES);
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.cluster.client(), &namespace, &Self::resource());
        let labels = if number < INSTALLED {
            json!({})
        } else {
            json!({ "olm.copiedFrom": self.namespace_name(number / NAMESPACES) })
        };
        let object = serde_json::from_value(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
            "metadata": {
                "name": format!("operator-{number}.v1"), "labels": labels,
                "annotations": {
                    "alm-examples": "x".repeat(EXAMPLES_BYTES),
                    "operatorframework.io/properties":
                        r#"{"properties":[{"type":"olm.maxOpenShiftVersion","value":"4.9"}]}"#,
                },
            },
            "spec": { "description": "x".repeat(SPEC_BYTES) },
        }))?;
        api.create(&POST, &object).await?;
        Ok(())
    }

    /// Sets the maximum OpenShift version of one operator.
    async fn set_maximum_version(&self, maximum: &str) -> Result<()> {
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.cluster.client(), &self.namespace_name(0), &Self::resource());
        let properties = format!(
            r#"{{"properties":[{{"type":"olm.maxOpenShiftVersion","value":"{maximum}"}}]}}"#
        );
        let patch = json!({
            "metadata": { "annotations": { "operatorframework.io/properties": properties } },
        });
        api.patch("operator-0.v1", &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Waits until the message of `Upgradeable` contains a text.
    async fn wait_until_reported(&self, text: &str) -> Result<()> {
        let api = Api::<ClusterOperator>::all(self.cluster.client());
        wait::until(text, || async {
            let Some(operator) = api.get_opt(OPERATOR).await? else { return Ok(None) };
            let conditions = operator.status.unwrap_or_default().conditions;
            let message = conditions.find("Upgradeable").and_then(|it| it.message.clone());
            Ok(message.filter(|message| message.contains(text)).map(drop))
        })
        .await
    }

    /// The duration of a list of all objects.
    async fn bare_list(&self) -> Result<Figure> {
        let watch = Stopwatch::start();
        let listed = self.all().list(&ListParams::default()).await?.items.len();
        anyhow::ensure!(listed == INSTALLED + COPIES, "{listed} ClusterServiceVersions");
        Ok(Figure::Time(watch.elapsed()))
    }
}

impl Drop for OlmCluster {
    fn drop(&mut self) {
        let names: Vec<String> =
            (0..NAMESPACES).map(|number| self.namespace_name(number)).collect();
        self.cluster.clean_up(|client| async move {
            let parameters = DeleteParams::default();
            let configurations = Api::<ValidatingWebhookConfiguration>::all(client.clone());
            let _ = configurations.delete("fairway-olm-guard", &parameters).await;
            let crds = Api::<CustomResourceDefinition>::all(client.clone());
            let _ = crds.delete(CRD_NAME, &parameters).await;
            for name in names {
                let _ = Api::<Namespace>::all(client.clone()).delete(&name, &parameters).await;
            }
            Ok(())
        });
    }
}

/// The guard process. Dropping it kills the process.
struct Guard(Child);

impl Guard {
    fn start(cluster: &OlmCluster) -> Result<Self> {
        let child = Command::new(env!("CARGO_BIN_EXE_fairway"))
            .args(["olm-guard", "--cluster-operator", OPERATOR, "--pod-uid=bench"])
            .args(["--namespace", cluster.namespace.name(), "--listen=127.0.0.1:0"])
            .arg("--probe-listen=")
            // No request reaches the webhook in this bench.
            .arg("--webhook-url=https://127.0.0.1:1/validate")
            .arg("--kubeconfig")
            .arg(cluster.cluster.kubeconfig())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the guard")?;
        Ok(Self(child))
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // A destructor cannot report that the process has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
