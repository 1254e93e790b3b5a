//! What is wrong with the cluster before an update is asked for.

use anyhow::anyhow;
use fairway_api::reason::{failing, invalid, progressing, rollout};
use fairway_api::{ClusterVersionStatus, Conditions as _, OperatorCondition};

use crate::errors::Refused;
use crate::foreign_text::OneLine;

/// What is wrong, as warnings; a refusal, where something of it is not to be overlooked.
pub(super) fn check(
    status: &ClusterVersionStatus,
    allow_warnings: bool,
) -> anyhow::Result<Vec<String>> {
    let found = [
        (invalid::TYPE, "ClusterVersion is invalid"),
        (failing::TYPE, "the cluster is failing"),
        (progressing::TYPE, "another update is in progress"),
    ];
    let found = found.into_iter().filter_map(|(type_, what)| {
        let condition = status.conditions.find(type_)?;
        status.conditions.is_true(type_).then(|| (said(what, condition), is_harmless(condition)))
    });
    let found: Vec<(String, bool)> = found.collect();
    let serious: Vec<&str> =
        found.iter().filter(|(_, harmless)| !harmless).map(|(text, _)| text.as_str()).collect();
    if serious.is_empty() || allow_warnings {
        return Ok(found.into_iter().map(|(text, _)| text).collect());
    }
    let refused = Refused {
        message: "cannot update now".to_owned(),
        hint:
            "run `fairway upgrade` for details; to update anyway, add --allow-upgrade-with-warnings"
                .to_owned(),
    };
    Err(anyhow!("{}", serious.join("; ")).context(refused))
}

fn said(what: &str, condition: &OperatorCondition) -> String {
    let parts = [&condition.reason, &condition.message].into_iter().flatten();
    let parts = parts.filter(|part| !part.is_empty());
    let parts: Vec<String> = parts.map(|part| OneLine(part).to_string()).collect();
    if parts.is_empty() { what.to_owned() } else { format!("{what}: {}", parts.join(": ")) }
}

/// Whether it never holds up an update: operators that are only degraded.
fn is_harmless(condition: &OperatorCondition) -> bool {
    let degraded = [rollout::CLUSTER_OPERATOR_DEGRADED, rollout::CLUSTER_OPERATORS_DEGRADED];
    let reason = condition.reason.as_deref();
    degraded.iter().any(|degraded| reason == Some(degraded.code))
}
