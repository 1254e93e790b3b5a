//! ClusterOperator: what one component of the platform says about itself.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema::{even_null, keys};
use crate::{OperatorCondition, UnknownFields};

/// Nothing is configured here.
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
    doc = "One component of the platform, and what it says about itself.",
    printcolumn(
        name = "Version",
        type_ = "string",
        description = "The version the component has reached",
        json_path = r#".status.versions[?(@.name=="operator")].version"#
    ),
    printcolumn(
        name = "Available",
        type_ = "string",
        description = "Whether the component works",
        json_path = r#".status.conditions[?(@.type=="Available")].status"#
    ),
    printcolumn(
        name = "Progressing",
        type_ = "string",
        description = "Whether the component is changing something",
        json_path = r#".status.conditions[?(@.type=="Progressing")].status"#
    ),
    printcolumn(
        name = "Degraded",
        type_ = "string",
        description = "Whether the component works worse than it should",
        json_path = r#".status.conditions[?(@.type=="Degraded")].status"#
    ),
    printcolumn(
        name = "Since",
        type_ = "date",
        description = "Since when it is available, or not",
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

/// What a component says about itself.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterOperatorStatus {
    /// What holds for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = keys(["type"])))]
    pub conditions: Vec<OperatorCondition>,
    /// The versions it and its parts have reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub versions: Vec<OperandVersion>,
    /// The objects to look at when something is wrong with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub related_objects: Vec<ObjectReference>,
    /// Whatever else the component wants to say, in its own format.
    #[serde(deserialize_with = "even_null", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("type" = "object", "x-kubernetes-preserve-unknown-fields" = true))]
    pub extension: Option<Value>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

impl ClusterOperatorStatus {
    /// The version that the part of that name has reached.
    pub fn version_of(&self, operand: &str) -> Option<&str> {
        let found = self.versions.iter().find(|version| version.name == operand)?;
        Some(&found.version)
    }
}

/// The version that a part of a component has reached.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["name", "version"])))]
pub struct OperandVersion {
    /// The part: `operator` is the component itself.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

/// An object to look at.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["group", "resource", "name"])))]
pub struct ObjectReference {
    /// Its API group; empty for the core.
    pub group: String,
    /// Its resource, in the plural.
    pub resource: String,
    /// Its namespace, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name; empty for all objects of the resource.
    pub name: String,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}
