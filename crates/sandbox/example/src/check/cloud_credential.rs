//! Whether those who manage credentials themselves have granted what the release needs.

use std::collections::BTreeSet;

use fairway_check::{CannotTell, Check, Context, Finding};

use super::{present, wanted};

const NAMESPACE: &str = "openshift-cloud-credential";

/// What the cluster was granted.
const CREDENTIALS: &str = "cloud-credentials";

/// What the release asks for.
const REQUEST: &str = "credentials-request";

/// The check of the cloud-credential operator.
#[derive(Clone, Copy, Debug)]
pub struct CloudCredential;

impl Check for CloudCredential {
    fn name(&self) -> &'static str {
        "cloud-credential"
    }

    async fn run(&self, context: &Context) -> Result<Vec<Finding>, CannotTell> {
        let mode = present(context, NAMESPACE, CREDENTIALS, "mode").await?;
        if mode.as_deref() != Some("Manual") {
            // The operator grants itself what it needs.
            return Ok(Vec::new());
        }
        let granted = present(context, NAMESPACE, CREDENTIALS, "granted").await?;
        let granted = granted.unwrap_or_default();
        let required = wanted(context, NAMESPACE, REQUEST, "required")?.unwrap_or_default();
        let optional = wanted(context, NAMESPACE, REQUEST, "optional")?.unwrap_or_default();
        let target = context.target().to_string();
        let required = found_required(&missing(&required, &granted), &target);
        let optional = found_optional(&missing(&optional, &granted), &target);
        Ok(required.into_iter().chain(optional).collect())
    }
}

/// What is asked for and not granted; both are lists of words.
fn missing<'a>(asked: &'a str, granted: &str) -> Vec<&'a str> {
    let granted: BTreeSet<&str> = granted.split_whitespace().collect();
    let asked: BTreeSet<&str> = asked.split_whitespace().collect();
    asked.into_iter().filter(|permission| !granted.contains(permission)).collect()
}

fn found_required(missing: &[&str], target: &str) -> Option<Finding> {
    let message = format!(
        "{target} requires permissions that are not granted: {}. The update would fail halfway.",
        missing.join(", ")
    );
    described(Finding::critical("CloudCredentialPermissionsMissing", message), missing)
}

fn found_optional(missing: &[&str], target: &str) -> Option<Finding> {
    let message = format!(
        "{target} uses permissions that are not granted: {}. The features that need them will not \
        work.",
        missing.join(", ")
    );
    described(Finding::warning("CloudCredentialPermissionsIncomplete", message), missing)
}

fn described(finding: Finding, missing: &[&str]) -> Option<Finding> {
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
    fn what_is_not_granted_is_missing() {
        assert_eq!(missing("b a\nc a", "c  d"), ["a", "b"]);
        assert_eq!(missing("a", "a"), [""; 0]);
        assert_eq!(missing("", ""), [""; 0]);
    }
}
