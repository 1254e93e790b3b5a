//! Why Pods of checks are not let in, in words that somebody can act on.

use fairway_findings::vet::Network;
use fairway_findings::{CheckStatus, Document};

/// What lets Pods on the network of their node in, where `PodSecurity` is enforced.
const ON_HOST_NETWORK: &str = "--preflight-check-network=host requires the label \
     pod-security.kubernetes.io/enforce=privileged on the namespace openshift-cluster-version-preflight";

/// What lets Pods in on OpenShift.
const ON_OPENSHIFT: &str = "apply the SecurityContextConstraints of deploy/operator/openshift.yaml";

/// Says what to do about Pods that were refused. Those who run in them do not know how the cluster
/// is set up.
pub fn explain(document: &mut Document, network: Network) {
    for check in &mut document.checks {
        let hint = match check.status {
            CheckStatus::NotStarted => hint(&check.message, network),
            _ => None,
        };
        if let Some(hint) = hint {
            check.message = format!("{}; {hint}", check.message);
        }
    }
}

fn hint(refusal: &str, network: Network) -> Option<&'static str> {
    if refusal.contains("PodSecurity") && network == Network::Host {
        Some(ON_HOST_NETWORK)
    } else if refusal.contains("security context constraint") {
        Some(ON_OPENSHIFT)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use fairway_findings::CheckReport;

    use super::*;

    #[test]
    fn who_is_refused_is_told_what_to_do() {
        let restricted = r#"cannot create its pod: violates PodSecurity "restricted:latest""#;
        let constraints = "unable to validate against any security context constraint: []";
        let told: Vec<String> = [
            (restricted, Network::Host, CheckStatus::NotStarted),
            (restricted, Network::Pod, CheckStatus::NotStarted),
            (constraints, Network::Pod, CheckStatus::NotStarted),
            (constraints, Network::Pod, CheckStatus::Failed),
            ("exceeded quota", Network::Host, CheckStatus::NotStarted),
        ]
        .into_iter()
        .map(|(message, network, status)| {
            let message = message.to_owned();
            let checks = vec![CheckReport { status, message, ..CheckReport::default() }];
            let mut document = Document { checks, ..Document::default() };
            explain(&mut document, network);
            document.checks.remove(0).message
        })
        .collect();
        insta::assert_snapshot!(told.join("\n"), @r#"
        cannot create its pod: violates PodSecurity "restricted:latest"; --preflight-check-network=host requires the label pod-security.kubernetes.io/enforce=privileged on the namespace openshift-cluster-version-preflight
        cannot create its pod: violates PodSecurity "restricted:latest"
        unable to validate against any security context constraint: []; apply the SecurityContextConstraints of deploy/operator/openshift.yaml
        unable to validate against any security context constraint: []
        exceeded quota
        "#);
    }
}
