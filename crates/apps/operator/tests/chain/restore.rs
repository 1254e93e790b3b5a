//! A restore of etcd under a running operator.

use std::time::Duration;

use anyhow::{Context as _, Result};
use fairway_operator::election::{LeaseName, Timing};
use fairway_operator::settings::MetricsSource;
use fairway_testkit::releases::TestRelease;
use fairway_testkit::{TestCluster, wait};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;
use tokio::task::block_in_place;

use crate::support::{CHANNEL, OperatedCluster};

/// The operator stays leader while the API server restarts: only the restore makes it start over.
const TIMING: Timing = Timing {
    lease: Duration::from_mins(5),
    renew: Duration::from_mins(4),
    retry: Duration::from_secs(2),
};

const NAMESPACE: &str = "openshift-config";

fn config_map(name: &str) -> serde_json::Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "data": {"from": "the release"},
    })
}

async fn until_present(maps: &Api<ConfigMap>, name: &str, is_present: bool) -> Result<()> {
    wait::until(&format!("{name} present: {is_present}"), || async {
        // A restarting API server does not always answer.
        let found = maps.get_opt(name).await.ok();
        Ok(found.filter(|found| found.is_some() == is_present).map(drop))
    })
    .await
}

/// Waits until the operator has renewed its Lease.
async fn await_renewal(operated: &OperatedCluster) -> Result<()> {
    let LeaseName { namespace, name } = &operated.settings.election.lease;
    let leases: Api<Lease> = Api::namespaced(operated.cluster.client(), namespace);
    let before = leases.get(name).await?.resource_version();
    wait::until("the Lease to be renewed", || async {
        let renewed = leases.get(name).await?.resource_version() != before;
        Ok(renewed.then_some(()))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn objects_lost_by_a_restore_of_etcd_are_created_again() -> Result<()> {
    let cluster = TestCluster::start_kubernetes().await?;
    cluster.install_crds().await?;
    let samples = tempfile::NamedTempFile::new()?;
    let metrics = MetricsSource::Snapshot(samples.path().to_owned());
    let mut operated =
        OperatedCluster::on(cluster, "5.1.0", CHANNEL, "http://127.0.0.1:1/graph", metrics).await?;
    operated.write_payload(
        &TestRelease::new("5.1.0").object("0000_50_test_10-restored", config_map("restored")),
    )?;
    operated.settings.election.timing = TIMING;
    let maps: Api<ConfigMap> = Api::namespaced(operated.cluster.client(), NAMESPACE);
    let other = serde_json::from_value(config_map("deleted-later"))?;
    maps.create(&PostParams::default(), &other).await?;
    let plane = operated.cluster.own_control_plane().context("its own control plane")?;
    let snapshot = block_in_place(|| plane.save_etcd())?;

    operated.start();
    until_present(&maps, "restored", true).await?;
    maps.delete("deleted-later", &DeleteParams::default()).await?;
    // More writes than a starting API server makes: the versions after the restore are lower.
    for number in 0..1000 {
        let name = format!("lost-{number}");
        maps.create(&PostParams::default(), &serde_json::from_value(config_map(&name))?).await?;
    }
    await_renewal(&operated).await?;
    let plane = operated.cluster.own_control_plane().context("its own control plane")?;
    block_in_place(|| plane.restore_etcd(&snapshot))?;
    until_present(&maps, "deleted-later", true).await.context("etcd is not restored")?;
    until_present(&maps, "restored", true).await?;
    operated.stop().await
}
