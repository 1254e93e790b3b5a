//! Confirmation, rollback, multi-architecture releases and waiting.

use anyhow::{Context, Result};
use fairway_api::cluster_version::{Architecture, UpdateHistory, UpdateState};
use fairway_api::{
    CLUSTER_VERSION_NAME as NAME, ClusterVersion, ClusterVersionStatus, Conditions as _,
    OperatorCondition,
};
use fairway_testkit::{TestCluster, objects, wait};
use kube::Api;
use kube::api::PostParams;
use serde_json::json;

use super::{create_cluster_version, document, upgrade};
use crate::refusals;

/// Changes the status, as the operator does.
async fn update_status(
    api: &Api<ClusterVersion>,
    change: impl Fn(&mut ClusterVersionStatus),
) -> Result<()> {
    let mut object = api.get(NAME).await?;
    let status = object.status.as_mut().context("no status")?;
    status.observed_generation = object.metadata.generation.unwrap_or_default();
    change(status);
    api.replace_status(NAME, &PostParams::default(), &object).await?;
    Ok(())
}

/// Adds a release to the history, as the operator does at the start of a rollout.
fn start_rollout(status: &mut ClusterVersionStatus, version: &str, state: UpdateState) {
    status.desired = objects::release(version);
    status.history.retain(|entry| entry.state == UpdateState::Completed);
    let completion_time = (state == UpdateState::Completed).then(objects::beginning);
    let entry = UpdateHistory {
        state,
        started_time: Some(objects::beginning()),
        completion_time,
        version: Some(version.to_owned()),
        image: status.desired.image.clone(),
        verified: true,
        ..UpdateHistory::default()
    };
    status.history.insert(0, entry);
}

#[tokio::test(flavor = "multi_thread")]
async fn unusual_requests_need_confirmation() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_cluster_version(&cluster).await?;
    update_status(&api, |status| {
        let others = ["5.0.9", "5.3.0", "5.1.2-rc.1"].map(objects::release);
        status.available_updates.get_or_insert_default().extend(others);
    })
    .await?;
    let before = api.get(NAME).await?.spec;
    let upgrade =
        |arguments: &[&str]| upgrade(cluster.kubeconfig(), &[&["--no-wait"], arguments].concat());
    let image = format!("--to-image=127.0.0.1:1/release@sha256:{}", "0".repeat(64));
    let refused = [
        upgrade(&["--to=5.0.9"]),
        upgrade(&["--to=5.3.0"]),
        upgrade(&["--to=5.1.2-rc.1"]),
        upgrade(&["--to=5.1.1", "--force"]),
        upgrade(&[&image, "--allow-explicit-upgrade"]),
    ];
    insta::assert_snapshot!(refusals(refused), @"
    2: error: confirmation required, but there is no terminal: the update from 5.1.0 to 5.0.9 is a downgrade; add --yes to confirm
    2: error: confirmation required, but there is no terminal: the update from 5.1.0 to 5.3.0 is a skip-level update that skips one minor version; add --yes to confirm
    2: error: confirmation required, but there is no terminal: 5.1.2-rc.1 is a pre-release; add --yes to confirm
    2: error: confirmation required, but there is no terminal: --force skips signature verification and waives all preconditions and risks: make sure that you trust this image; add --yes to confirm
    2: error: confirmation required, but there is no terminal: the version of the image is unknown: http://127.0.0.1:1/v2/release/manifests/sha256:0000000000000000000000000000000000000000000000000000000000000000: Connection refused (os error 111); add --yes to confirm
    ");
    assert_eq!(api.get(NAME).await?.spec, before);

    insta::assert_snapshot!(upgrade(&["--to=5.3.0", "--yes"]), @"
    exit code: 0
    ----- stdout -----
    Requested update to 5.3.0
    ----- stderr -----
    warning: the update from 5.1.0 to 5.3.0 is a skip-level update that skips one minor version
    ");
    let step = document(cluster.kubeconfig(), &["--to=5.0.9", "--yes", "--no-wait"])?;
    assert_eq!((&step["from"], &step["step"]["type"]), (&json!("5.1.0"), &json!("downgrade")));
    assert_eq!(step["cautions"][0]["type"], "downgrade");
    let plain = upgrade(&["--to=5.1.1"]);
    assert!(plain.starts_with("exit code: 0") && !plain.contains("warning"), "{plain}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rollback_requests_previous_release() -> Result<()> {
    check_rollback().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn rollback_requests_previous_release_in_a_real_cluster() -> Result<()> {
    check_rollback().await
}

async fn check_rollback() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_cluster_version(&cluster).await?;
    let upgrade =
        |arguments: &[&str]| upgrade(cluster.kubeconfig(), &[&["rollback"], arguments].concat());
    let none = upgrade(&[]);
    assert!(none.starts_with("exit code: 3"), "{none}");
    update_status(&api, |status| start_rollout(status, "5.1.1", UpdateState::Completed)).await?;
    insta::assert_snapshot!(upgrade(&["--dry-run"]), @"
    exit code: 0
    ----- stdout -----
    Dry run, nothing changed. Without --dry-run:

    Requested rollback from 5.1.1 to 5.1.0
    ");
    assert_eq!(api.get(NAME).await?.spec.desired_update, None);
    insta::assert_snapshot!(upgrade(&["--no-wait"]), @"
    exit code: 0
    ----- stdout -----
    Requested rollback from 5.1.1 to 5.1.0
    ");
    let asked = api.get(NAME).await?.spec.desired_update.context("no request")?;
    let release = objects::release("5.1.0");
    assert_eq!((asked.version(), asked.image()), (Some("5.1.0"), Some(&*release.image)));
    assert!(asked.is_update());
    insta::assert_snapshot!(upgrade(&["5.1.0"]), @"
    exit code: 2
    ----- stderr -----
    error: unexpected argument '5.1.0' found

    Usage: fairway upgrade rollback [OPTIONS]

    For more information, try '--help'.
    ");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn to_multi_arch_requests_same_version() -> Result<()> {
    check_multi_arch().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn to_multi_arch_requests_same_version_in_a_real_cluster() -> Result<()> {
    check_multi_arch().await
}

async fn check_multi_arch() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_cluster_version(&cluster).await?;
    let upgrade = |arguments: &[&str]| {
        upgrade(cluster.kubeconfig(), &[&["--to-multi-arch"], arguments].concat())
    };
    let tried = upgrade(&["--dry-run"]);
    assert!(tried.contains("nothing changed"), "{tried}");
    insta::assert_snapshot!(upgrade(&["--no-wait"]), @"
    exit code: 0
    ----- stdout -----
    Requested update to multi cluster architecture
    ");
    let asked = api.get(NAME).await?.spec.desired_update.context("no request")?;
    assert_eq!(asked.architecture(), Some(&Architecture::Multi));
    assert_eq!((asked.version(), asked.image()), (Some("5.1.0"), None));

    let nothing = OperatorCondition::new("Invalid", true)
        .reason("InvalidClusterVersion")
        .message("There is no such image.");
    update_status(&api, |status| status.conditions.set(nothing.clone(), objects::beginning().0))
        .await?;
    insta::assert_snapshot!(upgrade(&[]), @"
    exit code: 3
    ----- stdout -----
    Update to multi cluster architecture has already been requested

    The operator refuses the release:

      Reason: InvalidClusterVersion
      Message: There is no such image.

    The request remains, and the operator re-evaluates it when the cluster changes. Withdraw it with
      fairway upgrade --clear
    ----- stderr -----
    Waiting for the operator…
    ");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn new_risks_since_acceptance_have_their_own_exit_code() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_cluster_version(&cluster).await?;
    let upgrade = |arguments: &[&str]| upgrade(cluster.kubeconfig(), arguments);
    assert!(upgrade(&["--to=5.2.0"]).starts_with("exit code: 3"));
    assert!(upgrade(&["recommend", "--version=5.2.0"]).starts_with("exit code: 3"));
    upgrade(&["accept", "Other", "--for=5.2.x"]);
    insta::assert_snapshot!(upgrade(&["--to=5.2.0"]), @"
    exit code: 6
    ----- stderr -----
    error: 5.2.0 has new unaccepted risks: SlowDisks (applies)
      caused by: Nodes with slow disks may miss leases. https://example.com/slow-disks
    hint: run `fairway upgrade --include-not-recommended` for details; to accept only these risks for 5.2.0 and request the update, run `fairway upgrade --to=5.2.0 --allow-not-recommended`
    ");
    assert!(upgrade(&["recommend", "--version=5.2.0"]).starts_with("exit code: 6"));
    upgrade(&["accept", "Other", "--for=5.1.x"]);
    assert!(upgrade(&["--to=5.2.0"]).starts_with("exit code: 3"), "that was for another version");
    let accepted = ["recommend", "--version=5.2.0", "--accept=SlowDisks"];
    assert!(upgrade(&accepted).starts_with("exit code: 0"));

    update_status(&api, |status| {
        let mut another = status.conditional_updates[0].risks[0].clone();
        another.name = "NoisyLogs".to_owned();
        status.conditional_updates[0].risk_names.push(another.name.clone());
        status.conditional_updates[0].risks.push(another.clone());
        status.conditional_update_risks.push(another);
        let refused = OperatorCondition::new("ReleaseAccepted", false).reason("UnacceptedRisks");
        status.conditions.set(refused, objects::beginning().0);
    })
    .await?;
    upgrade(&["--to=5.2.0", "--allow-not-recommended", "--no-wait"]);
    upgrade(&["accept", "SlowDisks-", "NoisyLogs-"]);
    let waits = upgrade(&["accept", "SlowDisks"]);
    assert!(waits.starts_with("exit code: 6"), "{waits}");
    assert!(waits.contains("is still blocked by NoisyLogs"), "{waits}");
    assert!(upgrade(&["accept", "NoisyLogs"]).starts_with("exit code: 0"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_ends_when_the_update_is_complete() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_cluster_version(&cluster).await?;
    let kubeconfig = cluster.kubeconfig().to_owned();
    let asking = tokio::spawn(async move { upgrade(&kubeconfig, &["--to=5.1.1", "--wait=5m"]) });
    wait::until("the request", || async {
        Ok(api.get(NAME).await?.spec.desired_update.map(|_| ()))
    })
    .await?;
    let progress = |holds: bool, message: &'static str| {
        move |status: &mut ClusterVersionStatus| {
            let state = if holds { UpdateState::Partial } else { UpdateState::Completed };
            start_rollout(status, "5.1.1", state);
            let progressing = OperatorCondition::new("Progressing", holds).message(message);
            let accepted = OperatorCondition::new("ReleaseAccepted", true).reason("PayloadLoaded");
            status.conditions.set(progressing, objects::beginning().0);
            status.conditions.set(accepted, objects::beginning().0);
        }
    };
    update_status(&api, progress(true, "Working towards 5.1.1: 3 of 9")).await?;
    let in_vain = upgrade(cluster.kubeconfig(), &["--to=5.1.1", "--wait=1s"]);
    assert!(in_vain.starts_with("exit code: 5"), "{in_vain}");
    update_status(&api, progress(false, "Cluster version is 5.1.1")).await?;
    let waited = asking.await?;
    assert!(waited.starts_with("exit code: 0"), "{waited}");
    assert!(waited.contains("The update is complete. Cluster version is 5.1.1"), "{waited}");
    Ok(())
}
