//! Permissions that an administrator allows the checks of a release.

use std::collections::BTreeSet;

use serde_json::Value;

use super::JobRefusal;
use super::access::{self, Access};

/// Permissions beyond those of all checks that a release may bring for its checks. The default
/// allows none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessPolicy {
    /// Whether the release is verified. The checks of another release get no ServiceAccounts, roles
    /// or role bindings.
    pub is_verified: bool,
    /// Secrets that the administrator allows, each as `NAMESPACE/NAME`; `None` if Secrets are never
    /// granted.
    pub secrets: Option<BTreeSet<String>>,
}

impl AccessPolicy {
    /// The policy for a verified release: read access without Secrets.
    pub fn verified() -> Self {
        Self { is_verified: true, secrets: None }
    }

    /// Verifies that the policy allows all RBAC manifests of a check.
    pub(super) fn verify(
        &self,
        manifests: &[Value],
        access: &Access<'_>,
    ) -> Result<(), JobRefusal> {
        if let Some(manifest) = manifests.first().filter(|_| !self.is_verified) {
            return Err(JobRefusal::Unverified { object: access::named(manifest) });
        }
        let is_allowed =
            |secret: &String| self.secrets.as_ref().is_some_and(|allowed| allowed.contains(secret));
        let secrets: Vec<String> =
            requested_secrets(access).into_iter().filter(|secret| !is_allowed(secret)).collect();
        if secrets.is_empty() {
            return Ok(());
        }
        Err(JobRefusal::Secrets { secrets, is_enabled: self.secrets.is_some() })
    }
}

/// Secrets in the roles of a check, each as `NAMESPACE/NAME`. Roles name them individually.
fn requested_secrets(access: &Access<'_>) -> BTreeSet<String> {
    let mut secrets = BTreeSet::new();
    for role in &access.roles {
        for rule in role.content.as_array().into_iter().flatten() {
            let resources = rule["resources"].as_array().into_iter().flatten();
            let is_secrets = |name: &str| name.split('/').next() == Some("secrets");
            if resources.filter_map(Value::as_str).any(is_secrets) {
                let names = rule["resourceNames"].as_array().into_iter().flatten();
                let names = names.filter_map(Value::as_str);
                secrets.extend(names.map(|name| format!("{}/{name}", role.namespace)));
            }
        }
    }
    secrets
}

/// Message for Secrets without consent, with the flags that grant them.
pub(super) fn missing_consent(secrets: &[String], is_enabled: bool) -> String {
    let (listed, flag) = (secrets.join(", "), secrets.join(","));
    let operator =
        if is_enabled { "" } else { "run the operator with --preflight-grant-secrets and " };
    format!(
        "the check reads Secrets without consent: {listed}; to allow it, {operator}repeat the \
         preflight with --allow-secrets={flag}"
    )
}
