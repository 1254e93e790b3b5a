//! Report on the preflight of a release: `--status-preflight`.

mod findings;
pub(super) mod text;

use fairway_api::reason::{preflight_completed, preflight_failed, preflight_running};
use fairway_api::{
    ClusterVersion, ClusterVersionStatus, ConditionStatus, Conditions as _, OperatorCondition,
};
use fairway_findings::{CheckKind, CheckReport, CheckStatus, Document, ExecutionStatus};
use fairway_insight::PreflightPhase;
use fairway_insight::fleet::PreflightResult;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::super::release::{ReleaseReference, listed_releases};
use super::records::PreflightRecords;
use crate::exit::ExitStatus;
use crate::output::TypedReport;
pub(super) use findings::PreflightFinding;
use findings::{FindingCounts, OtherRisk};

impl TypedReport for PreflightReport {
    const KIND: &'static str = "PreflightReport";
}

/// Preflight state of a cluster: ClusterVersion and stored results.
#[derive(Clone, Copy)]
pub(super) struct PreflightState<'a> {
    pub(super) cluster_version: &'a ClusterVersion,
    pub(super) records: &'a PreflightRecords,
    pub(super) now: Timestamp,
}

/// Preflight of a release.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PreflightReport {
    /// Target release, `null` if no preflight is requested and no results are kept.
    pub(super) target: Option<ReleaseReference>,
    /// Version of the cluster.
    source_version: Option<String>,
    /// Result of the preflight.
    pub(super) result: PreflightResult,
    /// Phase of the requested preflight, `notRequested` if another release is requested.
    pub(super) phase: PreflightPhase,
    /// Reason of the condition `PreflightFailed` if it is `True`, else of `PreflightRunning`.
    reason: Option<String>,
    /// Message of the condition that provides the reason.
    message: Option<String>,
    /// Latest run.
    pub(super) run: Option<PreflightRun>,
    /// Findings of the checks.
    pub(super) findings: Vec<PreflightFinding>,
    /// Risks of the update that are known without a preflight.
    other_risks: Vec<OtherRisk>,
    /// Other releases with kept results.
    other_releases: Vec<ReleaseReference>,
    /// Why the details of the run are not available.
    details_message: Option<String>,
    /// Whether the details are older than the conditions and will follow.
    #[serde(skip)]
    details_outdated: bool,
    /// Numbers of findings, also known without the details.
    #[serde(skip)]
    counts: FindingCounts,
}

/// Run of a preflight.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PreflightRun {
    /// ID of the run.
    #[serde(rename = "preflightID")]
    preflight_id: String,
    /// Version of the cluster during the run.
    source_version: String,
    /// Execution status of the run.
    execution_status: ExecutionStatus,
    /// Start of the run.
    #[schemars(with = "Option<String>")]
    start_time: Option<Timestamp>,
    /// Time at which all checks had completed once.
    #[schemars(with = "Option<String>")]
    completion_time: Option<Timestamp>,
    /// Time of the latest update of the results.
    #[schemars(with = "Option<String>")]
    pub(super) last_update_time: Option<Timestamp>,
    /// Age of the oldest result of a check.
    pub(super) age_seconds: Option<i64>,
    /// Checks of the components of the release.
    operators: CheckCounts,
    /// Built-in checks.
    built_in: CheckCounts,
    /// Results of the checks.
    #[serde(serialize_with = "serialize_checks")]
    #[schemars(with = "Vec<CheckSummary<'static>>")]
    checks: Vec<CheckReport>,
}

/// Numbers of checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct CheckCounts {
    /// Checks with a result.
    answered: usize,
    /// Checks without a result.
    failed: usize,
    /// All checks.
    total: usize,
}

/// Result of one check.
// Not [`CheckReport`]: its field names belong to the format of results in the cluster.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CheckSummary<'a> {
    /// Name of the component, or of a built-in check such as `removed-apis`.
    name: &'a str,
    /// Owner of the check.
    kind: CheckKind,
    /// Status of the check.
    status: CheckStatus,
    /// Why there is no result, or what the result does not cover.
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    /// Start of the latest execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    start_time: Option<Timestamp>,
    /// End of the latest execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    completion_time: Option<Timestamp>,
    /// Resources that the check watches, such as `nodes`.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    watched_resources: &'a [String],
    /// Whether a watched resource has changed since, so that the check runs again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stale: bool,
    /// Read permissions of this check in addition to those that all checks have, as reported by the
    /// operator that granted them.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    granted_access: &'a [String],
}

impl<'a> From<&'a CheckReport> for CheckSummary<'a> {
    fn from(check: &'a CheckReport) -> Self {
        Self {
            name: &check.name,
            kind: check.kind,
            status: check.status,
            message: &check.message,
            start_time: check.started,
            completion_time: check.ended,
            watched_resources: &check.looked_at,
            stale: check.stale,
            granted_access: &check.granted,
        }
    }
}

fn serialize_checks<S: Serializer>(checks: &[CheckReport], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(checks.iter().map(CheckSummary::from))
}

impl<'a> PreflightState<'a> {
    /// Target of the requested preflight, or of the latest results.
    pub(super) fn default_target(&self) -> Option<ReleaseReference> {
        let latest = || self.records.all().max_by_key(|document| document.updated).map(target_of);
        self.requested().or_else(latest)
    }

    /// Report on the preflight of a release.
    pub(super) fn report(&self, target: Option<ReleaseReference>) -> PreflightReport {
        let target = target.map(|target| self.completed(target));
        let is_target =
            |other: &ReleaseReference| target.as_ref().is_some_and(|it| it.is_same_as(other));
        let phase = self.phase(target.as_ref());
        let document = target.as_ref().and_then(|target| self.document(target));
        let details_outdated = document.is_some_and(|document| self.is_newer_than(document, phase));
        let document = document.filter(|_| !details_outdated);
        let update = target.as_ref().and_then(|target| self.listed_update(target));
        let findings = match (&target, document) {
            (Some(target), Some(document)) => self.findings(target, document),
            _ => Vec::new(),
        };
        let counts = match (&target, document, update) {
            (Some(target), None, Some(update)) => self.summary(target, update),
            _ => FindingCounts::of(&findings),
        };
        let other_risks = target
            .as_ref()
            .zip(update)
            .map(|(target, update)| self.other_risks(target, update, &findings))
            .unwrap_or_default();
        let condition = self.reported_condition(phase);
        PreflightReport {
            source_version: self.source_version().map(str::to_owned),
            result: self.result(phase, document, counts),
            phase,
            reason: condition.and_then(|condition| condition.reason.clone()),
            message: condition.and_then(|condition| condition.message.clone()),
            run: document.map(|document| PreflightRun::of(document, self.now)),
            other_releases: self
                .records
                .all()
                .map(target_of)
                .filter(|other| !is_target(other))
                .collect(),
            details_message: if details_outdated {
                Some("the results are still being written".to_owned())
            } else {
                self.records.missing.clone()
            },
            details_outdated,
            counts,
            target,
            findings,
            other_risks,
        }
    }

    fn status(&self) -> Option<&'a ClusterVersionStatus> {
        self.cluster_version.status.as_ref()
    }

    fn condition(&self, type_: &str) -> Option<&'a OperatorCondition> {
        self.status()?.conditions.find(type_)
    }

    /// Version of the cluster, or of the rollout in progress.
    fn source_version(&self) -> Option<&'a str> {
        Some(self.status()?.desired.version.as_str()).filter(|version| !version.is_empty())
    }

    /// Target of the requested preflight.
    fn requested(&self) -> Option<ReleaseReference> {
        let requested = self.cluster_version.spec.desired_update.as_ref();
        let requested = requested.filter(|requested| requested.mode.is_some());
        requested.map(ReleaseReference::requested)
    }

    /// Adds the image or version of a release that the cluster knows.
    fn completed(&self, target: ReleaseReference) -> ReleaseReference {
        let listed = self.status().into_iter().flat_map(listed_releases);
        target.completed(listed.map(Into::into).chain(self.records.all().map(target_of)))
    }

    /// Latest results of a release.
    pub(super) fn document(&self, target: &ReleaseReference) -> Option<&'a Document> {
        self.records.latest(target.image.as_deref()?)
    }

    /// Phase of the preflight of a release.
    fn phase(&self, target: Option<&ReleaseReference>) -> PreflightPhase {
        let requested = self.requested().map(|requested| self.completed(requested));
        let is_requested =
            requested.zip(target).is_none_or(|(requested, it)| requested.is_same_as(it));
        match PreflightPhase::of(self.cluster_version) {
            PreflightPhase::Unsupported => PreflightPhase::Unsupported,
            phase if is_requested => phase,
            _ => PreflightPhase::NotRequested,
        }
    }

    /// Condition with the failure, else with the progress, of a preflight in that phase.
    fn reported_condition(&self, phase: PreflightPhase) -> Option<&'a OperatorCondition> {
        use PreflightPhase::{NotRequested, Pending, Unsupported};
        if matches!(phase, Unsupported | NotRequested | Pending) {
            return None;
        }
        let failed = self.condition(preflight_failed::TYPE);
        let failed = failed.filter(|failed| failed.status == ConditionStatus::True);
        failed.or_else(|| self.condition(preflight_running::TYPE))
    }

    /// Whether all checks of the requested preflight have a result.
    fn is_completed(&self) -> bool {
        let status = self.status();
        status.is_some_and(|status| status.conditions.is_true(preflight_completed::TYPE))
    }

    /// Whether the conditions are newer than the results, which the operator writes less often.
    fn is_newer_than(&self, document: &Document, phase: PreflightPhase) -> bool {
        phase == PreflightPhase::Monitoring
            && (document.execution_status == ExecutionStatus::Running
                || self.is_completed() && !document.is_complete())
    }

    fn result(
        &self,
        phase: PreflightPhase,
        document: Option<&Document>,
        counts: FindingCounts,
    ) -> PreflightResult {
        match (phase, document) {
            (PreflightPhase::Unsupported, _) => PreflightResult::Unsupported,
            (PreflightPhase::Stopped | PreflightPhase::Held, _) => PreflightResult::Failed,
            _ if phase.is_in_progress() => PreflightResult::Running,
            (PreflightPhase::Monitoring, _) if !self.is_completed() => PreflightResult::Incomplete,
            (_, Some(document)) => self.document_result(document, counts),
            (PreflightPhase::Monitoring, None) => counts.result(),
            (_, None) if counts.total == 0 => PreflightResult::NotRun,
            (_, None) => PreflightResult::Incomplete,
        }
    }

    /// Result of a document for the current version of the cluster.
    fn document_result(&self, document: &Document, counts: FindingCounts) -> PreflightResult {
        if Some(document.source_version.as_str()) != self.source_version() {
            PreflightResult::Outdated
        } else if document.execution_status == ExecutionStatus::Failed {
            PreflightResult::Failed
        } else if document.is_current() {
            counts.result()
        } else if document.is_complete() {
            PreflightResult::Stale
        } else {
            PreflightResult::Incomplete
        }
    }
}

/// Target release of a document.
fn target_of(document: &Document) -> ReleaseReference {
    ReleaseReference::known(&document.target_version, &document.target_image)
}

impl PreflightRun {
    fn of(document: &Document, now: Timestamp) -> Self {
        let age = |then: Timestamp| now.duration_since(then).as_secs();
        Self {
            preflight_id: document.preflight_id.clone(),
            source_version: document.source_version.clone(),
            execution_status: document.execution_status,
            start_time: document.started,
            completion_time: document.completed,
            last_update_time: document.updated,
            age_seconds: document.oldest_result().map(age),
            operators: CheckCounts::of(document, CheckKind::Operator),
            built_in: CheckCounts::of(document, CheckKind::BuiltIn),
            checks: document.checks.clone(),
        }
    }
}

impl CheckCounts {
    fn of(document: &Document, kind: CheckKind) -> Self {
        let progress = document.progress(kind);
        Self { answered: progress.answered, failed: progress.failed, total: progress.total }
    }
}

impl PreflightReport {
    /// Adapts the report to a withdrawn request: the operator does not monitor the preflight any
    /// more. A failure stays.
    pub(super) fn withdrawn(self) -> Self {
        if self.phase != PreflightPhase::Monitoring {
            return self;
        }
        let has_failed = self.reason.as_deref() != Some(preflight_running::MONITORING.code);
        Self {
            phase: PreflightPhase::NotRequested,
            reason: self.reason.filter(|_| has_failed),
            message: self.message.filter(|_| has_failed),
            ..self
        }
    }

    /// Unaccepted findings that block the update.
    pub(super) fn unaccepted(&self) -> impl Iterator<Item = &PreflightFinding> {
        self.findings.iter().filter(|finding| finding.acceptance_required && !finding.is_accepted())
    }

    /// Exit status of a command. Findings count even if other checks have no current result.
    pub(super) fn exit_status(&self) -> ExitStatus {
        match self.result {
            PreflightResult::NoFindings | PreflightResult::FindingsAccepted => ExitStatus::Success,
            PreflightResult::Findings => ExitStatus::Refused,
            PreflightResult::Incomplete | PreflightResult::Stale if self.counts.unaccepted > 0 => {
                ExitStatus::Refused
            }
            _ => ExitStatus::Unknown,
        }
    }

    /// Whether the report has the details, or will not get them.
    pub(super) fn has_details(&self) -> bool {
        !self.details_outdated && (self.run.is_some() || self.details_message.is_some())
    }
}

#[cfg(test)]
mod tests;
