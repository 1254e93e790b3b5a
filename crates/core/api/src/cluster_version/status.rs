//! Status of ClusterVersion.
//!
//! The operator writes it with PUT. Empty fields are omitted, so a merge patch could not remove
//! them, and the required `availableUpdates: null` would mean "remove".

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Architecture, ConditionalUpdate, ConditionalUpdateRisk};
use crate::open_enum::open_enum;
use crate::schema::keys;
use crate::{OperatorCondition, UnknownFields, Version, limits};

/// Current and desired release of the cluster, and its available updates.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["desired", "observedGeneration", "versionHash", "availableUpdates"])))]
pub struct ClusterVersionStatus {
    /// The release that the operator applies.
    pub desired: Release,
    /// Releases that were applied to this cluster, newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub history: Vec<UpdateHistory>,
    /// Generation of the spec that this status reflects.
    pub observed_generation: i64,
    /// Hash of the content of the desired release.
    pub version_hash: String,
    /// Known and enabled optional components of the platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<CapabilitiesStatus>,
    /// Conditions of the cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = keys(["type"])))]
    pub conditions: Vec<OperatorCondition>,
    /// Updates recommended for this cluster. `null` until the operator has retrieved updates.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub available_updates: Option<Vec<Release>>,
    /// Updates that are recommended unless one of their risks applies to this cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::CONDITIONAL_UPDATES), extend("x-kubernetes-list-type" = "atomic"))]
    pub conditional_updates: Vec<ConditionalUpdate>,
    /// All risks of the updates, each listed once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = limits::CONDITIONAL_UPDATE_RISKS), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = keys(["name"])))]
    pub conditional_update_risks: Vec<ConditionalUpdateRisk>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

impl ClusterVersionStatus {
    /// Version of the newest completed release. Components of a cluster may have this version until
    /// a later rollout completes.
    pub fn completed_version(&self) -> Option<Version> {
        let mut completed =
            self.history.iter().filter(|entry| entry.state == UpdateState::Completed);
        completed.find_map(|entry| Version::parse(entry.version.as_deref()?).ok())
    }
}

/// A release of the platform.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["version", "image"])))]
pub struct Release {
    /// Architecture, if the image is for several architectures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<Architecture>,
    /// Version of the release.
    pub version: String,
    /// Release image, by digest.
    pub image: String,
    /// URL with more information.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Channels that contain the release.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub channels: Vec<String>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

open_enum! {
    /// State of an update.
    #[derive(Default)]
    pub enum UpdateState {
        /// The rollout of the release completed at least once.
        Completed = "Completed",
        /// The rollout has not completed.
        #[default]
        Partial = "Partial",
    }
}

/// A release that was applied to this cluster.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["state", "startedTime", "completionTime", "image", "verified"])))]
pub struct UpdateHistory {
    /// State of the update.
    pub state: UpdateState,
    /// Time at which the rollout started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_time: Option<Time>,
    /// Time at which the rollout completed or another release replaced it. `null` while it is in
    /// progress.
    pub completion_time: Option<Time>,
    /// Version of the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Release image.
    pub image: String,
    /// Whether the operator verified the signature before the rollout.
    pub verified: bool,
    /// Preconditions and risks that were overridden when the update started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_risks: Option<String>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

/// Optional components of the platform.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CapabilitiesStatus {
    /// Capabilities that the operator manages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::CAPABILITIES), inner(length(min = 1, max = limits::CAPABILITY)), extend("x-kubernetes-list-type" = "atomic"))]
    pub enabled_capabilities: Vec<String>,
    /// All capabilities of the current release.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::CAPABILITIES), inner(length(min = 1, max = limits::CAPABILITY)), extend("x-kubernetes-list-type" = "atomic"))]
    pub known_capabilities: Vec<String>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}
