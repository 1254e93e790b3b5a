//! Whether the release understands the configurations of machines, and their kernels.

use fairway_check::{CannotTell, Check, Context, Finding};
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use serde_json::Value;

use super::wanted;

const NAMESPACE: &str = "openshift-machine-config";

/// What the release asks of machines.
const REQUIREMENTS: &str = "machine-config-requirements";

/// The label of a ConfigMap with the configuration of machines.
const LABEL: &str = "platform.example/machine-config";

/// Its key.
const CONFIG: &str = "config";

/// It reads clusters that are so many minor versions behind; older ones kept configurations
/// elsewhere.
const MOST_MINORS_BEHIND: u64 = 2;

/// The check of the machine-config operator.
#[derive(Clone, Copy, Debug)]
pub struct MachineConfig;

impl Check for MachineConfig {
    fn name(&self) -> &'static str {
        "machine-config"
    }

    async fn run(&self, context: &Context) -> Result<Vec<Finding>, CannotTell> {
        context.skew().at_most(MOST_MINORS_BEHIND)?;
        let mut findings = Vec::new();
        // One question without an answer does not keep the other from being asked.
        for answer in [ignition(context).await, kernels(context).await] {
            match answer {
                Ok(found) => findings.extend(found),
                Err(why) => findings.push(context.unknown(&why)),
            }
        }
        Ok(findings)
    }
}

async fn ignition(context: &Context) -> Result<Vec<Finding>, CannotTell> {
    let minimum = wanted(context, NAMESPACE, REQUIREMENTS, "minimum-ignition")?;
    let Some(minimum) = minimum.as_deref().and_then(number) else { return Ok(Vec::new()) };
    let (mut old, mut broken) = (Vec::new(), Vec::new());
    let maps = context.cluster().read::<ConfigMap>().in_namespace(NAMESPACE).labelled(LABEL);
    maps.each(|map| {
        let name = map.metadata.name.unwrap_or_default();
        let config = map.data.and_then(|mut data| data.remove(CONFIG));
        match config.as_deref().and_then(ignition_version) {
            Some(version) if version < minimum => old.push(name),
            Some(_) => {}
            None => broken.push(name),
        }
    })
    .await?;
    let found = found_ignition(&old, &context.target().to_string());
    let why = || format!("not valid Ignition configurations: {}", broken.join(", "));
    Ok(all(context, found, (!broken.is_empty()).then(why)))
}

/// What was found, and what could not be told besides: neither hides the other.
fn all(context: &Context, found: Option<Finding>, untold: Option<String>) -> Vec<Finding> {
    let untold = untold.map(|why| context.unknown(&CannotTell::because(why)));
    found.into_iter().chain(untold).collect()
}

fn found_ignition(old: &[String], target: &str) -> Option<Finding> {
    let message = format!(
        "{target} does not support Ignition v2. These configurations use it: {}.",
        old.join(", ")
    );
    let remediation = "Translate them to Ignition v3: `kubectl -n openshift-machine-config get \
                       configmaps -l platform.example/machine-config`";
    let finding = Finding::critical("MachineConfigIgnitionV2Unsupported", message)
        .remediation(remediation)
        .url("https://platform.example/machines/ignition");
    (!old.is_empty()).then_some(finding)
}

async fn kernels(context: &Context) -> Result<Vec<Finding>, CannotTell> {
    let minimum = wanted(context, NAMESPACE, REQUIREMENTS, "minimum-kernel")?;
    let Some(minimum) = minimum.as_deref().and_then(number) else { return Ok(Vec::new()) };
    let mut old: Option<String> = None;
    let mut unknown = None;
    context
        .cluster()
        .read::<Node>()
        .each(|node| {
            let info = node.status.and_then(|status| status.node_info);
            let kernel = info.map(|info| info.kernel_version).unwrap_or_default();
            match number(&kernel) {
                Some(version) if version < minimum => old = Some(kernel),
                Some(_) => {}
                None => unknown = node.metadata.name,
            }
        })
        .await?;
    let found = old.map(|kernel| found_kernel(&kernel, &context.target().to_string()));
    let why = unknown.map(|node| format!("node {node} reports no kernel version"));
    Ok(all(context, found, why))
}

fn found_kernel(kernel: &str, target: &str) -> Finding {
    let message = format!(
        "Current kernel version {kernel} may have performance degradation with {target} container \
         runtime."
    );
    Finding::warning("MachineConfigKernelVersionMismatch", message)
        .remediation("Update the operating system of the nodes: `kubectl get nodes -o wide`")
        .url("https://platform.example/machines/kernel")
}

/// The version in an Ignition configuration.
fn ignition_version(config: &str) -> Option<(u64, u64)> {
    let config: Value = serde_json::from_str(config).ok()?;
    number(config["ignition"]["version"].as_str()?)
}

/// The first two numbers of a version such as `4.18.0-553.el8_10.x86_64`.
fn number(version: &str) -> Option<(u64, u64)> {
    let mut parts = version.trim().split('.');
    let (major, minor) = (parts.next()?, parts.next()?);
    let minor = minor.split(|letter: char| !letter.is_ascii_digit()).next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_two_numbers_that_count() {
        for (text, version) in [
            ("4.18.0-553.el8_10.x86_64", Some((4, 18))),
            ("6.1", Some((6, 1))),
            ("5.4-rc1", Some((5, 4))),
            ("6", None),
            ("", None),
            ("v5.4.0", None),
        ] {
            assert_eq!(number(text), version, "{text}");
        }
    }

    #[test]
    fn a_configuration_says_which_ignition_it_is_for() {
        assert_eq!(ignition_version(r#"{"ignition":{"version":"2.2.0"}}"#), Some((2, 2)));
        assert_eq!(ignition_version(r#"{"ignition":{}}"#), None);
        assert_eq!(ignition_version("ignition: 2"), None);
    }
}
