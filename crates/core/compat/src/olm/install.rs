//! Whether an operator may be installed on a cluster.

use super::{ClusterVersions, Declaration, Operator, Stream};

/// Whether an operator may be installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may.
    Allowed,
    /// It does not run on this version of the platform.
    Refused {
        /// Up to which version it runs.
        maximum: Stream,
        /// The version of the cluster.
        cluster: Stream,
    },
}

/// Whether an operator that declares something may be installed on a cluster: unless it is known
/// not to run there, it may. A cluster without versions is plain Kubernetes, and none of our
/// business.
pub fn decide(declared: &Declaration, cluster: &ClusterVersions) -> Decision {
    cluster.highest().map_or(Decision::Allowed, |cluster| decide_for(declared, cluster))
}

/// The same for one version of the platform.
pub fn decide_for(declared: &Declaration, cluster: Stream) -> Decision {
    match declared.maximum() {
        Some(maximum) if maximum < cluster => Decision::Refused { maximum, cluster },
        _ => Decision::Allowed,
    }
}

/// What whoever tried to install it is told; `None` if it may be installed.
pub fn refusal(operator: &Operator, cluster: &ClusterVersions) -> Option<String> {
    match decide(&operator.declared, cluster) {
        Decision::Allowed => None,
        Decision::Refused { maximum, cluster } => Some(format!(
            "the operator {operator} supports OpenShift up to {maximum}, and this cluster runs \
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

    fn operator(maximum: Option<&str>) -> Operator {
        let annotation = maximum.map(|it| (MAXIMUM_ANNOTATION.to_owned(), it.to_owned()));
        Operator::read("team", "etcd.v1.2.0", &BTreeMap::from_iter(annotation))
    }

    fn cluster(desired: &str, completed: &str) -> ClusterVersions {
        let read = |text: &str| Version::parse(text).ok();
        ClusterVersions { desired: read(desired), completed: read(completed) }
    }

    #[test]
    fn installing() {
        for (maximum, desired, completed, may) in [
            (Some("4.8"), "4.8.9", "4.8.9", true),
            (Some("4.8"), "4.7.0", "4.7.0", true),
            (Some("4.8"), "4.9.0", "4.9.0", false),
            (Some("4.8"), "4.9.0-rc.1", "4.9.0-rc.1", false),
            (Some("4.10"), "4.9.0", "4.9.0", true),
            // Half of the cluster has the other version.
            (Some("4.8"), "4.9.0", "4.8.9", false),
            (Some("4.8"), "4.8.9", "4.9.0", false),
            (Some("4.23"), "5.0.1", "5.0.1", true),
            (Some("4.23"), "5.1.0", "5.1.0", false),
            // Plain Kubernetes.
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
    fn a_refusal_says_what_to_do() {
        let told = refusal(&operator(Some("4.8")), &cluster("4.9.0", "4.9.0")).unwrap();
        insta::assert_snapshot!(told, @"the operator team/etcd.v1.2.0 supports OpenShift up to 4.8, and this cluster runs 4.9: choose a version of the operator that supports 4.9");
    }
}
