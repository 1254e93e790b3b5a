//! Installed operators.

use std::collections::BTreeMap;
use std::fmt;

use super::apis::{ApiAvailability, ApiForecast, ApiUsage, first_loss_after};
use super::catalog::OperatorUpgrade;
use super::{MaximumVersion, MinorVersion, OlmPolicy, OperatorVerdict};
use crate::KubernetesMinor;

/// Label of copied ClusterServiceVersions.
const COPIED_FROM: &str = "olm.copiedFrom";

/// Annotation with the namespace of the original.
const OPERATOR_NAMESPACE: &str = "olm.operatorNamespace";

/// Status reason of copied ClusterServiceVersions.
const COPIED: &str = "Copied";

/// An installed operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OlmOperator {
    /// Namespace of the operator.
    pub namespace: String,
    /// Name of its ClusterServiceVersion.
    pub name: String,
    /// Declared maximum version.
    pub declared: MaximumVersion,
    /// Declaration at installation time, if the catalog has a different one now.
    pub superseded: Option<MaximumVersion>,
    /// Newer versions, nearest first.
    pub ways_out: Vec<OperatorUpgrade>,
    /// Availability of its APIs; `None` if unknown.
    pub apis: Option<ApiForecast>,
    /// First Kubernetes version without an API that it uses, if the cluster version with that
    /// Kubernetes is unknown.
    pub api_loss_ahead: Option<(KubernetesMinor, ApiAvailability)>,
}

impl OlmOperator {
    /// An operator with the annotations of its ClusterServiceVersion.
    pub fn read(
        namespace: impl Into<String>,
        name: impl Into<String>,
        annotations: &BTreeMap<String, String>,
    ) -> Self {
        let declared = MaximumVersion::read(annotations);
        Self {
            namespace: namespace.into(),
            name: name.into(),
            declared,
            superseded: None,
            ways_out: Vec::new(),
            apis: None,
            api_loss_ahead: None,
        }
    }

    /// Replaces the declaration with a valid one of the catalog.
    pub fn updated_by(mut self, catalog: &MaximumVersion) -> Self {
        if catalog.maximum().is_some() && catalog.maximum() != self.declared.maximum() {
            let before = std::mem::replace(&mut self.declared, catalog.clone());
            self.superseded.get_or_insert(before);
        }
        self
    }

    /// Sets the availability of its APIs, computed from the running cluster version.
    pub fn using(mut self, usage: &ApiUsage, running: MinorVersion) -> Self {
        self.apis = ApiForecast::new(usage, running);
        self
    }

    /// Sets the first missing API, computed from the running Kubernetes version.
    pub fn using_on(mut self, usage: &ApiUsage, kubernetes: KubernetesMinor) -> Self {
        self.api_loss_ahead = first_loss_after(usage, kubernetes);
        self
    }

    /// The nearest version that supports a target, otherwise the nearest one without a declaration,
    /// which does not block updates either.
    pub fn nearest_upgrade(
        &self,
        policy: OlmPolicy,
        running: MinorVersion,
        target: MinorVersion,
    ) -> Option<&OperatorUpgrade> {
        let nearest = |verdict: OperatorVerdict| {
            let has =
                |it: &&OperatorUpgrade| policy.verdict(&it.declared, running, target) == verdict;
            self.ways_out.iter().find(has)
        };
        nearest(OperatorVerdict::Upgradeable).or_else(|| nearest(OperatorVerdict::MayNotRun))
    }
}

/// `namespace/name`
impl fmt::Display for OlmOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Whether a ClusterServiceVersion is a copy of one in another namespace. The status is optional,
/// because OLM also marks copies in their metadata.
pub fn is_copied(
    namespace: &str,
    labels: &BTreeMap<String, String>,
    annotations: &BTreeMap<String, String>,
    status_reason: Option<&str>,
) -> bool {
    let elsewhere = annotations.get(OPERATOR_NAMESPACE).is_some_and(|of| of != namespace);
    status_reason == Some(COPIED) || labels.contains_key(COPIED_FROM) || elsewhere
}

#[cfg(test)]
mod tests {
    use super::super::{DeclarationSource, MAXIMUM_ANNOTATION, MinorVersion};
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn is_copied_checks_all_marks() {
        let none = map(&[]);
        assert!(!is_copied("ns", &none, &none, None));
        assert!(!is_copied("ns", &none, &none, Some("InstallSucceeded")));
        assert!(!is_copied("ns", &none, &map(&[(OPERATOR_NAMESPACE, "ns")]), None));
        assert!(is_copied("ns", &none, &none, Some("Copied")));
        assert!(is_copied("ns", &map(&[(COPIED_FROM, "")]), &none, None));
        assert!(is_copied("ns", &none, &map(&[(OPERATOR_NAMESPACE, "other")]), None));
    }

    #[test]
    fn valid_catalog_declaration_wins() {
        let declared = |maximum: &str| {
            OlmOperator::read("ns", "etcd.v1", &map(&[(MAXIMUM_ANNOTATION, maximum)]))
        };
        let catalog = |major, minor| {
            MaximumVersion::Maximum(
                MinorVersion::new(major, minor),
                DeclarationSource::Catalog("ns/main".to_owned()),
            )
        };
        for before in ["4.6", "4.x"] {
            let operator = declared(before);
            let updated = operator.clone().updated_by(&catalog(4, 7));
            assert_eq!(updated.declared, catalog(4, 7));
            assert_eq!(updated.superseded, Some(operator.declared));
        }
        let lowered = declared("4.9").updated_by(&catalog(4, 7));
        assert_eq!(lowered.declared.maximum(), Some(MinorVersion::new(4, 7)));
        for no_news in [MaximumVersion::Missing, catalog(4, 6)] {
            assert_eq!(declared("4.6").updated_by(&no_news), declared("4.6"));
        }
    }
}
