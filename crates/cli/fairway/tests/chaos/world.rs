//! A cluster, a platform with its components, and an operator.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use fairway_api::cluster_version::UpdateState;
use fairway_api::{CLUSTER_VERSION_NAME, ClusterOperator, ClusterVersion, Conditions as _};
use fairway_sandbox::faults::Fault;
use fairway_testkit::line::Line;
use fairway_testkit::{TestCluster, TestNamespace, objects, wait};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::Role;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;

use crate::components::Components;
use crate::dice::Dice;
use crate::operator::{Operator, PAYLOAD, Start};
use crate::platform::{release, version};
use crate::witness::Witness;

/// What tells an object of a release.
const MANAGED: &str = "fairway.dev/managed=true";

/// What differs between objects that are otherwise the same.
const INCIDENTAL: [&str; 6] = [
    "creationTimestamp",
    "generation",
    "lastTransitionTime",
    "managedFields",
    "resourceVersion",
    "uid",
];

/// How long the API server of a sandbox takes for what the operator writes: as long as a real one
/// does, so that there is a time in the middle of it.
const WRITING: Duration = Duration::from_millis(20);

/// A cluster with a platform; everything ends with this value.
pub(crate) struct World {
    pub(crate) operator: Operator,
    pub(crate) line: Line,
    _components: Components,
    pub(crate) witness: Witness,
    _files: TempDir,
    namespace: TestNamespace,
    pub(crate) cluster: TestCluster,
}

/// How a cluster is in the end.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    /// Every object of the release, without what differs by nature.
    pub(crate) objects: Vec<Value>,
    /// Versions and states, the newest first.
    pub(crate) history: Vec<(String, UpdateState)>,
}

impl World {
    /// A cluster whose operator has installed the first release.
    pub(crate) async fn install(dice: &mut Dice) -> Result<Self> {
        let cluster = TestCluster::in_turn().await?.over_tls().await?;
        let namespace = cluster.namespace("chaos").await?;
        if let Some(sandbox) = cluster.as_sandbox() {
            // Of one kind alone: of several faults, only the oldest happens.
            let writes = Fault::delay(WRITING).verb("patch").resource("roles");
            sandbox.faults().add(writes);
        }
        let mut version = objects::cluster_version();
        // Without a channel, no update service is asked.
        version.spec.channel = None;
        Api::all(cluster.client()).create(&PostParams::default(), &version).await?;

        let files = tempfile::tempdir()?;
        release(namespace.name(), 0).write(&files.path().join(PAYLOAD))?;
        let line = Line::to(&cluster.registry()?).await?;
        let start = Start {
            kubeconfig: cluster.kubeconfig().to_owned(),
            namespace: namespace.name().to_owned(),
            image: objects::release("5.1.0").image,
            files: files.path().to_owned(),
        };
        let (client, name) = (cluster.client(), namespace.name());
        let world = Self {
            operator: Operator::start(start)?,
            line,
            _components: Components::start(&client, name, dice.fork()),
            witness: Witness::start(&client, name),
            _files: files,
            namespace,
            cluster,
        };
        world.until_completed(0).await?;
        Ok(world)
    }

    /// Asks for the release of that number.
    pub(crate) async fn ask(&self, number: usize) -> Result<()> {
        let image = release(self.namespace.name(), number).image()?;
        let stored = self.cluster.publish(&image, "chaos", &version(number)).await?;
        let (_, repository) = stored.split_once('/').context("a registry has a name")?;
        // It is signed by nobody.
        let wanted =
            json!({"image": format!("{}/{repository}", self.line.address()), "force": true});
        let patch = Patch::Merge(json!({"spec": {"desiredUpdate": wanted}}));
        let versions = self.versions();
        wait::until("an update to be asked for", || async {
            let asked = versions.patch(CLUSTER_VERSION_NAME, &PatchParams::default(), &patch).await;
            // A server that has just been broken on purpose does not always answer.
            Ok(asked.ok().map(drop))
        })
        .await
    }

    fn versions(&self) -> Api<ClusterVersion> {
        Api::all(self.cluster.client())
    }

    /// Whether the cluster has that release. Who cannot be asked has not.
    async fn has_completed(&self, number: usize) -> bool {
        let found = self.versions().get(CLUSTER_VERSION_NAME).await.ok();
        let newest = found.and_then(|found| found.status?.history.into_iter().next());
        newest.is_some_and(|newest| {
            newest.version == Some(version(number)) && newest.state == UpdateState::Completed
        })
    }

    /// What people are told of an update on its way.
    pub(crate) async fn progress(&self) -> String {
        let found = self.versions().get(CLUSTER_VERSION_NAME).await.ok();
        let conditions = found.and_then(|found| found.status).unwrap_or_default().conditions;
        let told = conditions.find("Progressing").and_then(|found| found.message.clone());
        told.unwrap_or_default()
    }

    pub(crate) async fn until_completed(&self, number: usize) -> Result<()> {
        let what = format!("{} to be completed", version(number));
        let completed =
            wait::until(&what, || async { Ok(self.has_completed(number).await.then_some(())) });
        completed.await.with_context(|| self.operator.log())
    }

    /// Waits until so many maps are as the release of that number wants them.
    pub(crate) async fn until_written(&mut self, number: usize, enough: usize) -> Result<()> {
        let written = async {
            tokio::select! {
                written = self.witness.until_written(number, enough) => written,
                ended = self.operator.ended() => ended,
            }
        };
        match timeout(wait::PATIENCE, written).await {
            Ok(written) => written,
            Err(_) => {
                bail!("{enough} maps of {} do not come\n{}", version(number), self.operator.log())
            }
        }
    }

    /// How it ended.
    pub(crate) async fn outcome(&self) -> Result<Outcome> {
        self.witness.testify().with_context(|| self.operator.log())?;
        let status = self.versions().get(CLUSTER_VERSION_NAME).await?.status.unwrap_or_default();
        let entries = status.history.into_iter();
        let history =
            entries.map(|entry| (entry.version.unwrap_or_default(), entry.state)).collect();
        let objects = [
            self.every::<ConfigMap>(&self.namespace.api()).await?,
            self.every::<Role>(&self.namespace.api()).await?,
            self.every::<ClusterOperator>(&Api::all(self.cluster.client())).await?,
        ];
        Ok(Outcome { objects: objects.concat(), history })
    }

    async fn every<K>(&self, api: &Api<K>) -> Result<Vec<Value>>
    where
        K: Clone + DeserializeOwned + Serialize + std::fmt::Debug,
    {
        let found = api.list(&ListParams::default().labels(MANAGED)).await?;
        let bare = |object| {
            // The namespaces of two worlds have different names.
            let text = serde_json::to_string(object)?.replace(self.namespace.name(), "NAMESPACE");
            let mut object = serde_json::from_str(&text)?;
            strip(&mut object);
            Ok(object)
        };
        found.items.iter().map(bare).collect()
    }
}

/// Takes away what is incidental, at every depth.
fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !INCIDENTAL.contains(&name.as_str()));
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}
