//! What the tests of preflights stand on.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use fairway_api::CLUSTER_VERSION_NAME;
use fairway_api::cluster_version::ClusterVersionStatus;
use fairway_findings::labels;
use fairway_install::manifests::own_manifests;
use fairway_testkit::{TestPlatform, text, wait};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::discovery::ApiResource;
use serde_json::{Value, json};

/// Where runs leave their results on a node.
const RESULTS: &str = "var/lib/fairway/preflight";

/// Longer than a busy machine needs for a dozen pods, one after the other.
const WAIT: &str = "--wait=4m";

/// A platform at 5.0.0, in a channel with 5.2.0.
pub(crate) async fn install() -> Result<TestPlatform> {
    TestPlatform::install(own_manifests(), "5.0.0", "stable-5.2").await
}

/// Asks a release about a platform, waits for its answer, and expects this exit code; what was said.
pub(crate) async fn ask(platform: &TestPlatform, version: &str, code: i32) -> Result<String> {
    upgrade(platform, &["--mode=preflight", &format!("--to={version}"), WAIT], code).await
}

/// Runs `fairway upgrade`, and expects this exit code; what was said.
pub(crate) async fn upgrade(
    platform: &TestPlatform,
    arguments: &[&str],
    code: i32,
) -> Result<String> {
    let output = platform.fairway(&[&["upgrade"], arguments].concat()).await?;
    let told = text(&output);
    ensure!(
        output.status.code() == Some(code),
        "{arguments:?} ended with {} instead of {code}: {told}",
        output.status
    );
    Ok(told)
}

/// Waits until ClusterVersion shows no preflight in progress any more: what was found is weighed
/// after it is known.
pub(crate) async fn settled(platform: &TestPlatform) -> Result<ClusterVersionStatus> {
    let is_settled = |status: &ClusterVersionStatus| !risks(status).contains("PreflightInProgress");
    platform.until("what is in progress to be over", is_settled).await
}

/// Waits until the operator has seen what was asked for last.
pub(crate) async fn until_seen(platform: &TestPlatform) -> Result<()> {
    wait::until("the operator to see what is asked for", || async {
        let found = platform.cluster_versions().get(CLUSTER_VERSION_NAME).await?;
        let seen = found.status.map(|status| status.observed_generation);
        Ok((seen == found.metadata.generation).then_some(()))
    })
    .await
}

/// Changes data of a ConfigMap of the platform.
pub(crate) async fn edit(
    platform: &TestPlatform,
    (namespace, name): (&str, &str),
    data: Value,
) -> Result<()> {
    let patch = Patch::Merge(json!({ "data": data }));
    platform.config_maps(namespace).patch(name, &PatchParams::default(), &patch).await?;
    Ok(())
}

/// What preflights have found, as ClusterVersion shows it: every risk, and whose it is.
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

/// Waits until nothing of any run is in the cluster or on its nodes.
pub(crate) async fn until_nothing_is_left(platform: &TestPlatform) -> Result<()> {
    let gone = wait::until("everything of preflights to go", || async {
        Ok(left(platform).await?.is_empty().then_some(()))
    });
    match gone.await {
        Ok(()) => Ok(()),
        Err(error) => Err(error.context(format!("there is {}", left(platform).await?.join(", ")))),
    }
}

/// What of runs is in the cluster and on its nodes.
pub(crate) async fn left(platform: &TestPlatform) -> Result<Vec<String>> {
    let mut left = Vec::new();
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
        let api: Api<DynamicObject> = Api::all_with(platform.cluster.client(), &kind);
        let found = api.list(&ListParams::default().labels(labels::RUN)).await?;
        left.extend(found.iter().map(|object| format!("{} {}", kind.kind, object.name_any())));
    }
    left.extend(directories(platform)?);
    Ok(left)
}

/// The directories of runs on the nodes of the cluster.
fn directories(platform: &TestPlatform) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for results in results(platform)? {
        // Nobody has made it yet, or it is gone with its node.
        let Ok(entries) = fs::read_dir(results) else { continue };
        for entry in entries {
            found.push(entry?.path().display().to_string());
        }
    }
    Ok(found)
}

/// Where the nodes of a cluster have results. A real node shares this directory with the machine.
fn results(platform: &TestPlatform) -> Result<Vec<PathBuf>> {
    let Some(sandbox) = platform.cluster.as_sandbox() else {
        return Ok(vec![PathBuf::from("/").join(RESULTS)]);
    };
    let nodes = fs::read_dir(sandbox.directory().join("nodes"))?;
    nodes.map(|node| Ok(node?.path().join("host").join(RESULTS))).collect()
}
