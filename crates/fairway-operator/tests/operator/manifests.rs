//! The manifests that are deployed.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::Value;

/// A file of `deploy/operator`.
pub(crate) fn path(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../deploy/operator").join(file)
}

/// The objects in it.
pub(crate) fn objects(file: &str) -> Result<Vec<Value>> {
    let text = fs::read_to_string(path(file)).with_context(|| format!("cannot read {file}"))?;
    Ok(serde_saphyr::from_multiple(&text)?)
}

#[test]
fn the_deployment_is_as_the_design_wants_it() -> Result<()> {
    let [deployment] = &objects("deployment.yaml")?[..] else { panic!("one object") };
    assert_eq!(deployment["spec"]["replicas"], 1);
    assert_eq!(deployment["spec"]["strategy"]["type"], "Recreate");
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let arguments: Vec<&str> =
        container["args"].as_array().context("args")?.iter().filter_map(Value::as_str).collect();
    assert!(arguments.contains(&"--release-image={{.ReleaseImage}}"), "{arguments:?}");
    let variables = container["env"].as_array().context("env")?;
    let variables: Vec<_> = variables.iter().map(|variable| &variable["name"]).collect();
    assert_eq!(variables, ["NODE_NAME", "POD_UID"]);
    Ok(())
}

#[test]
fn everything_is_in_the_namespaces_of_the_platform() -> Result<()> {
    for file in
        ["00-namespace.yaml", "rbac.yaml", "deployment.yaml", "monitoring.yaml", "alerts.yaml"]
    {
        for object in objects(file)? {
            let (kind, metadata) = (&object["kind"], &object["metadata"]);
            let cluster_wide = ["Namespace", "ClusterRole", "ClusterRoleBinding"];
            let is_cluster_wide = cluster_wide.iter().any(|word| kind == word);
            assert_eq!(metadata["namespace"].is_null(), is_cluster_wide, "{file}: {kind}");
            assert!(metadata["name"].is_string(), "{file}: {kind}");
        }
    }
    Ok(())
}
