//! Which channel an operator follows.

use serde::Deserialize;
use serde_json::Value;

use super::super::Operator;

/// What an administrator wants of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// Where the operator is.
    pub namespace: String,
    /// The name of the subscription.
    pub name: String,
    /// The package.
    pub package: String,
    /// Its catalog, as `namespace/name`.
    pub catalog: String,
    /// The channel; `None` for the package's own choice.
    pub channel: Option<String>,
    /// Whether somebody approves every update.
    pub is_manual: bool,
    /// The ClusterServiceVersion that is installed.
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
    /// Reads a Subscription; `None` if it is not about a package.
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

    /// The same wish about another catalog, such as the files that this one is made of.
    #[must_use]
    pub fn in_catalog(&self, catalog: &str) -> Self {
        Self { catalog: catalog.to_owned(), ..self.clone() }
    }

    /// Whether the operator was installed by it.
    pub(super) fn installed(&self, operator: &Operator) -> bool {
        self.namespace == operator.namespace && self.installed.as_deref() == Some(&operator.name)
    }
}
