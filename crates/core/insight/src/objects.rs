//! What is read of nodes and of the machine configuration; everything else is skipped.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::{Deserialize, Deserializer};

/// What all objects have.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// The name.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// The labels.
    #[serde(deserialize_with = "or_default")]
    pub labels: BTreeMap<String, String>,
    /// The annotations.
    #[serde(deserialize_with = "or_default")]
    pub annotations: BTreeMap<String, String>,
}

impl Metadata {
    /// An annotation; an empty one is none.
    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// A node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Node {
    /// Its name, labels and annotations.
    pub metadata: Metadata,
    /// What is asked of it.
    #[serde(deserialize_with = "or_default")]
    pub spec: NodeSpec,
    /// What it says.
    #[serde(deserialize_with = "or_default")]
    pub status: NodeStatus,
}

/// What is asked of a node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NodeSpec {
    /// Whether it gets no new pods.
    #[serde(deserialize_with = "or_default")]
    pub unschedulable: bool,
}

/// What a node says.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NodeStatus {
    /// What holds for it.
    #[serde(deserialize_with = "or_default")]
    pub conditions: Vec<NodeCondition>,
}

/// Something that holds for a node or not.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeCondition {
    /// What it is about.
    #[serde(rename = "type")]
    pub type_: String,
    /// Whether it holds.
    pub status: String,
    /// The explanation.
    #[serde(deserialize_with = "or_default")]
    pub message: String,
    /// Since when.
    pub last_transition_time: Option<Timestamp>,
}

/// Nodes that are configured alike.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct MachineConfigPool {
    /// Its name, labels and annotations.
    pub metadata: Metadata,
    /// What is asked of it.
    #[serde(deserialize_with = "or_default")]
    pub spec: MachineConfigPoolSpec,
}

/// What is asked of a pool.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineConfigPoolSpec {
    /// Whether its nodes stay as they are.
    #[serde(deserialize_with = "or_default")]
    pub paused: bool,
    /// Which nodes are in it.
    pub node_selector: Option<LabelSelector>,
    /// The configuration that its nodes are to have.
    #[serde(deserialize_with = "or_default")]
    pub configuration: ConfigurationReference,
}

/// The configuration of a pool, by name.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ConfigurationReference {
    /// Its name.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
}

/// A configuration of nodes, which belongs to a release.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct MachineConfig {
    /// Its name and annotations.
    pub metadata: Metadata,
}

/// A Deployment, as far as the images of its containers.
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
    /// The image of the container of that name.
    pub fn image_of(self, container: &str) -> Option<String> {
        let containers = self.spec.template.spec.containers.into_iter();
        containers.filter(|one| one.name == container).map(|one| one.image).next()
    }
}

/// What is `null` is as if it were not there.
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
    fn half_an_object_is_read_and_the_rest_is_skipped() {
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
    fn the_image_of_one_container_is_found() {
        let json = r#"{"spec": {"template": {"spec": {"containers": [
            {"name": "proxy", "image": "a"}, {"name": "operator", "image": "b"}]}}}}"#;
        let deployment: Deployment = serde_json::from_str(json).unwrap();
        assert_eq!(deployment.clone().image_of("operator").as_deref(), Some("b"));
        assert_eq!(deployment.image_of("other"), None);
    }
}
