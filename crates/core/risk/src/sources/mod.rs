//! Risks that the state of the cluster causes, apart from those of the update service.
//!
//! Each function covers one part of the cluster. No input is trusted: texts are truncated, and
//! unreadable input is a risk itself.

mod admin_gates;
mod alerts;
mod cluster_operators;
mod names;

pub use admin_gates::{AdminGate, ConfigMapData, admin_gates, unacknowledged};
pub use alerts::alerts;
pub use cluster_operators::{cluster_operators, unlisted_cluster_operators};
pub use names::{UPDATING, source_of};

use fairway_api::cluster_version::{ComponentOverride, Release};
use fairway_api::reason::{applies, progressing, recommended};
use fairway_api::{ConditionStatus, OperatorCondition};

use crate::definition::DOCS_URL;
use crate::risk::{
    AffectedUpdates, CandidateUpdate, ReportedRisk, Risk, RiskAssessment, RiskSource,
};
use crate::text;
use names::{DELETIONS, OVERRIDES};

/// Bytes of a cluster's text in the message of a risk.
const MAX_TEXT_BYTES: usize = 4 << 10;

/// A risk for updates to later minor and major versions.
fn minor_update_risk(
    name: impl Into<String>,
    message: &str,
    section: &str,
    source: RiskSource,
) -> ReportedRisk {
    let risk = Risk::always(name, text::truncate(message, MAX_TEXT_BYTES), docs(section));
    ReportedRisk { risk, source, targets: AffectedUpdates::MinorOrMajor }
}

/// Sets the assessment Unknown.
fn with_unknown_assessment(mut risk: ReportedRisk, why: &str) -> ReportedRisk {
    let why = text::truncate(why, MAX_TEXT_BYTES);
    let claim = RiskAssessment::new(ConditionStatus::Unknown, applies::EVALUATION_FAILED, why);
    risk.risk.claim = Some(claim);
    risk
}

/// URL of a section of the risk documentation.
fn docs(section: &str) -> String {
    format!("{DOCS_URL}#{section}")
}

/// The risk of an update in progress, for later minor versions.
pub fn updating(conditions: &[OperatorCondition]) -> Option<ReportedRisk> {
    let progressing = conditions.iter().find(|condition| condition.type_ == progressing::TYPE)?;
    (progressing.status == ConditionStatus::True).then(|| {
        let message = "An update is in progress; see the condition Progressing. Until it \
            completes, only updates to patch releases are recommended.";
        minor_update_risk(UPDATING, message, "update-in-progress", RiskSource::Updating)
    })
}

/// Objects that a message names; the others are counted.
const MAX_LISTED_OBJECTS: usize = 5;

fn list_objects(objects: &[String]) -> String {
    let listed = objects.iter().take(MAX_LISTED_OBJECTS).cloned().collect::<Vec<_>>().join(", ");
    match objects.len().saturating_sub(MAX_LISTED_OBJECTS) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

/// The risk of overrides: a later minor version would not change the excluded objects.
pub fn overrides(overrides: &[ComponentOverride]) -> Option<ReportedRisk> {
    let unmanaged: Vec<String> =
        overrides.iter().filter(|one| one.unmanaged).map(object_name).collect();
    if unmanaged.is_empty() {
        return None;
    }
    let listed = list_objects(&unmanaged);
    let message = format!(
        "spec.overrides excludes objects from management, so an update to a later minor or major \
        version would not change them: {listed}. Remove the overrides before such an update."
    );
    Some(minor_update_risk(OVERRIDES, &message, "overrides", RiskSource::Overrides))
}

fn object_name(object: &ComponentOverride) -> String {
    let ComponentOverride { kind, namespace, name, .. } = object;
    if namespace.is_empty() {
        format!("{kind} {name}")
    } else {
        format!("{kind} {namespace}/{name}")
    }
}

/// The risk of objects that the running release still deletes: the next minor version may not
/// expect them.
pub fn deletions(objects: &[String]) -> Option<ReportedRisk> {
    if objects.is_empty() {
        return None;
    }
    let listed = list_objects(objects);
    let message = format!(
        "The operator is still deleting objects that the release removes: {listed}. Until \
        it has deleted them, only updates to patch releases are recommended."
    );
    Some(minor_update_risk(DELETIONS, &message, "deletions-in-progress", RiskSource::Deletions))
}

/// A candidate that the update service does not offer. Administrators can accept its risk, but it
/// is never recommended.
pub fn not_offered(release: Release) -> CandidateUpdate {
    let message = format!(
        "The update service has no update from the running version to {}, so the update is \
        untested.",
        release.version
    );
    let name = recommended::NOT_OFFERED_BY_UPDATE_SERVICE.code;
    let risk = Risk::always(name, message, docs("updates-that-are-not-offered"));
    CandidateUpdate { release, risks: vec![risk.into()] }
}
