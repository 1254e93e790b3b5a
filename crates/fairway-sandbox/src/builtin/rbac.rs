//! Roles and their bindings.

use serde_json::Value;

use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::{default, get_mut, items_mut, text};

pub(super) const ROLE: Rules = NOTHING_SPECIAL;
pub(super) const CLUSTER_ROLE: Rules = NOTHING_SPECIAL;
pub(super) const ROLE_BINDING: Rules = Rules { default: default_binding, ..NOTHING_SPECIAL };
pub(super) const CLUSTER_ROLE_BINDING: Rules = ROLE_BINDING;

const GROUP: &str = "rbac.authorization.k8s.io";

fn default_binding(binding: &mut Value) {
    if let Some(role) = get_mut(binding, "roleRef")
        && text(role, "apiGroup").is_empty()
    {
        role["apiGroup"] = GROUP.into();
    }
    for subject in items_mut(binding, "subjects") {
        if matches!(text(subject, "kind"), "User" | "Group") {
            default(subject, "apiGroup", GROUP);
        }
    }
}
