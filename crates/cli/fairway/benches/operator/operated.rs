//! A cluster, and the program that operates it.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fairway_api::cluster_version::ClusterVersionStatus;
use fairway_api::{
    CLUSTER_VERSION_NAME, ClusterOperator, ClusterVersion, ConditionStatus, Conditions as _,
};
use fairway_testkit::releases::TestRelease;
use fairway_testkit::testbed::process::processor_time;
use fairway_testkit::{AuditMark, Requests, TestCluster, TestNamespace, objects, wait};
use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use kube::api::{DeleteParams, PostParams, WatchEvent, WatchParams};
use serde_json::json;
use tempfile::TempDir;

use crate::graphs::Case;
use crate::neighbours::Neighbours;

/// As many as a platform has.
const CLUSTER_OPERATORS: usize = 33;

/// A pass that takes longer has failed.
const PATIENCE: Duration = Duration::from_mins(2);

/// Where the operator notes what came of queries.
const NOTES: &str = "risk-evaluations";

const POST: PostParams = PostParams { dry_run: false, field_manager: None };

/// A cluster that waits for an operator.
pub(crate) struct Site {
    pub(crate) cluster: TestCluster,
    namespace: TestNamespace,
}

impl Site {
    pub(crate) async fn prepare() -> Result<Self> {
        let cluster = TestCluster::in_turn().await?;
        let namespace = cluster.namespace("operator").await?;
        for (place, name) in
            [("openshift-config-managed", "admin-gates"), ("openshift-config", "admin-acks")]
        {
            let metadata = json!({"metadata": {"name": place}});
            let namespace: Namespace = serde_json::from_value(metadata)?;
            exists(Api::all(cluster.client()).create(&POST, &namespace).await)?;
            let config_map: ConfigMap =
                serde_json::from_value(json!({"metadata": {"name": name}}))?;
            exists(Api::namespaced(cluster.client(), place).create(&POST, &config_map).await)?;
        }
        let operators: Api<ClusterOperator> = Api::all(cluster.client());
        for number in 0..CLUSTER_OPERATORS {
            let name = format!("component-{number:02}");
            let mut created = operators.create(&POST, &objects::cluster_operator(&name)).await?;
            created.status = Some(objects::working_at("1.0.0"));
            operators.replace_status(&name, &POST, &created).await?;
        }
        Ok(Self { cluster, namespace })
    }

    pub(crate) fn cluster_versions(&self) -> Api<ClusterVersion> {
        Api::all(self.cluster.client())
    }

    fn notes(&self) -> Api<ConfigMap> {
        Api::namespaced(self.cluster.client(), self.namespace.name())
    }

    /// Waits until the operator has noted what came of queries, which it does last.
    pub(crate) async fn noted(&self) -> Result<()> {
        let found = async || Ok(self.notes().get_opt(NOTES).await?.map(drop));
        wait::until("the operator to have noted everything", found).await
    }

    /// A ClusterVersion that nobody has written a status of, and no notes.
    pub(crate) async fn renew(&self, case: &Case) -> Result<()> {
        let api = self.cluster_versions();
        if api.get_opt(CLUSTER_VERSION_NAME).await?.is_some() {
            api.delete(CLUSTER_VERSION_NAME, &DeleteParams::default()).await?;
        }
        if self.notes().get_opt(NOTES).await?.is_some() {
            self.notes().delete(NOTES, &DeleteParams::default()).await?;
        }
        let mut object = objects::cluster_version();
        object.spec.channel = Some(case.channel.clone());
        api.create(&POST, &object).await?;
        Ok(())
    }
}

/// The program at work. It ends with this value.
pub(crate) struct Operator {
    child: Child,
    mark: AuditMark,
    _payload: TempDir,
}

impl Operator {
    pub(crate) fn start(site: &Site, case: &Case, neighbours: &Neighbours) -> Result<Self> {
        let payload = tempfile::tempdir()?;
        TestRelease::new(&case.version).write(payload.path())?;
        let url = neighbours.url();
        let mark = site.cluster.audit_log()?.mark()?;
        let child = Command::new(env!("CARGO_BIN_EXE_fairway"))
            // The same pod each time: the Lease of the one before is its own.
            .args(["operator", "--node-name=node", "--pod-uid=bench", "--listen="])
            .args(["--promql-burst=64", "--namespace", site.namespace.name()])
            .args(["--release-image", &objects::release(&case.version).image])
            .args(["--metrics-url", &url, "--update-service", &format!("{url}/graph")])
            .arg("--payload")
            .arg(payload.path())
            .arg("--preflight-results-dir")
            .arg(payload.path().join("preflight"))
            .arg("--kubeconfig")
            .arg(site.cluster.kubeconfig())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the operator")?;
        Ok(Self { child, mark, _payload: payload })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn processor_time(&self) -> Result<Duration> {
        processor_time(self.pid())
    }

    /// What it asked the API server since it started.
    pub(crate) fn requests(&self, site: &Site) -> Result<Requests> {
        Requests::since(&site.cluster.audit_log()?, self.mark)
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        // It is gone, or it cannot be ended: either way there is nobody to tell.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until everything is decided; the ClusterVersion then.
pub(crate) async fn decided(api: &Api<ClusterVersion>) -> Result<ClusterVersion> {
    let only = WatchParams::default().fields(&format!("metadata.name={CLUSTER_VERSION_NAME}"));
    let wait = async {
        let mut events = std::pin::pin!(api.watch(&only, "0").await?);
        while let Some(event) = events.try_next().await? {
            if let WatchEvent::Added(object) | WatchEvent::Modified(object) = event
                && object.status.as_ref().is_some_and(is_decided)
            {
                return Ok(object);
            }
        }
        bail!("the watch for the status has ended")
    };
    tokio::time::timeout(PATIENCE, wait).await.context("no status within two minutes")?
}

/// Whether it is known of every risk if it applies: one that does is enough to decide an update.
fn is_decided(status: &ClusterVersionStatus) -> bool {
    let risks = &status.conditional_update_risks;
    !risks.is_empty()
        && risks.iter().all(|risk| {
            let applies = risk.conditions.find("Applies");
            applies.is_some_and(|condition| condition.status != ConditionStatus::Unknown)
        })
}

fn exists<K>(created: kube::Result<K>) -> Result<()> {
    match created {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        created => Ok(created.map(drop)?),
    }
}
