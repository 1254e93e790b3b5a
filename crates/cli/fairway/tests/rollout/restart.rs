//! Updates during which the operator is killed in its pod.

use std::fs;

use anyhow::{Context as _, Result};
use fairway_api::cluster_version::{ClusterVersionStatus, UpdateState};
use fairway_install::manifests::own_manifests;
use fairway_testkit::cluster_version::{history, message};
use fairway_testkit::environment::SOAK_ROUNDS;
use fairway_testkit::{NAMESPACE, TestPlatform, wait};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;
use rustix::process::{Pid, Signal, kill_process};

/// Target versions, and the progress in percent at which the operator is killed.
type Kills = &'static [(&'static str, &'static [u32])];

const KILLS: Kills = &[("5.0.1", &[30])];

/// Only in a soak: the kubelet backs off before it restarts a container that was killed repeatedly.
const SOAK_KILLS: Kills = &[("5.0.1", &[1, 60]), ("5.1.0", &[10, 40, 90])];

#[tokio::test(flavor = "multi_thread")]
async fn update_with_killed_operator_completes() -> Result<()> {
    let platform = TestPlatform::start(own_manifests(), "5.0.0", "stable-5.1").await?;
    let is_soak = std::env::var_os(SOAK_ROUNDS).is_some();
    let kills = if is_soak { SOAK_KILLS } else { KILLS };
    let mut expected = vec![("5.0.0", UpdateState::Completed)];
    for (version, percentages) in kills {
        platform.upgrade(&[&format!("--to={version}")], 0).await?;
        for &minimum in *percentages {
            let what = format!("{minimum}% of {version}");
            platform.wait_until(&what, |status| percent(status, version) >= minimum).await?;
            kill(&platform).await?;
        }
        let status = platform.wait_until_completed(version).await?;
        expected.insert(0, (version, UpdateState::Completed));
        assert_eq!(history(&status), expected);
    }
    Ok(())
}

/// The progress of an update to a version, as the operator reports it.
fn percent(status: &ClusterVersionStatus, version: &str) -> u32 {
    let newest = status.history.first();
    let Some(newest) = newest.filter(|newest| newest.version.as_deref() == Some(version)) else {
        return 0;
    };
    if newest.state == UpdateState::Completed {
        return 100;
    }
    let (before, _) = message(status, "Progressing").split_once("% complete").unwrap_or_default();
    before.rsplit('(').next().and_then(|percent| percent.parse().ok()).unwrap_or_default()
}

/// Sends SIGKILL to the operator in its pod.
async fn kill(platform: &TestPlatform) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(platform.client(), NAMESPACE);
    let process = wait::until("the operator to run", || async {
        let found = pods.list(&ListParams::default()).await?.items;
        Ok(found.iter().find_map(|pod| find_process(pod.metadata.uid.as_deref()?)))
    })
    .await?;
    kill_process(process, Signal::KILL).context("cannot kill the operator")
}

/// A process with the UID of a pod in its environment. The nodes of test clusters run on this host.
fn find_process(uid: &str) -> Option<Pid> {
    let variable = format!("POD_UID={uid}");
    let has_variable = |environment: &[u8]| {
        environment.split(|&byte| byte == 0).any(|it| it == variable.as_bytes())
    };
    let processes = fs::read_dir("/proc").ok()?.flatten();
    processes
        .filter(|process| {
            fs::read(process.path().join("environ")).is_ok_and(|found| has_variable(&found))
        })
        .find_map(|process| Pid::from_raw(process.file_name().to_str()?.parse().ok()?))
}
