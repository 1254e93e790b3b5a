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

/// Ports of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatorPorts {
    /// Port for metrics.
    pub metrics: u16,
    /// Port for probes.
    pub probes: u16,
}

/// Adapts the Deployment for the sandbox: the operator listens on its own ports on loopback. Pods
/// share the network of the host, where another operator may run.
pub fn adapt_for_sandbox(
    operator_manifests: BTreeMap<String, String>,
    ports: OperatorPorts,
) -> Result<BTreeMap<String, String>, OperatorManifestsError> {
    adapted(operator_manifests, |pod| adapt(pod, ports))
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

fn adapt(pod: &mut Value, ports: OperatorPorts) -> Option<()> {
    pod["volumes"].as_array_mut()?.retain(|volume| volume["name"] != CA_VOLUME);
    let container = pod["containers"].as_array_mut()?.first_mut()?;
    container["volumeMounts"].as_array_mut()?.retain(|mount| mount["name"] != CA_VOLUME);
    for (option, port) in [("--listen=", ports.metrics), ("--probe-listen=", ports.probes)] {
        let mut arguments = container["args"].as_array_mut()?.iter_mut();
        let is_option =
            |argument: &&mut Value| argument.as_str().is_some_and(|it| it.starts_with(option));
        *arguments.find(is_option)? = json!(format!("{option}127.0.0.1:{port}"));
    }
    for side in ["containerPort", "hostPort"] {
        container["ports"][0][side] = json!(ports.metrics);
    }
    for probe in ["livenessProbe", "readinessProbe"] {
        *container[probe]["httpGet"].get_mut("port")? = json!(ports.probes);
    }
    Some(())
}
