//! Whether what a platform lets preflights read is no more than reading.

use fairway_api::reason::preflight_failed;
use fairway_findings::vet::{self, Scope};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::ResourceExt as _;

use super::diagnosis::Trouble;
use crate::cluster::Objects;

/// What is wrong with the cluster roles that are added to what preflights may read. Where one of them
/// is to blame for what they add up to, that is not told as well.
pub(super) fn trouble(roles: &[Objects<ClusterRole>]) -> Option<Trouble> {
    let mut found = roles
        .iter()
        .map(|roles| roles.values().filter_map(|role| excess(role)).collect::<Vec<_>>().join("; "));
    let told = found.find(|told| !told.is_empty())?;
    let message = format!("added ClusterRoles grant more than read access: {told}");
    Some(Trouble::lasting(preflight_failed::READER_ROLE_REFUSED, message))
}

/// What a role gives beyond reading.
fn excess(role: &ClusterRole) -> Option<String> {
    let told = |what: &str| format!("ClusterRole {}, {what}", role.name_any());
    let Ok(value) = serde_json::to_value(role) else { return Some(told("invalid object")) };
    let (field, why) = vet::rules_read_only(&value, Scope::Cluster).err()?;
    Some(told(&format!("{field}: {why}")))
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
        json!({"apiGroups": [""], "resources": [resource], "verbs": [verb]})
    }

    #[test]
    fn whoever_gives_more_than_reading_is_named() {
        let fine = || roles(&[("fine", may("list", "widgets"))]);
        let sum = |rule| roles(&[("preflight-reader-of-the-platform", rule)]);
        let others = [
            ("a-secrets", may("get", "secrets")),
            ("b-exec", may("get", "pods/exec")),
            ("c-wildcard", may("get", "*")),
            ("d-write", may("patch", "widgets")),
            ("e-fine", may("watch", "widgets")),
        ];
        let told = [
            [fine(), sum(may("list", "widgets"))],
            [roles(&others), sum(may("get", "secrets"))],
            [fine(), sum(may("delete", "widgets"))],
        ]
        .map(|roles| trouble(&roles).map_or("nothing".to_owned(), |trouble| trouble.message));
        insta::assert_snapshot!(told.join("\n"), @r"
        nothing
        added ClusterRoles grant more than read access: ClusterRole a-secrets, rules[0].resources[0]: a check may read Secrets only in one namespace, by a Role; ClusterRole b-exec, rules[0].resources[0]: a check may read only the subresources pods/log and status; ClusterRole c-wildcard, rules[0].resources[0]: a check must name its resources, without wildcards; ClusterRole d-write, rules[0].verbs[0]: a check may only get, list and watch
        added ClusterRoles grant more than read access: ClusterRole preflight-reader-of-the-platform, rules[0].verbs[0]: a check may only get, list and watch
        ");
    }
}
