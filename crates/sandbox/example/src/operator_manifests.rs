//! Manifests of the cluster-version operator, adapted for test clusters.

use std::collections::BTreeMap;

use fairway_api::read::{self, ReadError};
use serde_json::{Value, json};

/// Volume with the CA certificates of the node. Nodes of a sandbox have none, and the volume would
/// hide those of the image.
const CA_VOLUME: &str = "ssl-certs";

/// Error while adapting the manifests.
#[derive(Debug, thiserror::Error)]
pub enum OperatorManifestsError {
    /// The Deployment cannot be parsed.
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    /// The Deployment has no pod of the operator.
    #[error("{path} has no pod of the operator")]
    NoOperator {
        /// Path of the manifest.
        path: String,
    },
}

/// Adapts the Deployment for the sandbox: the operator listens on its own port on loopback. Pods
/// share the network of the host, where another operator may run.
pub fn adapt_for_sandbox(
    operator_manifests: BTreeMap<String, String>,
    port: u16,
) -> Result<BTreeMap<String, String>, OperatorManifestsError> {
    adapted(operator_manifests, |pod| adapt(pod, port))
}

fn adapted(
    operator_manifests: BTreeMap<String, String>,
    adapt: impl Fn(&mut Value) -> Option<()>,
) -> Result<BTreeMap<String, String>, OperatorManifestsError> {
    let change = |(path, text): (String, String)| {
        if !path.ends_with("_deployment.yaml") {
            return Ok((path, text));
        }
        let mut deployment: Value = read::document(&path, text.as_bytes())?;
        let pod = &mut deployment["spec"]["template"]["spec"];
        adapt(pod).ok_or_else(|| OperatorManifestsError::NoOperator { path: path.clone() })?;
        Ok((path, format!("{deployment:#}\n")))
    };
    operator_manifests.into_iter().map(change).collect()
}

fn adapt(pod: &mut Value, port: u16) -> Option<()> {
    pod["volumes"].as_array_mut()?.retain(|volume| volume["name"] != CA_VOLUME);
    let container = pod["containers"].as_array_mut()?.first_mut()?;
    container["volumeMounts"].as_array_mut()?.retain(|mount| mount["name"] != CA_VOLUME);
    let mut arguments = container["args"].as_array_mut()?.iter_mut();
    let is_listen =
        |argument: &&mut Value| argument.as_str().is_some_and(|it| it.starts_with("--listen="));
    *arguments.find(is_listen)? = json!(format!("--listen=127.0.0.1:{port}"));
    for side in ["containerPort", "hostPort"] {
        container["ports"][0][side] = json!(port);
    }
    Some(())
}
