//! Check: manually managed cloud credentials have the permissions that the release requires.

use std::collections::BTreeSet;

use fairway_check::{CannotTell, Check, Context, Finding};

use super::{cluster_value, release_value};

const NAMESPACE: &str = "openshift-cloud-credential";

/// ConfigMap with the granted permissions.
const CREDENTIALS: &str = "cloud-credentials";

/// ConfigMap with the permissions that the release requests.
const REQUEST: &str = "credentials-request";

/// The check of the cloud-credential operator.
#[derive(Clone, Copy, Debug)]
pub struct CloudCredential;

impl Check for CloudCredential {
    fn name(&self) -> &'static str {
        "cloud-credential"
    }

    async fn run(&self, context: &Context) -> Result<Vec<Finding>, CannotTell> {
        let mode = cluster_value(context, NAMESPACE, CREDENTIALS, "mode").await?;
        if mode.as_deref() != Some("Manual") {
            // In other modes, the operator grants itself the permissions.
            return Ok(Vec::new());
        }
        let granted = cluster_value(context, NAMESPACE, CREDENTIALS, "granted").await?;
        let granted = granted.unwrap_or_default();
        let required = release_value(context, NAMESPACE, REQUEST, "required")?.unwrap_or_default();
        let optional = release_value(context, NAMESPACE, REQUEST, "optional")?.unwrap_or_default();
        let target = context.target().to_string();
        let required = required_finding(&missing(&required, &granted), &target);
        let optional = optional_finding(&missing(&optional, &granted), &target);
        Ok(required.into_iter().chain(optional).collect())
    }
}

/// Requested permissions that are not granted; both are lists separated by white space.
fn missing<'a>(asked: &'a str, granted: &str) -> Vec<&'a str> {
    let granted: BTreeSet<&str> = granted.split_whitespace().collect();
    let asked: BTreeSet<&str> = asked.split_whitespace().collect();
    asked.into_iter().filter(|permission| !granted.contains(permission)).collect()
}

fn required_finding(missing: &[&str], target: &str) -> Option<Finding> {
    let message = format!(
        "{target} requires permissions that are not granted: {}. The update would fail halfway.",
        missing.join(", ")
    );
    with_permissions(Finding::critical("CloudCredentialPermissionsMissing", message), missing)
}

fn optional_finding(missing: &[&str], target: &str) -> Option<Finding> {
    let message = format!(
        "{target} uses permissions that are not granted: {}. The features that need them will not \
        work.",
        missing.join(", ")
    );
    with_permissions(Finding::warning("CloudCredentialPermissionsIncomplete", message), missing)
}

fn with_permissions(finding: Finding, missing: &[&str]) -> Option<Finding> {
    let remediation = format!(
        "Grant {}, and add it to `granted`: `kubectl -n {NAMESPACE} edit configmap {CREDENTIALS}`",
        missing.join(" ")
    );
    let finding =
        finding.remediation(remediation).url("https://platform.example/credentials/permissions");
    (!missing.is_empty()).then_some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_lists_permissions_that_are_not_granted() {
        assert_eq!(missing("b a\nc a", "c  d"), ["a", "b"]);
        assert_eq!(missing("a", "a"), [""; 0]);
        assert_eq!(missing("", ""), [""; 0]);
    }
}
