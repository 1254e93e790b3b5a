//! Check: the release supports the machine configurations and kernels of the cluster.

use fairway_check::{CannotTell, Check, Context, Finding};
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use serde_json::Value;

use super::release_value;

const NAMESPACE: &str = "openshift-machine-config";

/// ConfigMap with the requirements of the release.
const REQUIREMENTS: &str = "machine-config-requirements";

/// Label of `ConfigMaps` with a machine configuration.
const LABEL: &str = "platform.example/machine-config";

/// Key of the configuration.
const CONFIG: &str = "config";

/// Maximum number of minor versions between source and target; older releases stored configurations
/// elsewhere.
const MAX_MINORS_BEHIND: u64 = 2;

/// The check of the machine-config operator.
#[derive(Clone, Copy, Debug)]
pub struct MachineConfig;

impl Check for MachineConfig {
    fn name(&self) -> &'static str {
        "machine-config"
    }

    async fn run(&self, context: &Context) -> Result<Vec<Finding>, CannotTell> {
        context.skew().at_most(MAX_MINORS_BEHIND)?;
        let mut findings = Vec::new();
        // An error of one part must not hide the result of the other.
        for answer in [ignition(context).await, kernels(context).await] {
            match answer {
                Ok(finding) => findings.extend(finding),
                Err(why) => findings.push(context.unknown(&why)),
            }
        }
        Ok(findings)
    }
}

async fn ignition(context: &Context) -> Result<Vec<Finding>, CannotTell> {
    let minimum = release_value(context, NAMESPACE, REQUIREMENTS, "minimum-ignition")?;
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
    let finding = ignition_finding(&old, &context.target().to_string());
    let why = || format!("not valid Ignition configurations: {}", broken.join(", "));
    Ok(all(context, finding, (!broken.is_empty()).then(why)))
}

/// The finding, and an uncertain finding for objects that could not be evaluated.
fn all(context: &Context, finding: Option<Finding>, uncertain: Option<String>) -> Vec<Finding> {
    let uncertain = uncertain.map(|why| context.unknown(&CannotTell::because(why)));
    finding.into_iter().chain(uncertain).collect()
}

fn ignition_finding(old: &[String], target: &str) -> Option<Finding> {
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
    let minimum = release_value(context, NAMESPACE, REQUIREMENTS, "minimum-kernel")?;
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
    let finding = old.map(|kernel| kernel_finding(&kernel, &context.target().to_string()));
    let why = unknown.map(|node| format!("node {node} reports no kernel version"));
    Ok(all(context, finding, why))
}

fn kernel_finding(kernel: &str, target: &str) -> Finding {
    let message = format!(
        "Current kernel version {kernel} may have performance degradation with {target} container \
         runtime."
    );
    Finding::warning("MachineConfigKernelVersionMismatch", message)
        .remediation("Update the operating system of the nodes: `kubectl get nodes -o wide`")
        .url("https://platform.example/machines/kernel")
}

/// The version of an Ignition configuration.
fn ignition_version(config: &str) -> Option<(u64, u64)> {
    let config: Value = serde_json::from_str(config).ok()?;
    number(config["ignition"]["version"].as_str()?)
}

/// Major and minor number of a version such as `4.18.0-553.el8_10.x86_64`.
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
    fn number_parses_major_and_minor() {
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
    fn ignition_version_reads_configuration() {
        assert_eq!(ignition_version(r#"{"ignition":{"version":"2.2.0"}}"#), Some((2, 2)));
        assert_eq!(ignition_version(r#"{"ignition":{}}"#), None);
        assert_eq!(ignition_version("ignition: 2"), None);
    }
}
