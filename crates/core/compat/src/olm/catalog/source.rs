//! Where a package is: several catalogs of a cluster may have one of its name.

use super::super::is_object_name;
use super::{Package, Subscription};

/// Bytes of a name that can be asked for by a label.
const MAX_LABEL: usize = 63;

/// A package of a certain catalog, as a cluster can be asked for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// The namespace of the catalog.
    pub namespace: String,
    /// The catalog.
    pub catalog: String,
    /// The package.
    pub package: String,
}

impl Source {
    /// What somebody subscribes to; `None` if no package can have that name. Subscriptions hold free
    /// text, and a name must not become a part of a path.
    pub fn of(subscription: &Subscription) -> Option<Self> {
        let (namespace, catalog) = subscription.catalog.split_once('/')?;
        let package = &subscription.package;
        let is_label = |text: &str| text.len() <= MAX_LABEL && is_object_name(text);
        let is_legal = is_label(namespace) && is_label(catalog) && is_object_name(package);
        is_legal.then(|| Self {
            namespace: namespace.to_owned(),
            catalog: catalog.to_owned(),
            package: package.clone(),
        })
    }

    /// The labels of its PackageManifest.
    pub fn labels(&self) -> String {
        format!("catalog={},catalog-namespace={}", self.catalog, self.namespace)
    }

    /// The fields of its PackageManifest.
    pub fn fields(&self) -> String {
        format!("metadata.name={}", self.package)
    }

    /// Whether a package is this one.
    pub fn has(&self, package: &Package) -> bool {
        let catalog = format!("{}/{}", self.namespace, self.catalog);
        package.catalog == catalog && package.name == self.package
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn source(namespace: &str, catalog: &str, package: &str) -> Option<Source> {
        let subscription = json!({
            "metadata": {"namespace": "team", "name": "etcd"},
            "spec": {"name": package, "source": catalog, "sourceNamespace": namespace},
        });
        Source::of(&Subscription::read(&subscription).unwrap())
    }

    #[test]
    fn a_package_is_asked_for_by_its_catalog() {
        let asked = source("market", "community", "etcd.operator").unwrap();
        assert_eq!(asked.labels(), "catalog=community,catalog-namespace=market");
        assert_eq!(asked.fields(), "metadata.name=etcd.operator");
        assert!(asked.has(&Package::new("market/community", "etcd.operator")));
        assert!(!asked.has(&Package::new("market/certified", "etcd.operator")));
    }

    #[test]
    fn what_is_no_name_is_not_asked_for() {
        let long = "a".repeat(MAX_LABEL + 1);
        for (namespace, catalog, package) in [
            ("market", "main", "a/b"),
            ("market", "main", "a b"),
            ("market", "main", "../a"),
            ("market", "main", "a?b"),
            ("market", "main", "-a"),
            ("market", "main", "a..b"),
            ("market", "", "a"),
            ("", "main", "a"),
            ("market", "main,other", "a"),
            ("market", &long, "a"),
        ] {
            assert_eq!(
                source(namespace, catalog, package),
                None,
                "{namespace} {catalog} {package}"
            );
        }
    }
}
