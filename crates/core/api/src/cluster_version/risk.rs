//! Conditional updates and their risks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Release;
use crate::open_enum::open_enum;
use crate::schema::{keys, rules};
use crate::{Condition, UnknownFields, limits};

/// An update that is recommended unless one of its risks applies to this cluster.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["release", "risks"])))]
pub struct ConditionalUpdate {
    /// The target release.
    pub release: Release,
    /// Names of the risks of the update, from all sources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = limits::RISK_NAMES), inner(length(max = limits::RISK_NAME)), extend("x-kubernetes-list-type" = "set"))]
    pub risk_names: Vec<String>,
    /// The risks of the update.
    #[schemars(length(min = 1, max = limits::RISKS), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = keys(["name"])))]
    pub risks: Vec<ConditionalUpdateRisk>,
    /// Conditions of the update: `Recommended` states whether it is recommended for this cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = keys(["type"])))]
    pub conditions: Vec<Condition>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

/// A problem that an update can cause on some clusters.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["url", "name", "message", "matchingRules"])))]
pub struct ConditionalUpdateRisk {
    /// Conditions of the risk: `Applies` states whether it applies to this cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = limits::RISK_CONDITIONS), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = keys(["type"]), "x-kubernetes-validations" = rules([("self.exists_one(x, x.type == 'Applies')", "must contain a condition of type 'Applies'")])))]
    pub conditions: Vec<Condition>,
    /// URL with more information.
    #[schemars(length(min = 1), extend("format" = "uri"))]
    pub url: String,
    /// CamelCase name of the risk. Risks with the same name are the same risk.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Description of the problem.
    #[schemars(length(min = 1))]
    pub message: String,
    /// Rules that select the affected clusters. The first rule that can be evaluated decides.
    #[schemars(length(min = 1), extend("x-kubernetes-list-type" = "atomic"))]
    pub matching_rules: Vec<MatchingRule>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

open_enum! {
    /// Type of a matching rule.
    pub enum MatchingRuleType {
        /// The risk applies to all clusters.
        Always = "Always",
        /// A PromQL query against the cluster's metrics decides.
        PromQl = "PromQL",
    }
}

impl Default for MatchingRuleType {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

/// A rule that determines whether a risk applies to a cluster.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["type"])))]
pub struct MatchingRule {
    /// Type of the rule.
    #[serde(rename = "type")]
    pub type_: MatchingRuleType,
    /// The query, if the type is `PromQL`.
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
    /// The query. It returns 1 if the risk applies to the cluster, and 0 if it does not.
    #[serde(rename = "promql", alias = "PromQL")]
    pub promql: String,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}
