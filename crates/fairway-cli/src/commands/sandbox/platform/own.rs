//! The operator's own manifests, for a cluster that is the sandbox.

use anyhow::Context;
use fairway_api::read;
use fairway_operator::manifests::TextFiles;
use serde_json::{Value, json};

/// What brings the authorities that a node trusts. The nodes of a sandbox trust none, and nothing
/// has to hide those that the image has.
const AUTHORITIES: &str = "ssl-certs";

/// Changes the Deployment: the operator listens on a port of its own, and for this machine alone.
/// Pods share the network of the machine, where another operator may run.
pub(super) fn for_the_sandbox(own: TextFiles, port: u16) -> anyhow::Result<TextFiles> {
    let change = |(path, text): (String, String)| {
        if !path.ends_with("_deployment.yaml") {
            return Ok((path, text));
        }
        let mut deployment: Value = read::document(&path, text.as_bytes())?;
        let pod = &mut deployment["spec"]["template"]["spec"];
        adapt(pod, port).with_context(|| format!("{path} has no pod of the operator"))?;
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

#[cfg(test)]
mod tests {
    use fairway_operator::manifests::own_manifests;

    use super::*;

    #[test]
    fn the_operator_listens_where_it_is_told_to() {
        let before = own_manifests();
        let after = for_the_sandbox(before.clone(), 40_000).unwrap();
        let changed: Vec<&String> =
            after.keys().filter(|path| before.get(*path) != after.get(*path)).collect();
        let [path] = changed.as_slice() else { panic!("{changed:?}") };
        let deployment: Value = serde_json::from_str(&after[*path]).unwrap();
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        let arguments = container["args"].as_array().unwrap();
        assert!(arguments.contains(&json!("--listen=127.0.0.1:40000")), "{arguments:?}");
        assert_eq!(container["ports"][0]["containerPort"], 40_000);
        assert_eq!(container["ports"][0]["hostPort"], 40_000);
        assert!(!after[*path].contains(AUTHORITIES), "{}", after[*path]);
        assert_eq!(container["image"], "{{.ReleaseImage}}");
    }
}
