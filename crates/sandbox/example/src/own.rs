//! The manifests of the operator that applies releases, for the clusters of tests.

use std::collections::BTreeMap;

use fairway_api::read::{self, ReadError};
use serde_json::{Value, json};

/// What brings the authorities that a node trusts. The nodes of a sandbox trust none, and nothing
/// has to hide those that the image has.
const AUTHORITIES: &str = "ssl-certs";

/// Why there is no operator for such a cluster.
#[derive(Debug, thiserror::Error)]
pub enum OwnError {
    /// The Deployment cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    /// The Deployment is not one of the operator.
    #[error("{path} has no pod of the operator")]
    NoOperator {
        /// Its file.
        path: String,
    },
}

/// Changes the Deployment: the operator listens on a port of its own, and for this machine alone.
/// Pods share the network of the machine, where another operator may run.
pub fn for_the_sandbox(
    own: BTreeMap<String, String>,
    port: u16,
) -> Result<BTreeMap<String, String>, OwnError> {
    adapted(own, |pod| adapt(pod, port))
}

/// Changes the Deployment: checks of preflights use the network of their node, for a cluster in
/// which nothing else reaches the API server.
pub fn with_checks_on_the_host(
    own: BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, OwnError> {
    adapted(own, |pod| {
        let arguments = pod["containers"].as_array_mut()?.first_mut()?["args"].as_array_mut()?;
        arguments.push(json!("--preflight-check-network=host"));
        Some(())
    })
}

fn adapted(
    own: BTreeMap<String, String>,
    adapt: impl Fn(&mut Value) -> Option<()>,
) -> Result<BTreeMap<String, String>, OwnError> {
    let change = |(path, text): (String, String)| {
        if !path.ends_with("_deployment.yaml") {
            return Ok((path, text));
        }
        let mut deployment: Value = read::document(&path, text.as_bytes())?;
        let pod = &mut deployment["spec"]["template"]["spec"];
        adapt(pod).ok_or_else(|| OwnError::NoOperator { path: path.clone() })?;
        Ok((path, format!("{deployment:#}\n")))
    };
    own.into_iter().map(change).collect()
}

fn adapt(pod: &mut Value, port: u16) -> Option<()> {
    pod["volumes"].as_array_mut()?.retain(|volume| volume["name"] != AUTHORITIES);
    let container = pod["containers"].as_array_mut()?.first_mut()?;
    container["volumeMounts"].as_array_mut()?.retain(|mount| mount["name"] != AUTHORITIES);
    let mut arguments = container["args"].as_array_mut()?.iter_mut();
    let is_listen =
        |argument: &&mut Value| argument.as_str().is_some_and(|it| it.starts_with("--listen="));
    *arguments.find(is_listen)? = json!(format!("--listen=127.0.0.1:{port}"));
    for side in ["containerPort", "hostPort"] {
        container["ports"][0][side] = json!(port);
    }
    Some(())
}
