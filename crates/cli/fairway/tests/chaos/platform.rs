//! [`ChaosPlatform`].

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use fairway_api::ClusterOperator;
use fairway_api::cluster_version::UpdateState;
use fairway_sandbox::faults::Fault;
use fairway_testkit::cluster_version::{history, message};
use fairway_testkit::{
    FaultyProxy, OperatorOptions, TestCluster, TestNamespace, TestOperator, objects, wait,
};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::Role;
use kube::Api;
use kube::api::{ListParams, PostParams};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::timeout;

use crate::components::Components;
use crate::monitor::Monitor;
use crate::random::Random;
use crate::release::{release, version};

/// Selects the objects of releases.
const MANAGED: &str = "fairway.dev/managed=true";

/// Fields that differ between two clusters with the same objects.
const VOLATILE_FIELDS: [&str; 6] = [
    "creationTimestamp",
    "generation",
    "lastTransitionTime",
    "managedFields",
    "resourceVersion",
    "uid",
];

/// How long the API server of a sandbox takes for a write: as long as a real one, so that faults occur
/// during writes.
const WRITE_DELAY: Duration = Duration::from_millis(20);

/// An operator with stub components, a registry behind a faulty proxy, and a monitor.
pub(crate) struct ChaosPlatform {
    pub(crate) operator: TestOperator,
    pub(crate) registry_proxy: FaultyProxy,
    _components: Components,
    pub(crate) monitor: Monitor,
    _payload: TempDir,
    namespace: TestNamespace,
    /// Dropped last: the destructor of the namespace sends a request.
    pub(crate) cluster: Arc<TestCluster>,
}

/// The final state of a cluster.
#[derive(Debug, PartialEq)]
pub(crate) struct FinalState {
    /// Every object of the release, without volatile fields.
    pub(crate) objects: Vec<Value>,
    /// Versions and states, newest first.
    pub(crate) history: Vec<(String, UpdateState)>,
}

impl ChaosPlatform {
    /// Starts an operator and waits until it has installed the first release.
    pub(crate) async fn start(random: &mut Random) -> Result<Self> {
        let cluster = Arc::new(TestCluster::exclusive().await?.over_tls().await?);
        let namespace = cluster.namespace("chaos").await?;
        if let Some(sandbox) = cluster.as_sandbox() {
            // For one kind only: of several matching faults, the sandbox injects the oldest.
            let writes = Fault::delay(WRITE_DELAY).verb("patch").resource("roles");
            sandbox.faults().add(writes);
        }
        let mut cluster_version = objects::cluster_version();
        // Without a channel, the operator does not query an update service.
        cluster_version.spec.channel = None;
        Api::all(cluster.client()).create(&PostParams::default(), &cluster_version).await?;

        let payload = tempfile::tempdir()?;
        release(namespace.name(), 0).write(payload.path())?;
        let registry_proxy = FaultyProxy::start(&cluster.registry()?).await?;
        let (client, name) = (cluster.client(), namespace.name().to_owned());
        let options = OperatorOptions {
            namespace: name.clone(),
            // Long enough that a slow operator keeps the Lease. A restarted operator has the same
            // identity, so it does not wait until the Lease expires.
            arguments: ["duration=15s", "renew-deadline=10s", "retry-period=1s"]
                .map(|timing| format!("--lease-{timing}"))
                .into(),
            timeout: wait::DEFAULT_TIMEOUT,
            ..OperatorOptions::new(&objects::release("5.1.0").image, payload.path())
        };
        let platform = Self {
            operator: TestOperator::start(Arc::clone(&cluster), options)?,
            registry_proxy,
            _components: Components::start(&client, &name, random.fork()),
            monitor: Monitor::start(&client, &name),
            _payload: payload,
            namespace,
            cluster,
        };
        platform.wait_until_completed(0).await?;
        Ok(platform)
    }

    /// Requests an update to a release.
    pub(crate) async fn request(&self, number: usize) -> Result<()> {
        let image = release(self.namespace.name(), number).image()?;
        let published = self.cluster.publish(&image, "chaos", &version(number)).await?;
        let (_, repository) = published.split_once('/').context("no registry in the pull spec")?;
        let image = format!("{}/{repository}", self.registry_proxy.address());
        wait::until("the request to be accepted", || async {
            // An injected fault may break the request.
            Ok(self.operator.cluster_version().force(&image).await.ok())
        })
        .await
    }

    /// The message of `Progressing`.
    pub(crate) async fn progress(&self) -> String {
        let status = self.operator.cluster_version().status().await.unwrap_or_default();
        message(&status, "Progressing").to_owned()
    }

    pub(crate) async fn wait_until_completed(&self, number: usize) -> Result<()> {
        self.operator.wait_until_completed(&version(number)).await.map(drop)
    }

    /// Waits until a number of `ConfigMap`s of a release is applied.
    pub(crate) async fn wait_until_written(&mut self, number: usize, count: usize) -> Result<()> {
        let written = async {
            // An operator that exits would let the wait time out without a cause.
            tokio::select! {
                written = self.monitor.wait_until_written(number, count) => written,
                exited = self.operator.exit() => exited,
            }
        };
        match timeout(wait::DEFAULT_TIMEOUT, written).await {
            Ok(written) => written,
            Err(_) => bail!(
                "timed out waiting for {count} ConfigMaps of {}\n{}",
                version(number),
                self.operator.logs()
            ),
        }
    }

    /// Returns the final state. Fails if the monitor has recorded a regression.
    pub(crate) async fn final_state(&self) -> Result<FinalState> {
        self.monitor.check().with_context(|| self.operator.logs())?;
        let status = self.operator.cluster_version().status().await?;
        let entries = history(&status).into_iter();
        let history = entries.map(|(version, state)| (version.to_owned(), state)).collect();
        let objects = [
            self.managed::<ConfigMap>(&self.namespace.api()).await?,
            self.managed::<Role>(&self.namespace.api()).await?,
            self.managed::<ClusterOperator>(&Api::all(self.operator.client())).await?,
        ];
        Ok(FinalState { objects: objects.concat(), history })
    }

    async fn managed<K>(&self, api: &Api<K>) -> Result<Vec<Value>>
    where
        K: Clone + DeserializeOwned + Serialize + std::fmt::Debug,
    {
        let found = api.list(&ListParams::default().labels(MANAGED)).await?;
        let normalised = |object| {
            // The namespaces of two clusters have different names.
            let text = serde_json::to_string(object)?.replace(self.namespace.name(), "NAMESPACE");
            let mut object = serde_json::from_str(&text)?;
            remove_volatile_fields(&mut object);
            Ok(object)
        };
        found.items.iter().map(normalised).collect()
    }
}

fn remove_volatile_fields(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !VOLATILE_FIELDS.contains(&name.as_str()));
            fields.values_mut().for_each(remove_volatile_fields);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_volatile_fields),
        _ => {}
    }
}
