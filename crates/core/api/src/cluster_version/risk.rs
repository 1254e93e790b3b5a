//! Updates that are recommended only for some clusters, and the risks that decide for which.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Release;
use crate::open_enum::open_enum;
use crate::schema::{keys, rules};
use crate::{Condition, UnknownFields, limits};

/// An update that is recommended only while certain risks do not concern this cluster.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["release", "risks"])))]
pub struct ConditionalUpdate {
    /// The release it leads to.
    pub release: Release,
    /// The names of the risks that concern it, from every source.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = limits::RISK_NAMES), inner(length(max = limits::RISK_NAME)), extend("x-kubernetes-list-type" = "set"))]
    pub risk_names: Vec<String>,
    /// The risks that concern it.
    #[schemars(length(min = 1, max = limits::RISKS), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = keys(["name"])))]
    pub risks: Vec<ConditionalUpdateRisk>,
    /// Whether it is recommended for this cluster, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = keys(["type"])))]
    pub conditions: Vec<Condition>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

/// Something that may go wrong with an update on some clusters.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["url", "name", "message", "matchingRules"])))]
pub struct ConditionalUpdateRisk {
    /// Whether it concerns this cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = limits::RISK_CONDITIONS), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = keys(["type"]), "x-kubernetes-validations" = rules([("self.exists_one(x, x.type == 'Applies')", "must contain a condition of type 'Applies'")])))]
    pub conditions: Vec<Condition>,
    /// Where people read about it.
    #[schemars(length(min = 1), extend("format" = "uri"))]
    pub url: String,
    /// Its CamelCase name. The same name is the same risk, wherever it appears.
    #[schemars(length(min = 1))]
    pub name: String,
    /// What may go wrong, for people to read.
    #[schemars(length(min = 1))]
    pub message: String,
    /// Whom it concerns: the first rule that can be evaluated decides.
    #[schemars(length(min = 1), extend("x-kubernetes-list-type" = "atomic"))]
    pub matching_rules: Vec<MatchingRule>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

open_enum! {
    /// How it is found out whether a risk concerns a cluster.
    pub enum MatchingRuleType {
        /// The risk applies to all clusters.
        Always = "Always",
        /// A query against the cluster's metrics tells.
        PromQl = "PromQL",
    }
}

impl Default for MatchingRuleType {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

/// One way to find out whether a risk concerns a cluster.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["type"])))]
pub struct MatchingRule {
    /// Which way.
    #[serde(rename = "type")]
    pub type_: MatchingRuleType,
    /// The query, where the type is `PromQL`.
    #[serde(rename = "promql", alias = "PromQL", skip_serializing_if = "Option::is_none")]
    pub promql: Option<PromQl>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

/// A query against the cluster's metrics.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["promql"])))]
pub struct PromQl {
    /// The query. It answers 1 where the risk concerns the cluster and 0 where it does not.
    #[serde(rename = "promql", alias = "PromQL")]
    pub promql: String,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}
