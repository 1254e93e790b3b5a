//! Admission of new operators.

use super::{ClusterVersions, MaximumVersion, MinorVersion, OlmOperator};

/// Whether an operator may be installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstallDecision {
    /// The installation is allowed.
    Allowed,
    /// The operator does not support this cluster version.
    Refused {
        /// Maximum version that the operator supports.
        maximum: MinorVersion,
        /// Version of the cluster.
        cluster: MinorVersion,
    },
}

/// Whether an operator may be installed on a cluster. It is refused only if the operator declares
/// that it does not support the version. A cluster without ClusterVersion is not restricted.
pub fn decide(declared: &MaximumVersion, cluster: &ClusterVersions) -> InstallDecision {
    cluster.highest().map_or(InstallDecision::Allowed, |cluster| decide_for(declared, cluster))
}

/// Whether an operator may be installed on a cluster version.
pub fn decide_for(declared: &MaximumVersion, cluster: MinorVersion) -> InstallDecision {
    match declared.maximum() {
        Some(maximum) if maximum < cluster => InstallDecision::Refused { maximum, cluster },
        _ => InstallDecision::Allowed,
    }
}

/// Message of a refusal; `None` if the installation is allowed.
pub fn refusal(operator: &OlmOperator, cluster: &ClusterVersions) -> Option<String> {
    match decide(&operator.declared, cluster) {
        InstallDecision::Allowed => None,
        InstallDecision::Refused { maximum, cluster } => Some(format!(
            "the operator {operator} supports OpenShift up to {maximum}, but this cluster runs \
             {cluster}: choose a version of the operator that supports {cluster}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fairway_api::Version;

    use super::super::MAXIMUM_ANNOTATION;
    use super::*;

    fn operator(maximum: Option<&str>) -> OlmOperator {
        let annotation = maximum.map(|it| (MAXIMUM_ANNOTATION.to_owned(), it.to_owned()));
        OlmOperator::read("team", "etcd.v1.2.0", &BTreeMap::from_iter(annotation))
    }

    fn cluster(desired: &str, completed: &str) -> ClusterVersions {
        let read = |text: &str| Version::parse(text).ok();
        ClusterVersions { desired: read(desired), completed: read(completed) }
    }

    #[test]
    fn install_above_maximum_version_is_refused() {
        for (maximum, desired, completed, may) in [
            (Some("4.8"), "4.8.9", "4.8.9", true),
            (Some("4.8"), "4.7.0", "4.7.0", true),
            (Some("4.8"), "4.9.0", "4.9.0", false),
            (Some("4.8"), "4.9.0-rc.1", "4.9.0-rc.1", false),
            (Some("4.10"), "4.9.0", "4.9.0", true),
            // A part of the cluster has the other version.
            (Some("4.8"), "4.9.0", "4.8.9", false),
            (Some("4.8"), "4.8.9", "4.9.0", false),
            (Some("4.23"), "5.0.1", "5.0.1", true),
            (Some("4.23"), "5.1.0", "5.1.0", false),
            // Clusters without ClusterVersion.
            (Some("4.8"), "", "", true),
            (None, "4.9.0", "4.9.0", true),
            (None, "", "", true),
            (Some("4.x"), "4.9.0", "4.9.0", true),
        ] {
            let refusal = refusal(&operator(maximum), &cluster(desired, completed));
            assert_eq!(refusal.is_none(), may, "{maximum:?} on {desired} and {completed}");
        }
    }

    #[test]
    fn refusal_names_remediation() {
        let message = refusal(&operator(Some("4.8")), &cluster("4.9.0", "4.9.0")).unwrap();
        insta::assert_snapshot!(message, @"the operator team/etcd.v1.2.0 supports OpenShift up to 4.8, but this cluster runs 4.9: choose a version of the operator that supports 4.9");
    }
}
