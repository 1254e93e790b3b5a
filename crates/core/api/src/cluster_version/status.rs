//! What the operator says about the cluster's version.
//!
//! It is written whole, with PUT: what is empty is left out, so a merge patch could not take it
//! away, and `availableUpdates: null`, which is required, means "remove" there.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Architecture, ConditionalUpdate, ConditionalUpdateRisk};
use crate::open_enum::open_enum;
use crate::schema::keys;
use crate::{OperatorCondition, UnknownFields, limits};

/// Where the cluster is, where it is going, and where it could go.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["desired", "observedGeneration", "versionHash", "availableUpdates"])))]
pub struct ClusterVersionStatus {
    /// The release that the operator works towards.
    pub desired: Release,
    /// The releases this cluster has had, the newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub history: Vec<UpdateHistory>,
    /// The generation of the spec that this status is about.
    pub observed_generation: i64,
    /// A fingerprint of the content of the desired release.
    pub version_hash: String,
    /// The optional parts of the platform, known and enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<CapabilitiesStatus>,
    /// What holds for this cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = keys(["type"])))]
    pub conditions: Vec<OperatorCondition>,
    /// The updates recommended for this cluster. `null` means that nobody has looked yet.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub available_updates: Option<Vec<Release>>,
    /// The updates that are recommended only while certain risks do not concern this cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::CONDITIONAL_UPDATES), extend("x-kubernetes-list-type" = "atomic"))]
    pub conditional_updates: Vec<ConditionalUpdate>,
    /// Every risk that concerns any of the updates, once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = limits::CONDITIONAL_UPDATE_RISKS), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = keys(["name"])))]
    pub conditional_update_risks: Vec<ConditionalUpdateRisk>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

/// A release of the platform.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["version", "image"])))]
pub struct Release {
    /// Its architecture, where one image serves several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<Architecture>,
    /// Its version.
    pub version: String,
    /// Its image, by digest.
    pub image: String,
    /// Where people read about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The channels it is in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub channels: Vec<String>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

open_enum! {
    /// How far an update came.
    #[derive(Default)]
    pub enum UpdateState {
        /// The release was rolled out entirely at least once.
        Completed = "Completed",
        /// It was not, or not yet.
        #[default]
        Partial = "Partial",
    }
}

/// One release that this cluster has had.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["state", "startedTime", "completionTime", "image", "verified"])))]
pub struct UpdateHistory {
    /// How far it came.
    pub state: UpdateState,
    /// When the operator began with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_time: Option<Time>,
    /// When it was reached, or given up for another. `null` while it is being worked on.
    pub completion_time: Option<Time>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its image.
    pub image: String,
    /// Whether its signature was checked before it was applied.
    pub verified: bool,
    /// What was overridden when the update began, for people to read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_risks: Option<String>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

/// The optional parts of the platform.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CapabilitiesStatus {
    /// Those that are managed now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::CAPABILITIES), inner(length(min = 1, max = limits::CAPABILITY)), extend("x-kubernetes-list-type" = "atomic"))]
    pub enabled_capabilities: Vec<String>,
    /// All that the current release has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::CAPABILITIES), inner(length(min = 1, max = limits::CAPABILITY)), extend("x-kubernetes-list-type" = "atomic"))]
    pub known_capabilities: Vec<String>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}
