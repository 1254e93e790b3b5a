//! Harness: the stage on a cluster, with target releases.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use fairway_api::cluster_version::{Update, UpdateMode};
use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion};
use fairway_findings::consent::{self, SecretConsent};
use fairway_findings::{CheckReport, CheckStatus, Document, ExecutionStatus, FORMAT, labels};
use fairway_graph::cincinnati;
use fairway_operator::cluster::ClusterWatches;
use fairway_operator::election::{Leadership, TermSender};
use fairway_operator::metrics::Metrics;
use fairway_operator::own_release::{self, OwnRelease};
use fairway_operator::settings::{PreflightSettings, ResultsDirectory, SelectionSettings};
use fairway_operator::stage::preflight::{
    Inputs, Preflight, PreflightPlacement, PreflightWriter, run,
};
use fairway_operator::stage::updates::Updates;
use fairway_release::inclusion::DEFAULT_PROFILE;
use fairway_sandbox::faults::Fault;
use fairway_testkit::releases::TestRelease;
use fairway_testkit::wait::DEFAULT_TIMEOUT;
use fairway_testkit::{TestCluster, TestNamespace, objects, wait};
use fairway_watch::WatchMonitors;
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

/// A cluster at 5.0.0 with the inputs of the stage.
pub(crate) struct PreflightStage {
    running: Option<Running>,
    watches: ClusterWatches,
    /// `None` until a test sets the response of the update service.
    updates: watch::Sender<Option<Arc<Updates>>>,
    pub(crate) settings: PreflightSettings,
    pub(crate) namespace: TestNamespace,
    files: TempDir,
    cluster: TestCluster,
}

/// The running stage; dropping it aborts the stage.
struct Running {
    preflight: watch::Receiver<Option<Arc<Preflight>>>,
    task: JoinHandle<()>,
    _term: TermSender,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A run in the cluster, as the target release sees it.
pub(crate) struct Run {
    pub(crate) id: String,
    pub(crate) directory: PathBuf,
    pub(crate) image: String,
    version: String,
}

impl Run {
    /// Results of one passed check.
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

    /// Writes results atomically, like the target release.
    pub(crate) fn write(&self, document: &Document) -> Result<()> {
        let draft = self.directory.join("draft");
        fs::write(&draft, serde_json::to_vec(document)?)?;
        Ok(fs::rename(draft, self.directory.join("result.json"))?)
    }
}

impl PreflightStage {
    pub(crate) async fn new() -> Result<Self> {
        // Fails if another test of the process has set the subscriber already.
        let _ = tracing_subscriber::fmt().with_test_writer().try_init();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let cluster = TestCluster::exclusive().await?;
        let namespace = cluster.namespace("preflight").await?;
        let versions: Api<ClusterVersion> = Api::all(cluster.client());
        versions.create(&PostParams::default(), &objects::cluster_version()).await?;
        let watches =
            ClusterWatches::open(&cluster.client(), &TaskTracker::new(), &WatchMonitors::default());
        let files = tempfile::tempdir()?;
        TestRelease::new("5.0.0").write(&files.path().join("own"))?;
        let results = ResultsDirectory::at(files.path().join("results"));
        let settings = PreflightSettings { results, ..PreflightSettings::default() };
        let updates = watch::Sender::new(None);
        let mut stage =
            Self { running: None, watches, updates, settings, namespace, files, cluster };
        stage.start("node-1")?;
        Ok(stage)
    }

    /// Starts the stage of an operator on a node. A running stage is aborted first.
    pub(crate) fn start(&mut self, node: &str) -> Result<()> {
        self.running = None;
        let (term, leadership) = Leadership::until(Instant::now() + DEFAULT_TIMEOUT * 2);
        let (out, preflight) = watch::channel(None);
        let (payload, image) = (self.files.path().join("own"), objects::release("5.0.0").image);
        let inputs = Inputs {
            own: Arc::new(OwnRelease::read(&payload, &image)?),
            own_content: Arc::new(own_release::content(&payload, &image, DEFAULT_PROFILE)?),
            cluster_version: self.watches.cluster_version.clone(),
            proxy: self.watches.proxy.clone(),
            trusted_ca: self.watches.trusted_ca.clone(),
            features: self.watches.features.clone(),
            surroundings: self.watches.surroundings.clone(),
            reader_roles: self.watches.reader_roles.clone(),
            updates: self.updates.subscribe(),
        };
        let placement = PreflightPlacement {
            namespace: self.namespace.name().to_owned(),
            node: node.to_owned(),
            layouts: vec![self.layout()],
            selection: SelectionSettings::default(),
        };
        let metrics = Metrics::default().preflight();
        let writer = PreflightWriter { client: self.cluster.client(), leadership };
        let task =
            tokio::spawn(run(inputs, placement, self.settings.clone(), writer, metrics, out));
        self.running = Some(Running { preflight, task, _term: term });
        Ok(())
    }

    /// Refuses to list stored results from now on. Returns whether the cluster can.
    pub(crate) fn refuse_records(&self) -> bool {
        let Some(sandbox) = self.cluster.fault_injection() else { return false };
        sandbox.faults().add(Fault::refuse(403).verb("list").resource("configmaps"));
        true
    }

    /// Aborts the stage.
    pub(crate) fn stop(&mut self) {
        self.running = None;
    }

    fn layout(&self) -> PathBuf {
        self.files.path().join("images")
    }

    /// Creates a target release and returns its image.
    pub(crate) fn release(&self, version: &str) -> Result<String> {
        self.store(&TestRelease::new(version))
    }

    /// Stores a target release and returns its image.
    pub(crate) fn store(&self, release: &TestRelease) -> Result<String> {
        Ok(release.store(&self.layout())?.0)
    }

    /// Removes all target releases.
    pub(crate) fn remove_releases(&self) -> Result<()> {
        Ok(fs::remove_dir_all(self.layout())?)
    }

    /// Requests a preflight of an unsigned release.
    pub(crate) async fn request(&self, image: &str) -> Result<()> {
        self.set_desired_update(Some(&Update {
            image: Some(image.to_owned()),
            mode: Some(UpdateMode::Preflight),
            force: Some(true),
            ..Update::default()
        }))
        .await?;
        Ok(())
    }

    /// Consents that checks of a release read Secrets.
    pub(crate) async fn allow_secrets(&self, image: &str, secrets: &[&str]) -> Result<()> {
        let secrets = secrets.iter().map(|name| (*name).to_owned()).collect();
        let consent = SecretConsent { release: image.to_owned(), secrets };
        let annotations = json!({consent::ANNOTATION: serde_json::to_string(&consent)?});
        let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
        let versions: Api<ClusterVersion> = Api::all(self.cluster.client());
        versions.patch(CLUSTER_VERSION_NAME, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Waits for a run that started after the consent.
    pub(crate) async fn until_run_with_consent(&self, image: &str, version: &str) -> Result<Run> {
        wait::until("a run with consent", async || {
            let found = self.deployments().get_opt(NAME).await?;
            Ok(found.filter(|it| it.annotations().contains_key(consent::ANNOTATION)).map(drop))
        })
        .await?;
        self.until_run(image, version).await
    }

    /// Sets the response of the update service for a generation: one release.
    pub(crate) fn set_update_service(
        &self,
        generation: i64,
        version: &str,
        image: &str,
    ) -> Result<()> {
        let node = json!({"version": version, "payload": image});
        let answer = json!({"version": 1, "nodes": [node], "edges": []}).to_string();
        let (graph, _) = cincinnati::read("answer", answer.as_bytes())?;
        let updates = Updates { generation, graph: Arc::new(graph), ..Updates::default() };
        self.updates.send_replace(Some(Arc::new(updates)));
        Ok(())
    }

    /// Sets `spec.desiredUpdate` and returns the new generation.
    pub(crate) async fn set_desired_update(&self, update: Option<&Update>) -> Result<i64> {
        let desired = update.map(Update::merge_patch).transpose()?.unwrap_or(Value::Null);
        let patch = Patch::Merge(json!({"spec": {"desiredUpdate": desired}}));
        let versions: Api<ClusterVersion> = Api::all(self.cluster.client());
        let changed = versions.patch(CLUSTER_VERSION_NAME, &PatchParams::default(), &patch).await?;
        changed.metadata.generation.context("it has a generation")
    }

    /// Waits for an output of the stage.
    pub(crate) async fn until(
        &self,
        what: &str,
        says: impl Fn(&Preflight) -> bool,
    ) -> Result<Arc<Preflight>> {
        let mut published = self.running.as_ref().context("it runs")?.preflight.clone();
        let output = published.wait_for(|it| it.as_deref().is_some_and(&says));
        let waited = timeout(DEFAULT_TIMEOUT, output).await.ok().and_then(Result::ok);
        let found = waited.and_then(|found| found.clone());
        let last = || {
            let published = self.running.as_ref().map(|it| it.preflight.borrow().clone());
            format!("waited for {what}: {published:#?}")
        };
        found.with_context(last)
    }

    /// Waits until a condition has this reason.
    pub(crate) async fn until_reason(&self, type_: &str, reason: &str) -> Result<Arc<Preflight>> {
        self.until(&format!("{type_}/{reason}"), |preflight| {
            let found = preflight.conditions.iter().find(|condition| condition.type_ == type_);
            found.and_then(|condition| condition.reason.as_deref()) == Some(reason)
        })
        .await
    }

    /// Waits until the message of `PreflightFailed` contains a text, or no longer does. Other
    /// errors may exist: the cluster has no nodes.
    pub(crate) async fn until_failure_contains(
        &self,
        text: &str,
        expected: bool,
    ) -> Result<Arc<Preflight>> {
        self.until(text, |preflight| {
            let [_, _, failed] = &preflight.conditions;
            failed.message.as_deref().unwrap_or_default().contains(text) == expected
        })
        .await
    }

    /// Creates a `ClusterRole` that is aggregated for preflights, or deletes it.
    pub(crate) async fn set_reader_role(&self, name: &str, rule: Option<Value>) -> Result<()> {
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

    /// Creates the cluster's pull secret, or deletes it.
    pub(crate) async fn set_pull_secret(&self, exists: bool) -> Result<()> {
        let client = self.cluster.client();
        let secrets: Api<Secret> = Api::namespaced(client.clone(), "openshift-config");
        if !exists {
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

    /// Waits for a run's copy of the pull secret.
    pub(crate) async fn until_pull_secret(&self, run: &Run) -> Result<String> {
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

    /// Waits for a run of a release with another ID.
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

    /// IDs of all runs that have a directory.
    pub(crate) fn directories(&self) -> Result<Vec<String>> {
        let Ok(found) = fs::read_dir(&self.settings.results.here) else { return Ok(Vec::new()) };
        found.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    /// Waits until no object or directory of a run is left.
    pub(crate) async fn until_clear(&self) -> Result<()> {
        self.until("everything to be gone", |preflight| preflight.is_clear).await?;
        let left = self.deployments().list(&ListParams::default()).await?.items;
        ensure!(left.is_empty(), "{left:#?}");
        ensure!(self.directories()?.is_empty(), "{:?}", self.directories());
        Ok(())
    }
}
