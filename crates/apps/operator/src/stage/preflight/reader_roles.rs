//! Verification that the `ClusterRoles` aggregated for preflights grant read access only.

use fairway_api::reason::preflight_failed;
use fairway_findings::vet::{self, Scope};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::ResourceExt as _;

use super::diagnosis::PreflightError;
use crate::cluster::Objects;

/// Error for `ClusterRoles` that grant more than read access. The aggregated role is reported only
/// if no single role is at fault.
pub(super) fn error(roles: &[Objects<ClusterRole>]) -> Option<PreflightError> {
    let mut found = roles.iter().map(|roles| {
        roles.values().filter_map(|role| write_permission(role)).collect::<Vec<_>>().join("; ")
    });
    let message = found.find(|message| !message.is_empty())?;
    let message = format!("aggregated ClusterRoles grant more than read access: {message}");
    Some(PreflightError::permanent(preflight_failed::READER_ROLE_REFUSED, message))
}

/// Permission of a role beyond read access.
fn write_permission(role: &ClusterRole) -> Option<String> {
    let message = |what: &str| format!("ClusterRole {}, {what}", role.name_any());
    let Ok(value) = serde_json::to_value(role) else { return Some(message("invalid object")) };
    let (field, why) = vet::rules_read_only(&value, Scope::Cluster).err()?;
    Some(message(&format!("{field}: {why}")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;

    fn roles(roles: &[(&str, Value)]) -> Objects<ClusterRole> {
        let role = |(name, rule): &(&str, Value)| {
            let role = json!({"metadata": {"name": name}, "rules": [rule]});
            ((*name).to_owned(), Arc::new(serde_json::from_value(role).unwrap()))
        };
        Arc::new(roles.iter().map(role).collect())
    }

    fn may(verb: &str, resource: &str) -> Value {
        let group = if resource == "widgets" { "example.com" } else { "" };
        json!({"apiGroups": [group], "resources": [resource], "verbs": [verb]})
    }

    #[test]
    fn error_names_roles_beyond_read_access() {
        let fine = || roles(&[("fine", may("list", "widgets"))]);
        let sum = |rule| roles(&[("preflight-reader-of-the-platform", rule)]);
        let others = [
            ("a-secrets", may("get", "secrets")),
            ("b-exec", may("get", "pods/exec")),
            ("c-wildcard", may("get", "*")),
            ("d-write", may("patch", "widgets")),
            ("e-fine", may("watch", "widgets")),
            ("f-logs", may("get", "pods/log")),
        ];
        let message = [
            [fine(), sum(may("list", "widgets"))],
            [roles(&others), sum(may("get", "secrets"))],
            [fine(), sum(may("delete", "widgets"))],
        ]
        .map(|roles| error(&roles).map_or("nothing".to_owned(), |error| error.message));
        insta::assert_snapshot!(message.join("\n"), @r"
        nothing
        aggregated ClusterRoles grant more than read access: ClusterRole a-secrets, rules[0].resources[0]: a check may read Secrets only in one namespace, by a Role; ClusterRole b-exec, rules[0].resources[0]: a check may read only the subresources pods/log and status; ClusterRole c-wildcard, rules[0].resources[0]: a check must name its resources, without wildcards; ClusterRole d-write, rules[0].verbs[0]: a check may only get, list and watch; ClusterRole f-logs, rules[0].resources[0]: a check may read logs only in one namespace, by a Role
        aggregated ClusterRoles grant more than read access: ClusterRole preflight-reader-of-the-platform, rules[0].verbs[0]: a check may only get, list and watch
        ");
    }
}
