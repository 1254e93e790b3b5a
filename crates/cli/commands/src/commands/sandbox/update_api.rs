//! The update API in a cluster without a platform: CRDs and ClusterVersion.

use anyhow::Context;
use fairway_sandbox::sandbox::Sandbox;
use k8s_openapi::api::core::v1::Namespace;
use serde_json::json;

/// Installs the CRDs and a ClusterVersion without a status.
pub(super) fn install(sandbox: &Sandbox) -> anyhow::Result<()> {
    let client = sandbox.api().client("fairway");
    for crd in fairway_api::crds::all() {
        client.create(&crd).context("cannot install the update API")?;
    }
    // The UID of the namespace `kube-system` identifies a cluster.
    let system: Option<Namespace> = client.get("", "kube-system")?;
    let identity = system.and_then(|namespace| namespace.metadata.uid);
    let version = json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterVersion",
        "metadata": { "name": fairway_api::CLUSTER_VERSION_NAME },
        "spec": { "clusterID": identity },
    });
    client.create_any(version).context("cannot create the ClusterVersion")?;
    Ok(())
}
