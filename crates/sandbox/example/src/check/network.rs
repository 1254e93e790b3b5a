//! Check: the release supports dual-stack networks.

use std::net::IpAddr;

use fairway_check::{CannotTell, Check, Context, Finding};

use super::{cluster_value, release_value};

const NAMESPACE: &str = "openshift-network";

/// The check of the network operator.
#[derive(Clone, Copy, Debug)]
pub struct Network;

impl Check for Network {
    fn name(&self) -> &'static str {
        "network"
    }

    async fn run(&self, context: &Context) -> Result<Vec<Finding>, CannotTell> {
        let support = release_value(context, NAMESPACE, "network-requirements", "dual-stack")?;
        let Some(support) = support else { return Ok(Vec::new()) };
        let networks =
            cluster_value(context, NAMESPACE, "network-config", "cluster-networks").await?;
        if !is_dual_stack(&networks.unwrap_or_default())? {
            return Ok(Vec::new());
        }
        Ok(finding(&support, &context.target().to_string()).into_iter().collect())
    }
}

/// The finding for a dual-stack cluster if the release has removed or deprecated dual stack.
fn finding(support: &str, target: &str) -> Option<Finding> {
    let finding = match support {
        "deprecated" => Finding::info(
            "NetworkingDualStackDeprecated",
            format!(
                "Dual-stack networking configuration will be deprecated in {target}. Migration to \
                 single-stack recommended."
            ),
        ),
        "removed" => Finding::critical(
            "DualStackIncompatible",
            format!("Cluster uses dual-stack networking configuration incompatible with {target}."),
        ),
        _ => return None,
    };
    let remediation = "Keep one network in `cluster-networks`: `kubectl -n openshift-network edit \
                       configmap network-config`";
    Some(finding.remediation(remediation).url("https://platform.example/network/dual-stack"))
}

/// Whether a comma-separated list of networks contains IPv4 and IPv6.
fn is_dual_stack(networks: &str) -> Result<bool, CannotTell> {
    let (mut four, mut six) = (false, false);
    for network in networks.split(',').map(str::trim).filter(|network| !network.is_empty()) {
        let address = network.split_once('/').and_then(|(address, _)| address.parse().ok());
        match address {
            Some(IpAddr::V4(_)) => four = true,
            Some(IpAddr::V6(_)) => six = true,
            None => {
                let why = format!("{network:?} in ConfigMap network-config is not a network");
                return Err(CannotTell::because(why));
            }
        }
    }
    Ok(four && six)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_dual_stack_requires_both_ip_families() {
        for (networks, dual) in [
            ("", false),
            ("10.128.0.0/14", false),
            ("fd01::/48", false),
            ("10.128.0.0/14,10.132.0.0/14", false),
            ("10.128.0.0/14, fd01::/48,", true),
        ] {
            assert_eq!(is_dual_stack(networks), Ok(dual), "{networks}");
        }
        let error = is_dual_stack("10.128.0.0/14,everything").unwrap_err();
        insta::assert_snapshot!(error, @r#""everything" in ConfigMap network-config is not a network"#);
    }
}
