//! Fields of nodes and machine configuration that reports use. Other fields are skipped.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::{Deserialize, Deserializer};

/// Object metadata.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// Name.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Labels.
    #[serde(deserialize_with = "or_default")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(deserialize_with = "or_default")]
    pub annotations: BTreeMap<String, String>,
}

impl Metadata {
    /// Value of an annotation, `None` if it is empty.
    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// Node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Node {
    /// Metadata.
    pub metadata: Metadata,
    /// Spec.
    #[serde(deserialize_with = "or_default")]
    pub spec: NodeSpec,
    /// Status.
    #[serde(deserialize_with = "or_default")]
    pub status: NodeStatus,
}

/// Spec of a node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NodeSpec {
    /// Whether the node is cordoned.
    #[serde(deserialize_with = "or_default")]
    pub unschedulable: bool,
}

/// Status of a node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NodeStatus {
    /// Conditions.
    #[serde(deserialize_with = "or_default")]
    pub conditions: Vec<NodeCondition>,
}

/// Condition of a node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeCondition {
    /// Type.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Human-readable details.
    #[serde(deserialize_with = "or_default")]
    pub message: String,
    /// Time of the latest change of `status`.
    pub last_transition_time: Option<Timestamp>,
}

/// `MachineConfigPool`: nodes with one configuration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct MachineConfigPool {
    /// Metadata.
    pub metadata: Metadata,
    /// Spec.
    #[serde(deserialize_with = "or_default")]
    pub spec: MachineConfigPoolSpec,
}

/// Spec of a pool.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineConfigPoolSpec {
    /// Whether updates of the nodes are paused.
    #[serde(deserialize_with = "or_default")]
    pub paused: bool,
    /// Selector of the nodes.
    pub node_selector: Option<LabelSelector>,
    /// Desired configuration of the nodes.
    #[serde(deserialize_with = "or_default")]
    pub configuration: ConfigurationReference,
}

/// Reference to a `MachineConfig`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ConfigurationReference {
    /// Name.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
}

/// `MachineConfig` of a release.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct MachineConfig {
    /// Metadata.
    pub metadata: Metadata,
}

/// Deployment, with the images of its containers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Deployment {
    #[serde(deserialize_with = "or_default")]
    spec: DeploymentSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct DeploymentSpec {
    #[serde(deserialize_with = "or_default")]
    template: PodTemplate,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct PodTemplate {
    #[serde(deserialize_with = "or_default")]
    spec: PodSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct PodSpec {
    #[serde(deserialize_with = "or_default")]
    containers: Vec<Container>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Container {
    #[serde(deserialize_with = "or_default")]
    name: String,
    #[serde(deserialize_with = "or_default")]
    image: String,
}

impl Deployment {
    /// Image of a container.
    pub fn image_of(self, container: &str) -> Option<String> {
        let containers = self.spec.template.spec.containers.into_iter();
        containers.filter(|one| one.name == container).map(|one| one.image).next()
    }
}

/// Reads `null` as the default value.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deserialize_partial_object_uses_defaults() {
        let json = r#"{"metadata": {"name": "a", "labels": null, "annotations": {"x": ""}, "uid": 7},
            "spec": null, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}"#;
        let node: Node = serde_json::from_str(json).unwrap();
        assert_eq!((node.metadata.name.as_str(), node.metadata.annotation("x")), ("a", None));
        assert_eq!(node.status.conditions[0].last_transition_time, None);
        let pool: MachineConfigPool =
            serde_json::from_str(r#"{"spec": {"paused": null}}"#).unwrap();
        assert!(!pool.spec.paused && pool.spec.node_selector.is_none());
    }

    #[test]
    fn image_of_returns_image_of_named_container() {
        let json = r#"{"spec": {"template": {"spec": {"containers": [
            {"name": "proxy", "image": "a"}, {"name": "operator", "image": "b"}]}}}}"#;
        let deployment: Deployment = serde_json::from_str(json).unwrap();
        assert_eq!(deployment.clone().image_of("operator").as_deref(), Some("b"));
        assert_eq!(deployment.image_of("other"), None);
    }
}
