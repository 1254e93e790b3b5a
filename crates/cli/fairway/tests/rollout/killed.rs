//! The operator is killed in its pod in the middle of updates, and goes on.

use std::fs;

use anyhow::{Context as _, Result};
use fairway_api::Conditions as _;
use fairway_api::cluster_version::{ClusterVersionStatus, UpdateState};
use fairway_install::manifests::own_manifests;
use fairway_testkit::environment::SOAK_ROUNDS;
use fairway_testkit::{NAMESPACE, TestPlatform, wait};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;
use rustix::process::{Pid, Signal, kill_process};

/// Updates, and how far they are, in percent, whenever the operator is killed.
type Moments = &'static [(&'static str, &'static [u32])];

const MOMENTS: Moments = &[("5.0.1", &[30])];

/// There is time for more: killed again and again, a container is started later and later.
const MOMENTS_OF_A_SOAK: Moments = &[("5.0.1", &[1, 60]), ("5.1.0", &[10, 40, 90])];

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_that_is_killed_in_its_pod_goes_on() -> Result<()> {
    let platform = TestPlatform::install(own_manifests(), "5.0.0", "stable-5.1").await?;
    let is_soak = std::env::var_os(SOAK_ROUNDS).is_some();
    let moments = if is_soak { MOMENTS_OF_A_SOAK } else { MOMENTS };
    let mut expected = vec![("5.0.0".to_owned(), UpdateState::Completed)];
    for (version, moments) in moments {
        platform.update(&[&format!("--to={version}")]).await?;
        for &moment in *moments {
            let what = format!("{moment}% of {version}");
            platform.until(&what, |status| percent(status, version) >= moment).await?;
            kill(&platform).await?;
        }
        let status = platform.until_completed(version).await?;
        expected.insert(0, ((*version).to_owned(), UpdateState::Completed));
        let entries = status.history.into_iter();
        let history: Vec<_> =
            entries.map(|entry| (entry.version.unwrap_or_default(), entry.state)).collect();
        assert_eq!(history, expected);
    }
    Ok(())
}

/// How much of that version is in the cluster.
fn percent(status: &ClusterVersionStatus, version: &str) -> u32 {
    let newest = status.history.first();
    let Some(newest) = newest.filter(|newest| newest.version.as_deref() == Some(version)) else {
        return 0;
    };
    if newest.state == UpdateState::Completed {
        return 100;
    }
    let progressing = status.conditions.find("Progressing");
    let message = progressing.and_then(|found| found.message.as_deref()).unwrap_or_default();
    let (before, _) = message.split_once("% complete").unwrap_or_default();
    before.rsplit('(').next().and_then(|percent| percent.parse().ok()).unwrap_or_default()
}

/// `kill -9` of the operator in its pod.
async fn kill(platform: &TestPlatform) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(platform.cluster.client(), NAMESPACE);
    let process = wait::until("the operator to run", || async {
        let found = pods.list(&ListParams::default()).await?.items;
        Ok(found.iter().find_map(|pod| process_of(pod.metadata.uid.as_deref()?)))
    })
    .await?;
    kill_process(process, Signal::KILL).context("cannot kill the operator")
}

/// A process that was told to be that pod's; nodes of tests run on this machine.
fn process_of(uid: &str) -> Option<Pid> {
    let told = format!("POD_UID={uid}");
    let is_told =
        |environment: &[u8]| environment.split(|&byte| byte == 0).any(|it| it == told.as_bytes());
    let processes = fs::read_dir("/proc").ok()?.flatten();
    processes
        .filter(|process| {
            fs::read(process.path().join("environ")).is_ok_and(|found| is_told(&found))
        })
        .find_map(|process| Pid::from_raw(process.file_name().to_str()?.parse().ok()?))
}
