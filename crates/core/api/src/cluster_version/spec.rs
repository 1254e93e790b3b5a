//! Spec of ClusterVersion.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ClusterVersionStatus;
use crate::open_enum::open_enum;
use crate::schema::{CAPABILITY_SET, EMPTY_OR_SEMVER, keys, rules};
use crate::{UnknownFields, limits};

/// Desired version and update configuration of the cluster.
#[allow(clippy::duplicated_attributes, reason = "every printed column has a type")]
#[derive(CustomResource, JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "config.openshift.io",
    version = "v1",
    kind = "ClusterVersion",
    plural = "clusterversions",
    status = "ClusterVersionStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "Version of the cluster: requested, current and available releases.",
    validation = Rule::new(needs("marketplace", "OperatorLifecycleManager"))
        .message("the capability marketplace requires the capability OperatorLifecycleManager"),
    validation = Rule::new(needs("ClusterAPI", "CompatibilityRequirements"))
        .message("the capability ClusterAPI requires the capability CompatibilityRequirements"),
    printcolumn(name = "Version", type_ = "string", description = "Last completed version", json_path = r#".status.history[?(@.state=="Completed")].version"#),
    printcolumn(name = "Available", type_ = "string", description = "Whether a version is completely applied", json_path = r#".status.conditions[?(@.type=="Available")].status"#),
    printcolumn(name = "Progressing", type_ = "string", description = "Whether an update is in progress", json_path = r#".status.conditions[?(@.type=="Progressing")].status"#),
    printcolumn(name = "Since", type_ = "date", description = "Time of the last change of Progressing", json_path = r#".status.conditions[?(@.type=="Progressing")].lastTransitionTime"#),
    printcolumn(name = "Status", type_ = "string", description = "Message of the condition Progressing", json_path = r#".status.conditions[?(@.type=="Progressing")].message"#),
)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["clusterID"])))]
pub struct ClusterVersionSpec {
    /// Random UUID that identifies this cluster to the update service.
    #[serde(rename = "clusterID")]
    pub cluster_id: String,
    /// The release to update to or to run a preflight of. If unset, the cluster is not updated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired_update: Option<Update>,
    /// URL of the update service. If unset, the operator uses its default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// The update channel. If unset, the operator does not retrieve updates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The optional components of the platform to enable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Capabilities>,
    /// Signature stores, in this order, that replace the default stores. An empty list disables
    /// signature stores.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::SIGNATURE_STORES), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = keys(["url"])))]
    pub signature_stores: Option<Vec<SignatureStore>>,
    /// Objects of the release that the operator does not manage.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = keys(["kind", "group", "namespace", "name"])))]
    pub overrides: Vec<ComponentOverride>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

/// A CEL rule that rejects a requested capability without one that it requires. Enabled
/// capabilities stay enabled, so the status counts too.
fn needs(capability: &str, needed: &str) -> String {
    let requested = "self.spec.capabilities.additionalEnabledCapabilities";
    let enabled = "self.status.capabilities.enabledCapabilities";
    format!(
        "!has(self.spec.capabilities) || !has({requested}) \
         || !has(self.spec.capabilities.baselineCapabilitySet) \
         || self.spec.capabilities.baselineCapabilitySet != 'None' \
         || !('{capability}' in {requested}) || '{needed}' in {requested} \
         || (has(self.status) && has(self.status.capabilities) && has({enabled}) \
         && '{needed}' in {enabled})"
    )
}

open_enum! {
    /// The architecture of a release image.
    pub enum Architecture {
        /// One image for several architectures.
        Multi = "Multi",
        /// The architecture of the cluster.
        Unset = "",
    }
}

open_enum! {
    /// Operation on the desired release other than an update.
    pub enum UpdateMode {
        /// Runs the checks of the release against this cluster, read-only.
        Preflight = "Preflight",
    }
}

/// A release to update to.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = rules([
    ("!has(self.architecture) || self.architecture == '' || !has(self.image) || self.image == ''", "architecture and image are mutually exclusive: the image determines the architecture"),
    ("!has(self.architecture) || self.architecture == '' || (has(self.version) && self.version != '')", "version must be set if architecture is set"),
])))]
pub struct Update {
    /// The architecture to change to. Requires `version` and excludes `image`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<Architecture>,
    /// The version to update to. If `image` is set, the version that the image must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::VERSION), regex(pattern = EMPTY_OR_SEMVER))]
    pub version: Option<String>,
    /// The release image to update to, by digest. The update graph need not contain it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Waives signature, preconditions and risks of the update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
    /// The risks that the administrator accepts, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = limits::ACCEPTED_RISKS), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = keys(["name"])))]
    pub accept_risks: Vec<AcceptRisk>,
    /// Operation on the release. If unset, the cluster updates to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<UpdateMode>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

impl Update {
    /// The requested version; an empty one counts as unset.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref().filter(|version| !version.is_empty())
    }

    /// The requested image; an empty one counts as unset.
    pub fn image(&self) -> Option<&str> {
        self.image.as_deref().filter(|image| !image.is_empty())
    }

    /// The requested architecture; an empty one counts as unset.
    pub fn architecture(&self) -> Option<&Architecture> {
        self.architecture.as_ref().filter(|architecture| **architecture != Architecture::Unset)
    }

    /// Whether signature verification, preconditions and risks are waived.
    pub fn forced(&self) -> bool {
        self.force == Some(true)
    }

    /// Whether a release is requested; accepted risks alone are not a request.
    pub fn names_a_release(&self) -> bool {
        self.version().is_some() || self.image().is_some() || self.architecture().is_some()
    }

    /// Whether an update is requested. With any mode, known or not, it is not.
    pub fn is_update(&self) -> bool {
        self.mode.is_none() && self.names_a_release()
    }

    /// A merge patch that sets `desiredUpdate` to exactly this value: unset fields become `null`.
    /// Merging the plain object would keep image, force and mode of an earlier request.
    pub fn merge_patch(&self) -> serde_json::Result<serde_json::Value> {
        let mut patch = serde_json::to_value(self)?;
        for field in ["architecture", "version", "image", "force", "acceptRisks", "mode"] {
            if patch.get(field).is_none() {
                patch[field] = serde_json::Value::Null;
            }
        }
        Ok(patch)
    }

    /// Whether the risk with a name is accepted.
    pub fn accepts(&self, risk: &str) -> bool {
        self.accept_risks.iter().any(|accepted| accepted.name == risk)
    }
}

/// A risk that the administrator accepts.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["name"])))]
pub struct AcceptRisk {
    /// Name of the risk.
    #[schemars(length(min = 1, max = limits::RISK_NAME))]
    pub name: String,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

/// The optional components of the platform to enable.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Capabilities {
    /// Baseline set: `None`, the set of a release such as `v4.18`, or `vCurrent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::CAPABILITY), regex(pattern = CAPABILITY_SET))]
    pub baseline_capability_set: Option<String>,
    /// Capabilities to enable in addition to the baseline set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::CAPABILITIES), inner(length(min = 1, max = limits::CAPABILITY)), extend("x-kubernetes-list-type" = "atomic"))]
    pub additional_enabled_capabilities: Vec<String>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

/// A signature store: a server with release signatures by digest.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["url"])))]
pub struct SignatureStore {
    /// URL of the signature store.
    #[schemars(length(min = 1, max = limits::URL), extend("x-kubernetes-validations" = rules([("isURL(self)", "must be an absolute URL")])))]
    pub url: String,
    /// ConfigMap in `openshift-config` with the CA bundle of the store, in key `ca.crt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<ConfigMapReference>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

/// Reference to a ConfigMap.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["name"])))]
pub struct ConfigMapReference {
    /// Name of the object.
    pub name: String,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

/// An object of the release that is excluded from management.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["kind", "group", "namespace", "name", "unmanaged"])))]
pub struct ComponentOverride {
    /// Kind of the object.
    pub kind: String,
    /// API group of the object.
    pub group: String,
    /// Namespace of the object; empty for a cluster-scoped object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Whether the operator ignores the object.
    pub unmanaged: bool,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}
