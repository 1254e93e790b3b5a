//! Wait conditions between commands, evaluated on ClusterVersion.

use anyhow::{Result, bail};
use fairway_api::cluster_version::UpdateState;
use fairway_api::{ClusterVersion, ClusterVersionStatus, Conditions as _};

/// Whether the condition of a page is met.
pub(super) fn is_met(version: &ClusterVersion, until: &str) -> Result<bool> {
    let Some(status) = &version.status else { return Ok(false) };
    let seen = Some(status.observed_generation) >= version.metadata.generation;
    Ok(match until.split(' ').collect::<Vec<_>>()[..] {
        [version, "is", "complete"] => is_complete(status, version),
        [version, "is", "listed"] => seen && lists(status, version),
        [version, "has", count, "risks"] => {
            seen && risks(status, version) == count.parse::<usize>()?
        }
        ["the", "spec", "is", "observed"] => seen,
        ["the", "release", "is", "in", channel] => {
            status.desired.channels.iter().any(|known| known == channel)
        }
        [risk, "is", "evaluated"] => is_risk_evaluated(status, risk),
        ["the", "findings", "are", "risks"] => seen && is_evaluated(status),
        ["it", "is", percent, "complete,", "waiting", "on", operator] => {
            let waits = format!("({percent} complete), waiting on {operator} since ");
            progress(status).contains(&waits)
        }
        _ => bail!("unknown event: {until}"),
    })
}

fn is_complete(status: &ClusterVersionStatus, version: &str) -> bool {
    status.history.first().is_some_and(|newest| {
        newest.state == UpdateState::Completed && newest.version.as_deref() == Some(version)
    }) && status.conditions.is_false("Progressing")
}

fn progress(status: &ClusterVersionStatus) -> &str {
    let progressing = status.conditions.find("Progressing");
    progressing.and_then(|condition| condition.message.as_deref()).unwrap_or_default()
}

fn lists(status: &ClusterVersionStatus, version: &str) -> bool {
    let available = status.available_updates.iter().flatten();
    let conditional = status.conditional_updates.iter().map(|update| &update.release);
    available.chain(conditional).any(|release| release.version == version)
}

fn risks(status: &ClusterVersionStatus, version: &str) -> usize {
    let mut updates = status.conditional_updates.iter();
    updates.find(|update| update.release.version == version).map_or(0, |it| it.risk_names.len())
}

/// Whether the findings of a preflight are evaluated, which follows its result.
fn is_evaluated(status: &ClusterVersionStatus) -> bool {
    let mut risks = status.conditional_update_risks.iter();
    status.conditions.is_true("PreflightCompleted")
        && !risks.any(|risk| risk.name == "PreflightInProgress")
}

/// Whether a risk is evaluated.
fn is_risk_evaluated(status: &ClusterVersionStatus, name: &str) -> bool {
    let mut risks = status.conditional_update_risks.iter();
    let risk = risks.find(|risk| risk.name == name);
    let applies = risk.and_then(|risk| risk.conditions.find("Applies"));
    applies.is_some_and(|it| ["EvaluationFailed", "Match", "NotMatch"].contains(&&*it.reason))
}

#[test]
fn unknown_condition_is_an_error() {
    use fairway_api::cluster_version::ClusterVersionSpec;

    let printed = |until| {
        let mut version = ClusterVersion::new("version", ClusterVersionSpec::default());
        version.status = Some(ClusterVersionStatus::default());
        is_met(&version, until).map_err(|error| error.to_string())
    };
    assert_eq!(printed("5.0.1 is complete"), Ok(false));
    assert_eq!(printed("it is 94% complete, waiting on storage"), Ok(false));
    assert_eq!(printed("pigs fly"), Err("unknown event: pigs fly".to_owned()));
}
