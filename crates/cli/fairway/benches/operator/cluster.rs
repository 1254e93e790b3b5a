//! The cluster of the bench.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use fairway_api::cluster_version::ClusterVersionStatus;
use fairway_api::{
    CLUSTER_VERSION_NAME, ClusterOperator, ClusterVersion, ConditionStatus, Conditions as _,
};
use fairway_testkit::releases::TestRelease;
use fairway_testkit::{OperatorOptions, TestCluster, TestNamespace, TestOperator, objects, wait};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;
use tempfile::TempDir;

use crate::graph::GraphCase;
use crate::services::StubServices;

/// As many as OpenShift has.
const CLUSTER_OPERATORS: usize = 33;

/// An evaluation that takes longer has failed.
const EVALUATION_TIMEOUT: Duration = Duration::from_mins(2);

/// The ConfigMap in which the operator stores results of queries.
const STORED_RESULTS: &str = "risk-evaluations";

const POST: PostParams = PostParams { dry_run: false, field_manager: None };

/// A cluster with ClusterOperators and without an operator.
pub(crate) struct BenchCluster {
    namespace: TestNamespace,
    pub(crate) cluster: Arc<TestCluster>,
}

impl BenchCluster {
    pub(crate) async fn prepare() -> Result<Self> {
        let cluster = Arc::new(TestCluster::exclusive().await?);
        let namespace = cluster.namespace("operator").await?;
        for (namespace_name, name) in
            [("openshift-config-managed", "admin-gates"), ("openshift-config", "admin-acks")]
        {
            let metadata = json!({"metadata": {"name": namespace_name}});
            let namespace: Namespace = serde_json::from_value(metadata)?;
            accept_existing(Api::all(cluster.client()).create(&POST, &namespace).await)?;
            let config_map: ConfigMap =
                serde_json::from_value(json!({"metadata": {"name": name}}))?;
            accept_existing(
                Api::namespaced(cluster.client(), namespace_name).create(&POST, &config_map).await,
            )?;
        }
        let operators: Api<ClusterOperator> = Api::all(cluster.client());
        for number in 0..CLUSTER_OPERATORS {
            let name = format!("component-{number:02}");
            let mut created = operators.create(&POST, &objects::cluster_operator(&name)).await?;
            created.status = Some(objects::working_at("1.0.0"));
            operators.replace_status(&name, &POST, &created).await?;
        }
        Ok(Self { namespace, cluster })
    }

    pub(crate) fn cluster_versions(&self) -> Api<ClusterVersion> {
        Api::all(self.cluster.client())
    }

    fn stored_results(&self) -> Api<ConfigMap> {
        Api::namespaced(self.cluster.client(), self.namespace.name())
    }

    /// Waits until the operator has stored the results of queries, which it does last.
    pub(crate) async fn wait_until_stored(&self) -> Result<()> {
        let found = async || Ok(self.stored_results().get_opt(STORED_RESULTS).await?.map(drop));
        wait::until("stored results of queries", found).await
    }

    /// Creates ClusterVersion again, without a status, and deletes the stored results.
    pub(crate) async fn reset(&self, case: &GraphCase) -> Result<()> {
        let api = self.cluster_versions();
        if api.get_opt(CLUSTER_VERSION_NAME).await?.is_some() {
            api.delete(CLUSTER_VERSION_NAME, &DeleteParams::default()).await?;
        }
        if self.stored_results().get_opt(STORED_RESULTS).await?.is_some() {
            self.stored_results().delete(STORED_RESULTS, &DeleteParams::default()).await?;
        }
        let mut object = objects::cluster_version();
        object.spec.channel = Some(case.channel.clone());
        api.create(&POST, &object).await?;
        Ok(())
    }

    /// Starts an operator of the version of a case. Its payload is empty and goes with the directory.
    pub(crate) fn start_operator(
        &self,
        case: &GraphCase,
        services: &StubServices,
        payload: &TempDir,
    ) -> Result<TestOperator> {
        TestRelease::new(&case.version).write(payload.path())?;
        let url = services.url();
        let options = OperatorOptions {
            namespace: self.namespace.name().to_owned(),
            // The same pod each time, so that the operator holds the Lease of the previous one.
            arguments: vec![
                "--pod-uid=bench".to_owned(),
                "--promql-burst=64".to_owned(),
                format!("--metrics-url={url}"),
                format!("--update-service={url}/graph"),
            ],
            timeout: EVALUATION_TIMEOUT,
            ..OperatorOptions::new(&objects::release(&case.version).image, payload.path())
        };
        TestOperator::start(Arc::clone(&self.cluster), options)
    }
}

/// Whether every risk is evaluated: one that applies is enough to withhold an update.
pub(crate) fn is_evaluated(status: &ClusterVersionStatus) -> bool {
    let risks = &status.conditional_update_risks;
    !risks.is_empty()
        && risks.iter().all(|risk| {
            let applies = risk.conditions.find("Applies");
            applies.is_some_and(|condition| condition.status != ConditionStatus::Unknown)
        })
}

fn accept_existing<K>(created: kube::Result<K>) -> Result<()> {
    match created {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        created => Ok(created.map(drop)?),
    }
}
