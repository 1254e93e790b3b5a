//! ClusterOperator: status of a component.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema::{even_null, keys};
use crate::{OperatorCondition, UnknownFields};

/// ClusterOperator has no configuration.
#[allow(clippy::duplicated_attributes, reason = "every printed column has a type")]
#[derive(CustomResource, JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "config.openshift.io",
    version = "v1",
    kind = "ClusterOperator",
    plural = "clusteroperators",
    shortname = "co",
    status = "ClusterOperatorStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "Status of a component of the platform.",
    printcolumn(
        name = "Version",
        type_ = "string",
        description = "Version of the component",
        json_path = r#".status.versions[?(@.name=="operator")].version"#
    ),
    printcolumn(
        name = "Available",
        type_ = "string",
        description = "Whether the component is available",
        json_path = r#".status.conditions[?(@.type=="Available")].status"#
    ),
    printcolumn(
        name = "Progressing",
        type_ = "string",
        description = "Whether the component is progressing",
        json_path = r#".status.conditions[?(@.type=="Progressing")].status"#
    ),
    printcolumn(
        name = "Degraded",
        type_ = "string",
        description = "Whether the component is degraded",
        json_path = r#".status.conditions[?(@.type=="Degraded")].status"#
    ),
    printcolumn(
        name = "Since",
        type_ = "date",
        description = "Time of the last change of Available",
        json_path = r#".status.conditions[?(@.type=="Available")].lastTransitionTime"#
    )
)]
#[serde(default)]
pub struct ClusterOperatorSpec {
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

/// Status that a component reports.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterOperatorStatus {
    /// Conditions of the component.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = keys(["type"])))]
    pub conditions: Vec<OperatorCondition>,
    /// Versions of the component and its operands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub versions: Vec<OperandVersion>,
    /// Objects that are relevant for debugging the component.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub related_objects: Vec<ObjectReference>,
    /// Additional status in a format of the component.
    #[serde(deserialize_with = "even_null", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("type" = "object", "x-kubernetes-preserve-unknown-fields" = true))]
    pub extension: Option<Value>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

impl ClusterOperatorStatus {
    /// The version of an operand.
    pub fn version_of(&self, operand: &str) -> Option<&str> {
        let found = self.versions.iter().find(|version| version.name == operand)?;
        Some(&found.version)
    }
}

/// Version of an operand of a component.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["name", "version"])))]
pub struct OperandVersion {
    /// Name of the operand; `operator` is the component itself.
    pub name: String,
    /// Version that the operand has reached.
    pub version: String,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

/// Reference to a related object.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["group", "resource", "name"])))]
pub struct ObjectReference {
    /// API group of the object; empty for the core group.
    pub group: String,
    /// Plural name of the resource.
    pub resource: String,
    /// Namespace of the object, if it is namespaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name of the object; empty for all objects of the resource.
    pub name: String,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}
