//! Subscriptions to packages.

use serde::Deserialize;
use serde_json::Value;

use super::super::OlmOperator;
use super::Package;

/// A Subscription of OLM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// Namespace of the operator.
    pub namespace: String,
    /// Name of the Subscription.
    pub name: String,
    /// Name of the package.
    pub package: String,
    /// The catalog, as `namespace/name`.
    pub catalog: String,
    /// Channel; `None` for the default channel.
    pub channel: Option<String>,
    /// Whether install plans require manual approval.
    pub is_manual: bool,
    /// Installed ClusterServiceVersion.
    pub installed: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    name: String,
    source: String,
    source_namespace: String,
    channel: Option<String>,
    install_plan_approval: Option<String>,
}

impl Subscription {
    /// Reads a Subscription; `None` if it has no package.
    pub fn read(object: &Value) -> Option<Self> {
        let text = |pointer: &str| Some(object.pointer(pointer)?.as_str()?.to_owned());
        let spec = Spec::deserialize(object.get("spec")?).ok()?;
        Some(Self {
            namespace: text("/metadata/namespace")?,
            name: text("/metadata/name")?,
            package: Some(spec.name).filter(|name| !name.is_empty())?,
            catalog: format!("{}/{}", spec.source_namespace, spec.source),
            channel: spec.channel.filter(|name| !name.is_empty()),
            is_manual: spec.install_plan_approval.as_deref() == Some("Manual"),
            installed: text("/status/installedCSV"),
        })
    }

    /// The same subscription with another catalog, such as the files of its catalog.
    #[must_use]
    pub fn in_catalog(&self, catalog: &str) -> Self {
        Self { catalog: catalog.to_owned(), ..self.clone() }
    }

    /// Whether this subscription installed the operator.
    pub(super) fn installed(&self, operator: &OlmOperator) -> bool {
        self.namespace == operator.namespace && self.installed.as_deref() == Some(&operator.name)
    }
}

/// Bytes of a label value.
const MAX_LABEL_BYTES: usize = 63;

/// A package of a catalog, for queries of PackageManifests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PackageSource {
    /// Namespace of the catalog.
    pub namespace: String,
    /// Name of the catalog.
    pub catalog: String,
    /// Name of the package.
    pub package: String,
}

impl PackageSource {
    /// The source of a subscription; `None` if a name is invalid. Subscriptions contain free text,
    /// which must not become a part of a URL path.
    pub fn from_subscription(subscription: &Subscription) -> Option<Self> {
        let (namespace, catalog) = subscription.catalog.split_once('/')?;
        let package = &subscription.package;
        let is_label = |text: &str| text.len() <= MAX_LABEL_BYTES && is_object_name(text);
        let is_legal = is_label(namespace) && is_label(catalog) && is_object_name(package);
        is_legal.then(|| Self {
            namespace: namespace.to_owned(),
            catalog: catalog.to_owned(),
            package: package.clone(),
        })
    }

    /// Label selector of its PackageManifest.
    pub fn labels(&self) -> String {
        format!("catalog={},catalog-namespace={}", self.catalog, self.namespace)
    }

    /// Field selector of its PackageManifest.
    pub fn fields(&self) -> String {
        format!("metadata.name={}", self.package)
    }

    /// Whether a package is from this source.
    pub fn has(&self, package: &Package) -> bool {
        let catalog = format!("{}/{}", self.namespace, self.catalog);
        package.catalog == catalog && package.name == self.package
    }
}

/// Maximum length of a name.
const MAX_NAME_BYTES: usize = 253;

/// Whether a text is a DNS subdomain name.
pub fn is_object_name(text: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |part: &str| {
        let ends = [part.bytes().next(), part.bytes().next_back()];
        ends.into_iter().all(|byte| byte.is_some_and(is_legal))
            && part.bytes().all(|byte| is_legal(byte) || byte == b'-')
    };
    text.len() <= MAX_NAME_BYTES && text.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn source(namespace: &str, catalog: &str, package: &str) -> Option<PackageSource> {
        let subscription = json!({
            "metadata": {"namespace": "team", "name": "etcd"},
            "spec": {"name": package, "source": catalog, "sourceNamespace": namespace},
        });
        PackageSource::from_subscription(&Subscription::read(&subscription).unwrap())
    }

    #[test]
    fn source_has_selectors() {
        let found = source("market", "community", "etcd.operator").unwrap();
        assert_eq!(found.labels(), "catalog=community,catalog-namespace=market");
        assert_eq!(found.fields(), "metadata.name=etcd.operator");
        assert!(found.has(&Package::new("market/community", "etcd.operator")));
        assert!(!found.has(&Package::new("market/certified", "etcd.operator")));
    }

    #[test]
    fn source_with_invalid_name_is_none() {
        let long = "a".repeat(MAX_LABEL_BYTES + 1);
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

    #[test]
    fn object_names_are_path_safe() {
        let longest = "a".repeat(MAX_NAME_BYTES);
        for name in ["etcd", "etcd.v1.0.0", "0-0", &longest] {
            assert!(is_object_name(name), "{name}");
        }
        let too_long = "a".repeat(MAX_NAME_BYTES + 1);
        for name in ["", ".", "..", "a/b", "../secrets/a", "a?b", "a%2fb", "A", "a b", &too_long] {
            assert!(!is_object_name(name), "{name}");
        }
    }
}
