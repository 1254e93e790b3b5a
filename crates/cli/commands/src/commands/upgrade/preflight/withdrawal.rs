//! Withdrawal of preflight requests: `--clear-preflight`, and the end of temporary preflights.

use std::fmt;

use anyhow::ensure;
use fairway_api::cluster_version::Update;
use fairway_api::{ClusterVersion, ClusterVersionStatus};
use fairway_findings::consent;
use fairway_findings::record::KEEP_RESULTS;
use fairway_insight::request::is_rollout_in_progress;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::super::acceptance::accepted_risks;
use super::super::change::{Change, desired_update_patch};
use super::super::release::ReleaseReference;
use super::request::is_same_request;
use crate::foreign_text::OneLine;
use crate::output::TypedReport;

impl TypedReport for PreflightWithdrawal {
    const KIND: &'static str = "PreflightWithdrawal";
}

/// Withdrawal of a preflight request.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PreflightWithdrawal {
    /// Whether this is a dry run.
    pub(super) dry_run: bool,
    /// Target release of the withdrawn preflight, `null` if none was requested.
    withdrawn: Option<ReleaseReference>,
    /// Whether the operator keeps the results of the preflight.
    results_kept: bool,
    /// Requested update, which is left unchanged.
    update: Option<ReleaseReference>,
    /// Names of all accepted risks: `spec.desiredUpdate.acceptRisks`.
    accept_risks: Vec<String>,
}

/// Withdraws any preflight request. An update in progress is requested again.
pub(super) fn clear(
    object: &ClusterVersion,
    keep_results: bool,
) -> anyhow::Result<Change<PreflightWithdrawal>> {
    let default = Update::default();
    let requested = object.spec.desired_update.as_ref().unwrap_or(&default);
    if requested.mode.is_none() {
        return Ok(Change::none(PreflightWithdrawal::new(None, requested, keep_results)));
    }
    withdraw(object, requested, None, keep_results)
}

/// Withdraws an own preflight request and restores the previous request. A request that another
/// client has stored meanwhile is not changed.
pub(super) fn restore(
    object: &ClusterVersion,
    own: &Update,
    previous: Option<&Update>,
    keep_results: bool,
) -> anyhow::Result<Change<PreflightWithdrawal>> {
    let requested = object.spec.desired_update.as_ref();
    if let Some(requested) = requested.filter(|requested| is_same_request(requested, own)) {
        withdraw(object, requested, previous, keep_results)
    } else {
        let nothing = Update::default();
        Ok(Change::none(PreflightWithdrawal::new(None, &nothing, keep_results)))
    }
}

fn withdraw(
    object: &ClusterVersion,
    requested: &Update,
    previous: Option<&Update>,
    keep_results: bool,
) -> anyhow::Result<Change<PreflightWithdrawal>> {
    let remaining = remaining(object, previous);
    let mut patch = desired_update_patch(object, &remaining)?;
    let annotations = object.metadata.annotations.as_ref();
    if keep_results || annotations.is_some_and(|all| all.contains_key(KEEP_RESULTS)) {
        patch["metadata"]["annotations"][KEEP_RESULTS] = json!(keep_results.then_some("true"));
    }
    if annotations.is_some_and(|all| all.contains_key(consent::ANNOTATION)) {
        patch["metadata"]["annotations"][consent::ANNOTATION] = Value::Null;
    }
    let outcome = PreflightWithdrawal::new(Some(requested), &remaining, keep_results);
    Ok(Change {
        patch: Some(patch),
        verify: Box::new(move |result| {
            let default = Update::default();
            let stored = result.spec.desired_update.as_ref().unwrap_or(&default);
            ensure!(
                is_same_request(stored, &remaining),
                "the API server would not store the remaining request; nothing changed"
            );
            Ok(())
        }),
        outcome,
    })
}

/// Request after the withdrawal, with the risks that are accepted now.
fn remaining(object: &ClusterVersion, previous: Option<&Update>) -> Update {
    let previous = previous.filter(|update| update.names_a_release() || update.mode.is_some());
    let in_progress = || object.status.as_ref().and_then(update_in_progress);
    let remaining = previous.cloned().or_else(in_progress).unwrap_or_default();
    Update { accept_risks: accepted_risks(object).to_vec(), ..remaining }
}

/// Request for the update in progress. It must be set when a preflight is withdrawn: without a
/// request, the operator would return to the previous release.
pub(in super::super) fn update_in_progress(status: &ClusterVersionStatus) -> Option<Update> {
    let desired = &status.desired;
    (is_rollout_in_progress(status) && !desired.image.is_empty()).then(|| Update {
        version: Some(desired.version.clone()).filter(|version| !version.is_empty()),
        image: Some(desired.image.clone()),
        ..Update::default()
    })
}

impl PreflightWithdrawal {
    fn new(withdrawn: Option<&Update>, remaining: &Update, results_kept: bool) -> Self {
        let names = remaining.accept_risks.iter().map(|risk| risk.name.clone());
        Self {
            dry_run: false,
            withdrawn: withdrawn.map(ReleaseReference::requested),
            results_kept,
            update: remaining.is_update().then(|| ReleaseReference::requested(remaining)),
            accept_risks: names.collect(),
        }
    }
}

impl fmt::Display for PreflightWithdrawal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dry_run {
            f.write_str("Dry run, nothing changed. Without --dry-run:\n\n")?;
        }
        match &self.withdrawn {
            None => f.write_str("No preflight is requested")?,
            Some(target) => {
                let kept = if self.results_kept { "; its results are kept" } else { "" };
                write!(f, "Withdrew the preflight of {}{kept}", OneLine(target.name()))?;
            }
        }
        match (&self.update, &self.withdrawn) {
            (Some(update), Some(_)) => write!(
                f,
                "\nThe update in progress to {} is requested again",
                OneLine(update.name())
            ),
            (Some(update), None) => {
                write!(f, "; the request to update to {} is unchanged", OneLine(update.name()))
            }
            (None, _) => Ok(()),
        }
    }
}
