//! Roles that are made of others have the rules of all that they select.

use jiff::Timestamp;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use serde_json::Value;

use super::machinery::{Change, Component, Controller, ObjectKey, Outcome, Scope};
use crate::api::{Api, Refusal};
use crate::selector::LabelSelector;

pub(super) struct ClusterRoles {
    component: Component,
}

impl ClusterRoles {
    pub(super) fn new(api: &Api) -> Self {
        Self { component: Component::controller(api, "clusterrole-aggregation-controller") }
    }

    /// The roles that a selector takes, by name.
    fn selected(&self, selector: &LabelSelector) -> Result<Vec<ClusterRole>, Refusal> {
        let mut roles: Vec<ClusterRole> =
            self.component.list_where("", |role| selector.matches(role))?;
        roles.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
        Ok(roles)
    }
}

impl Controller for ClusterRoles {
    type Key = ObjectKey;

    const SCOPE: Scope = Scope::Kinds(&[("rbac.authorization.k8s.io", "ClusterRole")]);

    fn component(&self) -> &Component {
        &self.component
    }

    /// Whichever role changes may be a part of any that is made of others.
    fn affected(&mut self, _: &Change) -> Result<Vec<ObjectKey>, Refusal> {
        self.component.keys_where::<ClusterRole>("", is_made_of_others)
    }

    fn reconcile(&mut self, key: &ObjectKey, _: Timestamp) -> Result<Outcome, Refusal> {
        let client = self.component.client();
        let Some(role) = client.get::<ClusterRole>("", &key.name)? else {
            return Ok(Outcome::Done);
        };
        let Some(aggregation) = &role.aggregation_rule else { return Ok(Outcome::Done) };
        let mut parts = Vec::new();
        for selector in aggregation.cluster_role_selectors.iter().flatten() {
            // What cannot be read was refused when it was written.
            if let Ok(selector) = LabelSelector::from_structured(selector) {
                parts.extend(self.selected(&selector)?);
            }
        }
        let rules = rules_of_all(&role, &parts);
        if role.rules.as_deref().unwrap_or_default() != rules {
            client.update(&ClusterRole { rules: Some(rules), ..role })?;
        }
        Ok(Outcome::Done)
    }
}

fn is_made_of_others(role: &Value) -> bool {
    role.get("aggregationRule").is_some_and(|rule| !rule.is_null())
}

/// The rules of all parts, each once; a role is no part of itself.
fn rules_of_all(whole: &ClusterRole, parts: &[ClusterRole]) -> Vec<PolicyRule> {
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
