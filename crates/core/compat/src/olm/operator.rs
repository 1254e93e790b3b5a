//! An installed operator: its ClusterServiceVersion.

use std::collections::BTreeMap;
use std::fmt;

use super::apis::{Needs, Outlook, Prospect, first_loss_after};
use super::catalog::OperatorUpgrade;
use super::{Declaration, Policy, Stream, Verdict};
use crate::Minor;

/// The label of a copy: where the original is.
const COPIED_FROM: &str = "olm.copiedFrom";

/// The annotation that names the namespace of the original, on copies too.
const OPERATOR_NAMESPACE: &str = "olm.operatorNamespace";

/// The reason in the status of a copy.
const COPIED: &str = "Copied";

/// An installed operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// Where it is installed.
    pub namespace: String,
    /// The name of its ClusterServiceVersion.
    pub name: String,
    /// What it declares.
    pub declared: Declaration,
    /// What it declared when it was installed, where a catalog says something else by now.
    pub superseded: Option<Declaration>,
    /// Newer versions of it, the nearest first.
    pub ways_out: Vec<OperatorUpgrade>,
    /// What becomes of the APIs that it uses; `None` where that is not known.
    pub apis: Option<Prospect>,
    /// The first version of Kubernetes without an API that it uses, and what it would miss there,
    /// where nobody knows which version of the platform has that one.
    pub api_loss_ahead: Option<(Minor, Outlook)>,
}

impl Operator {
    /// An operator by the annotations of its ClusterServiceVersion.
    pub fn read(
        namespace: impl Into<String>,
        name: impl Into<String>,
        annotations: &BTreeMap<String, String>,
    ) -> Self {
        let declared = Declaration::read(annotations);
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

    /// With what its catalog says by now. A usable maximum there counts more than what was
    /// declared when the operator was installed; anything else is no news.
    pub fn updated_by(mut self, catalog: &Declaration) -> Self {
        if catalog.maximum().is_some() && catalog.maximum() != self.declared.maximum() {
            let before = std::mem::replace(&mut self.declared, catalog.clone());
            self.superseded.get_or_insert(before);
        }
        self
    }

    /// With what it uses, seen from a running version.
    pub fn using(mut self, needs: &Needs, running: Stream) -> Self {
        self.apis = Prospect::of(needs, running);
        self
    }

    /// With what it uses, seen from a running version of Kubernetes.
    pub fn using_on(mut self, needs: &Needs, kubernetes: Minor) -> Self {
        self.api_loss_ahead = first_loss_after(needs, kubernetes);
        self
    }

    /// The nearest version of it that runs on a target, as far as that is known; otherwise the
    /// nearest one of which nobody knows, for that holds nothing up either.
    pub fn way_out(
        &self,
        policy: Policy,
        running: Stream,
        target: Stream,
    ) -> Option<&OperatorUpgrade> {
        let nearest = |verdict: Verdict| {
            let has =
                |it: &&OperatorUpgrade| policy.verdict(&it.declared, running, target) == verdict;
            self.ways_out.iter().find(has)
        };
        nearest(Verdict::Upgradeable).or_else(|| nearest(Verdict::MayNotRun))
    }
}

/// `namespace/name`
impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Whether a ClusterServiceVersion is a mere copy of one in another namespace. Its status need not
/// be known: OLM marks copies in their metadata as well.
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
    use super::super::{MAXIMUM_ANNOTATION, Origin, Stream};
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn copies_are_known_by_any_of_their_marks() {
        let none = map(&[]);
        assert!(!is_copied("ns", &none, &none, None));
        assert!(!is_copied("ns", &none, &none, Some("InstallSucceeded")));
        assert!(!is_copied("ns", &none, &map(&[(OPERATOR_NAMESPACE, "ns")]), None));
        assert!(is_copied("ns", &none, &none, Some("Copied")));
        assert!(is_copied("ns", &map(&[(COPIED_FROM, "")]), &none, None));
        assert!(is_copied("ns", &none, &map(&[(OPERATOR_NAMESPACE, "other")]), None));
    }

    #[test]
    fn a_catalog_has_the_last_word_where_it_has_one() {
        let declared =
            |maximum: &str| Operator::read("ns", "etcd.v1", &map(&[(MAXIMUM_ANNOTATION, maximum)]));
        let catalog = |major, minor| {
            Declaration::Maximum(Stream::new(major, minor), Origin::Catalog("ns/main".to_owned()))
        };
        for before in ["4.6", "4.x"] {
            let operator = declared(before);
            let updated = operator.clone().updated_by(&catalog(4, 7));
            assert_eq!(updated.declared, catalog(4, 7));
            assert_eq!(updated.superseded, Some(operator.declared));
        }
        let lowered = declared("4.9").updated_by(&catalog(4, 7));
        assert_eq!(lowered.declared.maximum(), Some(Stream::new(4, 7)));
        for no_news in [Declaration::Missing, catalog(4, 6)] {
            assert_eq!(declared("4.6").updated_by(&no_news), declared("4.6"));
        }
    }
}
