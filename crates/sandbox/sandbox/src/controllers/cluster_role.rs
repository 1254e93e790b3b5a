//! Aggregated `ClusterRoles`: their rules are the union of the rules of the selected roles.

use jiff::Timestamp;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use serde_json::Value;

use super::runtime::{Component, Controller, ObjectKey, Requeue, WatchEvent, WatchScope};
use crate::api::{Api, StatusError};
use crate::selector::LabelSelector;

pub(super) struct ClusterRoles {
    component: Component,
}

impl ClusterRoles {
    pub(super) fn new(api: &Api) -> Self {
        Self { component: Component::controller(api, "clusterrole-aggregation-controller") }
    }

    /// `ClusterRoles` that the selector matches, by name.
    fn selected(&self, selector: &LabelSelector) -> Result<Vec<ClusterRole>, StatusError> {
        let mut roles: Vec<ClusterRole> =
            self.component.list_where("", |role| selector.matches(role))?;
        roles.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
        Ok(roles)
    }
}

impl Controller for ClusterRoles {
    type Key = ObjectKey;

    const SCOPE: WatchScope = WatchScope::Kinds(&[("rbac.authorization.k8s.io", "ClusterRole")]);

    fn component(&self) -> &Component {
        &self.component
    }

    /// Every `ClusterRole` can be part of any aggregated `ClusterRole`.
    fn keys_for_event(&mut self, _: &WatchEvent) -> Result<Vec<ObjectKey>, StatusError> {
        self.component.list_keys::<ClusterRole>("", is_aggregated)
    }

    fn reconcile(&mut self, key: &ObjectKey, _: Timestamp) -> Result<Requeue, StatusError> {
        let client = self.component.client();
        let Some(role) = client.get::<ClusterRole>("", &key.name)? else {
            return Ok(Requeue::Never);
        };
        let Some(aggregation) = &role.aggregation_rule else { return Ok(Requeue::Never) };
        let mut parts = Vec::new();
        for selector in aggregation.cluster_role_selectors.iter().flatten() {
            // Invalid selectors are refused on write.
            if let Ok(selector) = LabelSelector::from_structured(selector) {
                parts.extend(self.selected(&selector)?);
            }
        }
        let rules = aggregated_rules(&role, &parts);
        if role.rules.as_deref().unwrap_or_default() != rules {
            client.update(&ClusterRole { rules: Some(rules), ..role })?;
        }
        Ok(Requeue::Never)
    }
}

fn is_aggregated(role: &Value) -> bool {
    role.get("aggregationRule").is_some_and(|rule| !rule.is_null())
}

/// Union of the rules of all parts without duplicates; a `ClusterRole` is not a part of itself.
fn aggregated_rules(whole: &ClusterRole, parts: &[ClusterRole]) -> Vec<PolicyRule> {
    let mut rules: Vec<PolicyRule> = Vec::new();
    for part in parts.iter().filter(|part| part.metadata.name != whole.metadata.name) {
        for rule in part.rules.iter().flatten() {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
    }
    rules
}
