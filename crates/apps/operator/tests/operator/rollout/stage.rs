//! The stage on a cluster, and releases of a few objects.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use fairway_api::cluster_version::{UpdateHistory, UpdateState};
use fairway_api::{
    CLUSTER_VERSION_NAME, ClusterOperator, ClusterOperatorStatus, ClusterVersion, OperatorCondition,
};
use fairway_operator::apply::Applier;
use fairway_operator::cluster::ClusterWatches;
use fairway_operator::election::{Leadership, TermSender};
use fairway_operator::metrics::Metrics;
use fairway_operator::payload::Payload;
use fairway_operator::stage::rollout::{Inputs, RetryPolicy, Rollout, RolloutWriters, run};
use fairway_operator::stage::target::{Capabilities, Target};
use fairway_release::inclusion::ManifestFilter;
use fairway_release::payload::Files;
use fairway_release::{Release, version_hash, with_zero_values};
use fairway_testkit::wait::DEFAULT_TIMEOUT;
use fairway_testkit::{TestCluster, TestNamespace, objects, wait};
use fairway_watch::WatchMonitors;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

const PROFILE: &str = "self-managed-high-availability";

/// Reports failures and retries at once.
fn without_delays() -> RetryPolicy {
    RetryPolicy {
        first: Duration::from_millis(50),
        longest: Duration::from_millis(200),
        grace: Duration::ZERO,
    }
}

/// A cluster and the inputs of the stage.
pub(crate) struct Stage {
    running: Option<Running>,
    target: watch::Sender<Option<Arc<Target>>>,
    watches: ClusterWatches,
    pub(crate) metrics: Metrics,
    pub(crate) namespace: TestNamespace,
    pub(crate) cluster: TestCluster,
}

/// The running stage; it stops when it is dropped.
struct Running {
    rollout: watch::Receiver<Option<Arc<Rollout>>>,
    superseded: CancellationToken,
    task: JoinHandle<()>,
    _term: TermSender,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Stage {
    /// A cluster with a history, the newest entry first.
    pub(crate) async fn begin(history: &[(&str, UpdateState)]) -> Result<Self> {
        let cluster = TestCluster::exclusive().await?;
        let namespace = cluster.namespace("rollout").await?;
        let versions: Api<ClusterVersion> = Api::all(cluster.client());
        versions.create(&PostParams::default(), &objects::cluster_version()).await?;
        let watches =
            ClusterWatches::open(&cluster.client(), &TaskTracker::new(), &WatchMonitors::default());
        let target = watch::Sender::new(None);
        let metrics = Metrics::default();
        let mut stage = Self { running: None, target, watches, metrics, namespace, cluster };
        stage.set_history(history).await?;
        stage.start();
        Ok(stage)
    }

    /// A cluster that updates from 5.0.0 to 5.1.0.
    pub(crate) async fn updating() -> Result<Self> {
        Self::begin(&[("5.1.0", UpdateState::Partial), ("5.0.0", UpdateState::Completed)]).await
    }

    /// Starts the stage; a running one is dropped.
    pub(crate) fn start(&mut self) {
        self.running = None;
        let (term, leadership) = Leadership::until(Instant::now() + DEFAULT_TIMEOUT * 2);
        let (out, rollout) = watch::channel(None);
        let superseded = CancellationToken::new();
        let inputs = Inputs {
            own_image: objects::release("5.0.0").image,
            target: self.target.subscribe(),
            cluster_version: self.watches.cluster_version.clone(),
            cluster_operators: self.watches.cluster_operators.clone(),
            surroundings: self.watches.surroundings.clone(),
        };
        let client = self.cluster.client();
        let applier = Applier::new(client.clone(), leadership.clone());
        let writers = RolloutWriters { applier, client, leadership };
        let metrics = self.metrics.rollout();
        let task =
            tokio::spawn(run(inputs, writers, without_delays(), metrics, superseded.clone(), out));
        self.running = Some(Running { rollout, superseded, task, _term: term });
    }

    fn running(&self) -> &Running {
        self.running.as_ref().expect("the stage runs")
    }

    /// Writes the history, like the stage `status`.
    pub(crate) async fn set_history(&self, history: &[(&str, UpdateState)]) -> Result<()> {
        let entry = |(version, state): &(&str, UpdateState)| UpdateHistory {
            state: state.clone(),
            started_time: Some(objects::beginning()),
            // Patches must set it.
            completion_time: Some(objects::beginning()),
            version: Some((*version).to_owned()),
            image: objects::release(version).image,
            ..UpdateHistory::default()
        };
        let newest = history.first().map_or("", |(version, _)| version);
        let mut status = objects::status_at(newest);
        status.history = history.iter().map(entry).collect();
        // A merge patch would remove an absent list, which is required.
        status.available_updates = Some(Vec::new());
        let versions: Api<ClusterVersion> = Api::all(self.cluster.client());
        let patch = Patch::Merge(json!({ "status": status }));
        versions.patch_status(CLUSTER_VERSION_NAME, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Sets the target.
    pub(crate) fn aim(&self, version: &str, manifests: &[(&str, Value)]) {
        self.aim_with(version, manifests, ManifestFilter::default());
    }

    pub(crate) fn aim_with(
        &self,
        version: &str,
        manifests: &[(&str, Value)],
        filter: ManifestFilter,
    ) {
        self.target.send_replace(Some(Arc::new(Target {
            generation: 1,
            payload: Arc::new(payload(version, manifests)),
            is_read: true,
            verified: true,
            accepted_risks: None,
            filter,
            capabilities: Capabilities::default(),
            release_accepted: OperatorCondition::new("ReleaseAccepted", true),
        })));
    }

    /// Waits for a published state.
    pub(crate) async fn until(&self, what: impl Fn(&Rollout) -> bool) -> Result<Arc<Rollout>> {
        let mut rollout = self.running().rollout.clone();
        let is_so = |rollout: &Option<Arc<Rollout>>| rollout.as_deref().is_some_and(&what);
        let found = timeout(DEFAULT_TIMEOUT, rollout.wait_for(is_so)).await;
        let found = found.with_context(|| format!("only {:#?}", self.published()))?;
        found?.clone().context("it was found")
    }

    /// Waits until the rollout is complete.
    pub(crate) async fn until_complete(&self) -> Result<Arc<Rollout>> {
        use fairway_operator::stage::rollout::Phase::Reconciling;
        self.until(|rollout| rollout.phase == Reconciling && rollout.done == rollout.total).await
    }

    /// Waits for failures with these reasons.
    pub(crate) async fn until_failing(&self, reasons: &[&str]) -> Result<Arc<Rollout>> {
        self.until(|rollout| {
            rollout.failures.iter().map(|failure| failure.reason).eq(reasons.iter().copied())
        })
        .await
    }

    pub(crate) fn published(&self) -> Option<Arc<Rollout>> {
        self.running().rollout.borrow().clone()
    }

    /// Waits for the handover to another operator.
    pub(crate) async fn until_superseded(&self) -> Result<()> {
        let superseded = self.running().superseded.cancelled();
        timeout(DEFAULT_TIMEOUT, superseded).await.context("no other operator takes over")
    }

    pub(crate) fn config_maps(&self) -> Api<ConfigMap> {
        self.namespace.api()
    }

    /// A ConfigMap in the test's namespace.
    pub(crate) fn config_map(&self, name: &str, value: &str) -> Value {
        self.object("v1", "ConfigMap", name, json!({ "data": { "value": value } }))
    }

    /// An object in the test's namespace.
    pub(crate) fn object(&self, api_version: &str, kind: &str, name: &str, rest: Value) -> Value {
        let namespace = self.namespace.name();
        let metadata = json!({ "name": name, "namespace": namespace });
        object(api_version, kind, metadata, rest)
    }

    /// All `ConfigMaps`, in the order of their last write.
    pub(crate) async fn written(&self) -> Result<Vec<String>> {
        let mut maps = self.config_maps().list(&kube::api::ListParams::default()).await?.items;
        // Newer API servers add one to each namespace.
        maps.retain(|map| map.name_any() != "kube-root-ca.crt");
        let revision =
            |map: &ConfigMap| map.resource_version().and_then(|text| text.parse::<u64>().ok());
        maps.sort_by_key(revision);
        Ok(maps.iter().map(ResourceExt::name_any).collect())
    }

    /// Waits until a ConfigMap has a value.
    pub(crate) async fn until_map(&self, name: &str, value: &str) -> Result<ConfigMap> {
        wait::until(&format!("{name} to be {value}"), async || {
            let map = self.config_maps().get_opt(name).await?;
            let found = |map: &ConfigMap| map.data.as_ref()?.get("value").cloned();
            Ok(map.filter(|map| found(map).as_deref() == Some(value)))
        })
        .await
    }

    /// Writes the status of an existing ClusterOperator.
    pub(crate) async fn report(&self, name: &str, status: &ClusterOperatorStatus) -> Result<()> {
        let operators: Api<ClusterOperator> = Api::all(self.cluster.client());
        wait::until(&format!("{name} to be created"), async || {
            operators_get(&operators, name).await
        })
        .await?;
        let patch = Patch::Merge(json!({ "status": status }));
        operators.patch_status(name, &PatchParams::default(), &patch).await?;
        Ok(())
    }
}

async fn operators_get(api: &Api<ClusterOperator>, name: &str) -> Result<Option<ClusterOperator>> {
    Ok(api.get_opt(name).await?)
}

pub(crate) fn object(api_version: &str, kind: &str, mut metadata: Value, rest: Value) -> Value {
    metadata["annotations"] = json!({ format!("include.release.openshift.io/{PROFILE}"): "true" });
    let mut object = json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata });
    if let (Some(object), Value::Object(rest)) = (object.as_object_mut(), rest) {
        object.extend(rest);
    }
    object
}

/// A ClusterOperator with a desired version.
pub(crate) fn cluster_operator(name: &str, version: &str) -> Value {
    let status = json!({
        "versions": [{ "name": "operator", "version": version }],
        "relatedObjects": [{ "group": "", "resource": "namespaces", "name": name }],
    });
    let metadata = json!({ "name": name });
    object(
        "config.openshift.io/v1",
        "ClusterOperator",
        metadata,
        json!({ "spec": {}, "status": status }),
    )
}

/// A release of objects, by file name.
fn payload(version: &str, manifests: &[(&str, Value)]) -> Payload {
    let references = json!({
        "apiVersion": "image.openshift.io/v1", "kind": "ImageStream",
        "metadata": { "name": version }, "spec": { "tags": [] },
    });
    let metadata = json!({ "kind": "cincinnati-metadata-v0", "version": version });
    let always = [("release-metadata", &metadata), ("image-references", &references)];
    let names: Vec<(String, &Value)> = always
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .chain(manifests.iter().map(|(name, value)| (format!("{name}.json"), value)))
        .collect();
    let files: Files = names
        .into_iter()
        .map(|(name, value)| (format!("release-manifests/{name}"), value.to_string().into_bytes()))
        .collect();
    let release = objects::release(version);
    let loaded = Release::load(&files, &release.image, PROFILE).expect("a release");
    let version_hash = version_hash(&loaded.manifests);
    let manifests = with_zero_values(&loaded.manifests.iter().collect::<Vec<_>>());
    Payload { release, manifests, version_hash }
}
