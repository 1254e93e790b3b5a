//! What the OLM guard costs on a large cluster: 5,000 ClusterServiceVersions in 300 namespaces, of
//! which 4,700 are copies, each as large as those of real operators.
//!
//! The memory is compared with what the guard may take, the first look with a bare client that lists
//! all of them. With `FAIRWAY_TEST_CLUSTER=kube`, the API server is a real one.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use fairway_api::{ClusterOperator, ClusterVersion, Conditions as _};
use fairway_testkit::measure::{Figure, Table};
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

/// What the specification of a typical operator takes.
const SPEC_BYTES: usize = 20 << 10;

/// What its annotations take: examples of its resources, mostly.
const EXAMPLES_BYTES: usize = 50 << 10;

/// Requests at a time.
const PARALLEL: usize = 16;

/// How long nothing happens, unless `--idle=SECONDS` says otherwise.
const IDLE: Duration = Duration::from_secs(30);

/// What the guard may hold.
const MOST_MEMORY: Figure = Figure::Bytes(60 << 20);

const OPERATOR: &str = "olm-guard-bench";
const DEFINITION: &str = "clusterserviceversions.operators.coreos.com";
const POST: PostParams = PostParams { dry_run: false, field_manager: None };

fn main() -> Result<()> {
    // An error means that it is there already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    tokio::runtime::Runtime::new()?.block_on(bench())
}

async fn bench() -> Result<()> {
    let site = Site::prepare().await?;
    println!("\nThe OLM guard with {INSTALLED} operators and {COPIES} copies of them");
    let log = site.cluster.audit_log()?;
    let mark = log.mark()?;
    let watch = Stopwatch::start();
    let guard = Guard::start(&site)?;
    site.until_said("Ready for upgrade").await?;
    let table = Table::new("the guard", "at most / bare");
    let first_look = Figure::Time(watch.elapsed());
    table.row("from start to first report", first_look, Some(site.bare_list().await?));
    println!("  ({})", Requests::since(&log, mark)?);

    let watch = Stopwatch::start();
    site.declare("4.6").await?;
    site.until_said("will not run").await?;
    table.row("from a changed operator to the report", Figure::Time(watch.elapsed()), None);

    let (mark, before) = (log.mark()?, processor_time(guard.pid())?);
    let idle = idle_time()?;
    sleep_until(Instant::now() + idle).await;
    let requests = Requests::since(&log, mark)?;
    println!("while nothing happens for {} s", idle.as_secs());
    table.row("memory", Figure::Bytes(resident_bytes(guard.pid())?), Some(MOST_MEMORY));
    table.row("  the most so far", Figure::Bytes(peak_bytes(guard.pid())?), Some(MOST_MEMORY));
    let processor = processor_time(guard.pid())?.saturating_sub(before);
    table.row("processor time", Figure::Time(processor), None);
    let lease = |what: &str| what.ends_with(" leases");
    table.row("API requests about the lease", Figure::Count(requests.count(lease)), None);
    let others = |what: &str| !lease(what) && !what.starts_with("watch ");
    table.row("other API requests", Figure::Count(requests.count(others)), None);
    println!("  ({requests})");
    Ok(())
}

/// The time that the arguments ask for.
fn idle_time() -> Result<Duration> {
    let given =
        std::env::args().find_map(|argument| Some(argument.strip_prefix("--idle=")?.to_owned()));
    let Some(seconds) = given else { return Ok(IDLE) };
    Ok(Duration::from_secs(seconds.parse().context("--idle is a number of seconds")?))
}

/// A cluster full of operators.
struct Site {
    cluster: TestCluster,
    namespace: TestNamespace,
}

impl Site {
    async fn prepare() -> Result<Self> {
        let cluster = TestCluster::in_turn().await?;
        let namespace = cluster.namespace("olm").await?;
        let site = Self { cluster, namespace };
        site.define().await?;
        let versions = Api::<ClusterVersion>::all(site.cluster.client());
        let mut version = versions.create(&POST, &objects::cluster_version()).await?;
        version.status = Some(objects::status_at("4.6.3"));
        versions.replace_status("version", &POST, &version).await?;
        let namespaces = Api::<Namespace>::all(site.cluster.client());
        let made = stream::iter(0..NAMESPACES).map(|number| {
            let (namespaces, name) = (namespaces.clone(), site.place(number));
            async move {
                let object = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
                namespaces.create(&POST, &object).await?;
                anyhow::Ok(())
            }
        });
        made.buffer_unordered(PARALLEL).try_collect::<()>().await?;
        let objects = stream::iter(0..INSTALLED + COPIES).map(|number| site.install(number));
        objects.buffer_unordered(PARALLEL).try_collect::<()>().await?;
        Ok(site)
    }

    async fn define(&self) -> Result<()> {
        let definition = serde_json::from_value(json!({
            "metadata": { "name": DEFINITION },
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
        api.create(&POST, &definition).await?;
        let all = self.all();
        wait::until("ClusterServiceVersions to be served", || async {
            Ok(all.list(&ListParams::default()).await.ok().map(drop))
        })
        .await
    }

    fn place(&self, number: usize) -> String {
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

    /// Operators first, one a namespace; then their copies, in all namespaces.
    async fn install(&self, number: usize) -> Result<()> {
        let place = self.place(number % NAMESPACES);
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.cluster.client(), &place, &Self::resource());
        let labels = if number < INSTALLED {
            json!({})
        } else {
            json!({ "olm.copiedFrom": self.place(number / NAMESPACES) })
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

    /// One operator runs up to that version from now on.
    async fn declare(&self, maximum: &str) -> Result<()> {
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.cluster.client(), &self.place(0), &Self::resource());
        let properties = format!(
            r#"{{"properties":[{{"type":"olm.maxOpenShiftVersion","value":"{maximum}"}}]}}"#
        );
        let patch = json!({
            "metadata": { "annotations": { "operatorframework.io/properties": properties } },
        });
        api.patch("operator-0.v1", &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Waits until the guard says so.
    async fn until_said(&self, words: &str) -> Result<()> {
        let api = Api::<ClusterOperator>::all(self.cluster.client());
        wait::until(words, || async {
            let Some(operator) = api.get_opt(OPERATOR).await? else { return Ok(None) };
            let conditions = operator.status.unwrap_or_default().conditions;
            let message = conditions.find("Upgradeable").and_then(|it| it.message.clone());
            Ok(message.filter(|message| message.contains(words)).map(drop))
        })
        .await
    }

    /// How long it takes to list all of them, whole.
    async fn bare_list(&self) -> Result<Figure> {
        let watch = Stopwatch::start();
        let listed = self.all().list(&ListParams::default()).await?.items.len();
        anyhow::ensure!(listed == INSTALLED + COPIES, "{listed} of them are there");
        Ok(Figure::Time(watch.elapsed()))
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let names: Vec<String> = (0..NAMESPACES).map(|number| self.place(number)).collect();
        self.cluster.clean_up(|client| async move {
            let parameters = DeleteParams::default();
            let configurations = Api::<ValidatingWebhookConfiguration>::all(client.clone());
            let _ = configurations.delete("fairway-olm-guard", &parameters).await;
            let definitions = Api::<CustomResourceDefinition>::all(client.clone());
            let _ = definitions.delete(DEFINITION, &parameters).await;
            for name in names {
                let _ = Api::<Namespace>::all(client.clone()).delete(&name, &parameters).await;
            }
            Ok(())
        });
    }
}

/// The program at work. It ends with this value.
struct Guard(Child);

impl Guard {
    fn start(site: &Site) -> Result<Self> {
        let child = Command::new(env!("CARGO_BIN_EXE_fairway"))
            .args(["olm-guard", "--cluster-operator", OPERATOR, "--pod-uid=bench"])
            .args(["--namespace", site.namespace.name(), "--listen=127.0.0.1:0"])
            // Nobody asks it here.
            .arg("--webhook-url=https://127.0.0.1:1/validate")
            .arg("--kubeconfig")
            .arg(site.cluster.kubeconfig())
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
        // It is gone, or it cannot be ended: either way there is nobody to tell.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
