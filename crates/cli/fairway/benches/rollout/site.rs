//! A cluster, and the program that brings releases into it.

use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::{Context, Result};
use fairway_api::cluster_version::{Update, UpdateState};
use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion, ClusterVersionStatus};
use fairway_testkit::testbed::process::processor_time;
use fairway_testkit::{TestCluster, objects};
use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use serde_json::json;
use tempfile::TempDir;

use crate::releases::Payload;

/// Where the operator has its Lease.
const NAMESPACE: &str = "openshift-cluster-version";

/// A release that takes longer is stuck: old API servers think for minutes about large definitions.
const PATIENCE: Duration = Duration::from_mins(15);

/// A control plane of its own.
pub(crate) struct Site {
    pub(crate) cluster: TestCluster,
}

impl Site {
    /// A cluster that knows ClusterVersion and ClusterOperator, and has neither.
    pub(crate) async fn prepare() -> Result<Self> {
        let cluster = TestCluster::control_plane().await?;
        cluster.install_crds().await?;
        let namespace: Namespace =
            serde_json::from_value(json!({"metadata": {"name": NAMESPACE}}))?;
        Api::all(cluster.client()).create(&PostParams::default(), &namespace).await?;
        Ok(Self { cluster })
    }

    fn cluster_versions(&self) -> Api<ClusterVersion> {
        Api::all(self.cluster.client())
    }

    /// Makes a ClusterVersion that asks for nothing, not even which updates there are.
    pub(crate) async fn make_cluster_version(&self) -> Result<()> {
        let mut object = objects::cluster_version();
        object.spec.channel = None;
        self.cluster_versions().create(&PostParams::default(), &object).await?;
        Ok(())
    }

    /// Asks for a release that nobody has signed.
    pub(crate) async fn ask_for(&self, payload: &Payload) -> Result<()> {
        let image = Some(payload.image.clone());
        let update = Update { image, force: Some(true), ..Update::default() };
        let patch = Patch::Merge(json!({"spec": {"desiredUpdate": update}}));
        let parameters = PatchParams::default();
        self.cluster_versions().patch(CLUSTER_VERSION_NAME, &parameters, &patch).await?;
        Ok(())
    }

    /// Waits until a release is completed.
    pub(crate) async fn completed(&self, payload: &Payload) -> Result<()> {
        let is_completed = |status: &ClusterVersionStatus| {
            status.history.first().is_some_and(|entry| {
                entry.image == payload.image && entry.state == UpdateState::Completed
            })
        };
        let api = self.cluster_versions();
        let only = WatchParams::default().fields(&format!("metadata.name={CLUSTER_VERSION_NAME}"));
        let wait = async {
            // A watch ends after some minutes, and the next one begins with the object as it is.
            loop {
                let mut events = std::pin::pin!(api.watch(&only, "0").await?);
                while let Some(event) = events.try_next().await? {
                    if let WatchEvent::Added(object) | WatchEvent::Modified(object) = event
                        && object.status.as_ref().is_some_and(is_completed)
                    {
                        return anyhow::Ok(());
                    }
                }
            }
        };
        let waited = tokio::time::timeout(PATIENCE, wait).await;
        waited.with_context(|| format!("{} is not completed in time", payload.version))?
    }
}

/// The program at work. It ends with this value.
pub(crate) struct Operator {
    child: Child,
    /// Where preflights would put what they find.
    _results: TempDir,
}

impl Operator {
    /// Starts the operator of a release, which finds others in the layouts below a directory.
    pub(crate) fn start(site: &Site, payload: &Payload, layouts: &Path) -> Result<Self> {
        let images: Vec<String> = std::fs::read_dir(layouts)?
            .map(|entry| Ok(entry?.path().display().to_string()))
            .collect::<std::io::Result<_>>()?;
        let results = tempfile::tempdir()?;
        let child = Command::new(env!("CARGO_BIN_EXE_fairway"))
            .args(["operator", "--node-name=node", "--pod-uid=bench", "--listen="])
            .args(["--namespace", NAMESPACE, "--release-image", &payload.image])
            .args(["--image-layouts", &images.join(",")])
            .arg("--payload")
            .arg(&payload.directory)
            .arg("--preflight-results-dir")
            .arg(results.path())
            .arg("--kubeconfig")
            .arg(site.cluster.kubeconfig())
            .env("FAIRWAY_LOG", std::env::var("FAIRWAY_LOG").unwrap_or("error".to_owned()))
            .spawn()
            .context("cannot start the operator")?;
        Ok(Self { child, _results: results })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn processor_time(&self) -> Result<Duration> {
        processor_time(self.pid())
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        // It is gone, or it cannot be ended: either way there is nobody to tell.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
