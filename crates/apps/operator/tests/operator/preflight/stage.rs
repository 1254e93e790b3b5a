//! The stage at work on a cluster, and releases that can be asked.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use fairway_api::cluster_version::{Update, UpdateMode};
use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion};
use fairway_findings::{CheckReport, CheckStatus, Document, ExecutionStatus, FORMAT, labels};
use fairway_graph::wire;
use fairway_operator::cluster::Sight;
use fairway_operator::election::Leadership;
use fairway_operator::metrics::Metrics;
use fairway_operator::own_release::{self, OwnRelease};
use fairway_operator::settings::{PreflightSettings, ResultsDirectory, SelectionSettings};
use fairway_operator::stage::preflight::{Hands, Inputs, Place, Preflight, run};
use fairway_operator::stage::updates::Updates;
use fairway_release::inclusion::DEFAULT_PROFILE;
use fairway_testkit::releases::TestRelease;
use fairway_testkit::wait::PATIENCE;
use fairway_testkit::{TestCluster, TestNamespace, objects, wait};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::task::TaskTracker;

const NAME: &str = "cluster-version-operator-preflight";
const RUN: &str = "fairway.dev/preflight-run";

/// A cluster at 5.0.0 and what the stage looks at.
pub(crate) struct Stage {
    running: Option<Running>,
    sight: Sight,
    /// Nobody has asked the update service.
    updates: watch::Sender<Option<Arc<Updates>>>,
    pub(crate) settings: PreflightSettings,
    pub(crate) namespace: TestNamespace,
    files: TempDir,
    cluster: TestCluster,
}

/// The stage at work, until this value goes.
struct Running {
    preflight: watch::Receiver<Option<Arc<Preflight>>>,
    task: JoinHandle<()>,
    _term: watch::Sender<Option<Instant>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A run in the cluster, from within.
pub(crate) struct Run {
    pub(crate) id: String,
    pub(crate) directory: PathBuf,
    pub(crate) image: String,
    version: String,
}

impl Run {
    /// What it has found, as far as it has looked.
    pub(crate) fn document(&self, execution_status: ExecutionStatus) -> Document {
        let check = CheckReport {
            name: "dns".to_owned(),
            status: CheckStatus::Passed,
            ..CheckReport::default()
        };
        Document {
            format: FORMAT.to_owned(),
            preflight_id: self.id.clone(),
            source_version: "5.0.0".to_owned(),
            target_version: self.version.clone(),
            target_image: self.image.clone(),
            execution_status,
            checks: vec![check],
            ..Document::default()
        }
    }

    /// Writes results as a run does.
    pub(crate) fn write(&self, document: &Document) -> Result<()> {
        let draft = self.directory.join("draft");
        fs::write(&draft, serde_json::to_vec(document)?)?;
        Ok(fs::rename(draft, self.directory.join("result.json"))?)
    }
}

impl Stage {
    pub(crate) async fn begin() -> Result<Self> {
        // What the stage logs is shown where a test fails; an error means that it is already.
        let _ = tracing_subscriber::fmt().with_test_writer().try_init();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let cluster = TestCluster::in_turn().await?;
        let namespace = cluster.namespace("preflight").await?;
        let versions: Api<ClusterVersion> = Api::all(cluster.client());
        versions.create(&PostParams::default(), &objects::cluster_version()).await?;
        let sight = Sight::open(&cluster.client(), &TaskTracker::new());
        let files = tempfile::tempdir()?;
        TestRelease::new("5.0.0").write(&files.path().join("own"))?;
        let results = ResultsDirectory::at(files.path().join("results"));
        let settings = PreflightSettings { results, ..PreflightSettings::default() };
        let updates = watch::Sender::new(None);
        let mut stage = Self { running: None, sight, updates, settings, namespace, files, cluster };
        stage.start("node-1")?;
        Ok(stage)
    }

    /// Starts the stage of an operator on that node; one that runs ends at once, wherever it is.
    pub(crate) fn start(&mut self, node: &str) -> Result<()> {
        self.running = None;
        let (term, leadership) = Leadership::until(Instant::now() + PATIENCE * 2);
        let (out, preflight) = watch::channel(None);
        let (payload, image) = (self.files.path().join("own"), objects::release("5.0.0").image);
        let inputs = Inputs {
            own: Arc::new(OwnRelease::read(&payload, &image)?),
            own_content: Arc::new(own_release::content(&payload, &image, DEFAULT_PROFILE)?),
            cluster_version: self.sight.cluster_version.clone(),
            proxy: self.sight.proxy.clone(),
            trusted_ca: self.sight.trusted_ca.clone(),
            features: self.sight.features.clone(),
            surroundings: self.sight.surroundings.clone(),
            reader_roles: self.sight.reader_roles.clone(),
            updates: self.updates.subscribe(),
        };
        let place = Place {
            namespace: self.namespace.name().to_owned(),
            node: node.to_owned(),
            layouts: vec![self.layout()],
            selection: SelectionSettings::default(),
        };
        let metrics = Metrics::default().preflight();
        let hands = Hands { client: self.cluster.client(), leadership };
        let task = tokio::spawn(run(inputs, place, self.settings.clone(), hands, metrics, out));
        self.running = Some(Running { preflight, task, _term: term });
        Ok(())
    }

    /// Ends it, wherever it is.
    pub(crate) fn stop(&mut self) {
        self.running = None;
    }

    fn layout(&self) -> PathBuf {
        self.files.path().join("images")
    }

    /// Makes a release that can be asked, and says how its image is called.
    pub(crate) fn release(&self, version: &str) -> Result<String> {
        self.store(&TestRelease::new(version))
    }

    /// Lets a release be asked, and says how its image is called.
    pub(crate) fn store(&self, release: &TestRelease) -> Result<String> {
        Ok(release.store(&self.layout())?.0)
    }

    /// No release can be fetched any more.
    pub(crate) fn lose_releases(&self) -> Result<()> {
        Ok(fs::remove_dir_all(self.layout())?)
    }

    /// Asks for the opinion of a release. Nobody has signed it.
    pub(crate) async fn ask(&self, image: &str) -> Result<()> {
        self.want(Some(&Update {
            image: Some(image.to_owned()),
            mode: Some(UpdateMode::Preflight),
            force: Some(true),
            ..Update::default()
        }))
        .await?;
        Ok(())
    }

    /// The update service knows one release; it was asked for the spec of that generation.
    pub(crate) fn answer(&self, generation: i64, version: &str, image: &str) -> Result<()> {
        let node = json!({"version": version, "payload": image});
        let answer = json!({"version": 1, "nodes": [node], "edges": []}).to_string();
        let (graph, _) = wire::read("answer", answer.as_bytes())?;
        let updates = Updates { generation, graph: Arc::new(graph), ..Updates::default() };
        self.updates.send_replace(Some(Arc::new(updates)));
        Ok(())
    }

    /// Changes what is asked for, and says which generation that makes.
    pub(crate) async fn want(&self, update: Option<&Update>) -> Result<i64> {
        let desired = update.map(Update::merge_patch).transpose()?.unwrap_or(Value::Null);
        let patch = Patch::Merge(json!({"spec": {"desiredUpdate": desired}}));
        let versions: Api<ClusterVersion> = Api::all(self.cluster.client());
        let changed = versions.patch(CLUSTER_VERSION_NAME, &PatchParams::default(), &patch).await?;
        changed.metadata.generation.context("it has a generation")
    }

    /// Waits until it says something.
    pub(crate) async fn until(
        &self,
        what: &str,
        says: impl Fn(&Preflight) -> bool,
    ) -> Result<Arc<Preflight>> {
        let mut published = self.running.as_ref().context("it runs")?.preflight.clone();
        let said = published.wait_for(|it| it.as_deref().is_some_and(&says));
        let waited = timeout(PATIENCE, said).await.ok().and_then(Result::ok);
        let found = waited.and_then(|found| found.clone());
        let last = || {
            let published = self.running.as_ref().map(|it| it.preflight.borrow().clone());
            format!("waited for {what}: {published:#?}")
        };
        found.with_context(last)
    }

    /// Waits until a condition has that reason.
    pub(crate) async fn until_reason(&self, type_: &str, reason: &str) -> Result<Arc<Preflight>> {
        self.until(&format!("{type_}/{reason}"), |preflight| {
            let found = preflight.conditions.iter().find(|condition| condition.type_ == type_);
            found.and_then(|condition| condition.reason.as_deref()) == Some(reason)
        })
        .await
    }

    /// Waits until what goes wrong is told in such words, or in none such. A cluster without nodes
    /// has troubles of its own.
    pub(crate) async fn until_told(&self, words: &str, is_told: bool) -> Result<Arc<Preflight>> {
        self.until(words, |preflight| {
            let [_, _, failed] = &preflight.conditions;
            failed.message.as_deref().unwrap_or_default().contains(words) == is_told
        })
        .await
    }

    /// The platform adds a `ClusterRole` to what preflights may read, or takes it back.
    pub(crate) async fn let_read(&self, name: &str, rule: Option<Value>) -> Result<()> {
        let roles: Api<ClusterRole> = Api::all(self.cluster.client());
        let Some(rule) = rule else {
            roles.delete(name, &DeleteParams::default()).await?;
            return Ok(());
        };
        let labels = json!({labels::AGGREGATE: "true"});
        let more = json!({"metadata": {"name": name, "labels": labels}, "rules": [rule]});
        roles.create(&PostParams::default(), &serde_json::from_value(more)?).await?;
        Ok(())
    }

    /// The cluster is somebody for registries, or nobody again.
    pub(crate) async fn be_known_to_registries(&self, is_known: bool) -> Result<()> {
        let client = self.cluster.client();
        let secrets: Api<Secret> = Api::namespaced(client.clone(), "openshift-config");
        if !is_known {
            secrets.delete("pull-secret", &DeleteParams::default()).await?;
            return Ok(());
        }
        let create = PostParams::default();
        let namespace: Namespace =
            serde_json::from_value(json!({"metadata": {"name": "openshift-config"}}))?;
        let namespaces: Api<Namespace> = Api::all(client);
        if namespaces.get_opt("openshift-config").await?.is_none() {
            namespaces.create(&create, &namespace).await?;
        }
        let secret: Secret = serde_json::from_value(json!({
            "metadata": {"name": "pull-secret"},
            "type": "kubernetes.io/dockerconfigjson",
            "data": {".dockerconfigjson": "eyJhdXRocyI6e319"},
        }))?;
        secrets.create(&create, &secret).await?;
        Ok(())
    }

    /// Waits until a run knows who the cluster is for registries.
    pub(crate) async fn until_known(&self, run: &Run) -> Result<String> {
        let name = format!("{NAME}-{}", run.id);
        let secrets: Api<Secret> = self.namespace.api();
        wait::until(&name, async || Ok(secrets.get_opt(&name).await?.map(|_| name.clone()))).await
    }

    pub(crate) fn deployments(&self) -> Api<Deployment> {
        self.namespace.api()
    }

    /// Waits for the run of a release.
    pub(crate) async fn until_run(&self, image: &str, version: &str) -> Result<Run> {
        self.until_another_run("", image, version).await
    }

    /// Waits for a run of a release that is not that one.
    pub(crate) async fn until_another_run(
        &self,
        other: &str,
        image: &str,
        version: &str,
    ) -> Result<Run> {
        wait::until(&format!("a run of {version}"), async || {
            let found = self.deployments().get_opt(NAME).await?;
            let id = found.and_then(|it| {
                let is_of = it.annotations().get("fairway.dev/preflight-target")? == image;
                it.labels().get(RUN).filter(|id| is_of && *id != other).cloned()
            });
            Ok(id.map(|id| Run {
                directory: self.settings.results.here.join(&id),
                id,
                image: image.to_owned(),
                version: version.to_owned(),
            }))
        })
        .await
    }

    /// Every run that has a directory.
    pub(crate) fn directories(&self) -> Result<Vec<String>> {
        let Ok(found) = fs::read_dir(&self.settings.results.here) else { return Ok(Vec::new()) };
        found.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    /// Waits until nothing of any run is left.
    pub(crate) async fn until_clear(&self) -> Result<()> {
        self.until("everything to be gone", |preflight| preflight.is_clear).await?;
        let left = self.deployments().list(&ListParams::default()).await?.items;
        ensure!(left.is_empty(), "{left:#?}");
        ensure!(self.directories()?.is_empty(), "{:?}", self.directories());
        Ok(())
    }
}
