//! Helpers for tests of preflights.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use fairway_api::cluster_version::ClusterVersionStatus;
use fairway_findings::labels;
use fairway_install::manifests::own_manifests;
use fairway_testkit::{TestPlatform, wait};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, ListParams};
use kube::discovery::ApiResource;

/// The directory of results on a node.
const RESULTS: &str = "var/lib/fairway/preflight";

/// Longer than a busy host needs for a dozen pods, one after the other.
pub(crate) const WAIT: &str = "--wait=4m";

/// A platform at 5.0.0, in a channel with 5.2.0.
pub(crate) async fn start() -> Result<TestPlatform> {
    TestPlatform::start(own_manifests(), "5.0.0", "stable-5.2").await
}

/// Runs a preflight until its result is complete. It has to end with this exit code. Returns the output.
pub(crate) async fn preflight(
    platform: &TestPlatform,
    version: &str,
    exit_code: i32,
) -> Result<String> {
    platform.upgrade(&["--mode=preflight", &format!("--to={version}"), WAIT], exit_code).await
}

/// Runs a preflight of a release that the update service does not offer.
pub(crate) async fn preflight_of_image(
    platform: &TestPlatform,
    version: &str,
    exit_code: i32,
) -> Result<String> {
    let image = format!("--to-image={}", platform.image(version)?);
    let arguments = ["--mode=preflight", &image, "--allow-explicit-upgrade", WAIT];
    platform.upgrade(&arguments, exit_code).await
}

/// Waits until ClusterVersion has no preflight in progress: the operator evaluates findings after the
/// result is complete.
pub(crate) async fn wait_until_evaluated(platform: &TestPlatform) -> Result<ClusterVersionStatus> {
    let is_evaluated =
        |status: &ClusterVersionStatus| !risks(status).contains("PreflightInProgress");
    platform.wait_until("the preflight to be evaluated", is_evaluated).await
}

/// Waits until the operator has observed the newest spec of ClusterVersion.
pub(crate) async fn wait_until_observed(platform: &TestPlatform) -> Result<()> {
    wait::until("the operator to observe the spec", || async {
        let found = platform.cluster_version().get().await?;
        let observed = found.status.map(|status| status.observed_generation);
        Ok((observed == found.metadata.generation).then_some(()))
    })
    .await
}

/// The risks in the status of ClusterVersion, and the updates that have them.
pub(crate) fn risks(status: &ClusterVersionStatus) -> String {
    let mut shown = String::new();
    for risk in &status.conditional_update_risks {
        let _ = writeln!(shown, "{}: {}", risk.name, risk.message);
        for condition in &risk.conditions {
            let (type_, status) = (&condition.type_, &condition.status);
            let _ =
                writeln!(shown, "  {type_}={status}: {}: {}", condition.reason, condition.message);
        }
    }
    for update in &status.conditional_updates {
        let _ = writeln!(shown, "{}: {}", update.release.version, update.risk_names.join(", "));
    }
    shown
}

/// Waits until no object or directory of a preflight run is left.
pub(crate) async fn wait_until_removed(platform: &TestPlatform) -> Result<()> {
    let removed = wait::until("the removal of all preflight runs", || async {
        Ok(run_objects(platform).await?.is_empty().then_some(()))
    });
    match removed.await {
        Ok(()) => Ok(()),
        Err(error) => Err(error.context(run_objects(platform).await?.join(", "))),
    }
}

/// The objects of preflight runs in the cluster, and their directories on nodes.
pub(crate) async fn run_objects(platform: &TestPlatform) -> Result<Vec<String>> {
    let mut objects = Vec::new();
    for kind in [
        ApiResource::erase::<Deployment>(&()),
        ApiResource::erase::<ReplicaSet>(&()),
        ApiResource::erase::<Job>(&()),
        ApiResource::erase::<Pod>(&()),
        ApiResource::erase::<Secret>(&()),
        ApiResource::erase::<ServiceAccount>(&()),
        ApiResource::erase::<Role>(&()),
        ApiResource::erase::<RoleBinding>(&()),
        ApiResource::erase::<ClusterRole>(&()),
        ApiResource::erase::<ClusterRoleBinding>(&()),
    ] {
        let api: Api<DynamicObject> = Api::all_with(platform.client(), &kind);
        let found = api.list(&ListParams::default().labels(labels::RUN)).await?;
        objects.extend(found.iter().map(|object| format!("{} {}", kind.kind, object.name_any())));
    }
    objects.extend(directories(platform)?);
    Ok(objects)
}

/// The directories of runs on the nodes of the cluster.
fn directories(platform: &TestPlatform) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for results in results_directories(platform)? {
        // No run has created it yet, or its node is deleted.
        let Ok(entries) = fs::read_dir(results) else { continue };
        for entry in entries {
            found.push(entry?.path().display().to_string());
        }
    }
    Ok(found)
}

/// The directories of results on the nodes. A Kubernetes node shares the directory with this host.
fn results_directories(platform: &TestPlatform) -> Result<Vec<PathBuf>> {
    let Some(sandbox) = platform.cluster.as_sandbox() else {
        return Ok(vec![PathBuf::from("/").join(RESULTS)]);
    };
    let nodes = fs::read_dir(sandbox.directory().join("nodes"))?;
    nodes.map(|node| Ok(node?.path().join("host").join(RESULTS))).collect()
}
