//! What is known about the preflight of a release: the answer of `--status-preflight`.

mod checks;
mod findings;
pub(super) mod text;

use fairway_api::reason::{preflight_completed, preflight_failed, preflight_running};
use fairway_api::{ClusterVersion, ClusterVersionStatus, Conditions as _, OperatorCondition};
use fairway_findings::{CheckKind, CheckReport, Document, ExecutionStatus};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::request::outcome::Named;
use super::phase::Phase;
use super::records::Records;
use super::release;
use crate::exit::ExitStatus;
use checks::CheckSummary;
pub(super) use fairway_insight::fleet::PreflightResult as Verdict;
pub(super) use findings::Finding;
use findings::OtherRisk;

/// Everything that is looked at.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) cluster_version: &'a ClusterVersion,
    pub(super) records: &'a Records,
    pub(super) now: Timestamp,
}

/// Preflight of a release.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    /// Target release, `null` if no preflight is requested and no results are kept.
    pub(super) target: Option<Named>,
    /// Version of the cluster.
    source_version: Option<String>,
    /// Result of the preflight.
    pub(super) result: Verdict,
    /// Phase of the requested preflight, `notRequested` if another release is requested.
    pub(super) phase: Phase,
    /// Reason of the condition `PreflightFailed` if it is `True`, else of `PreflightRunning`.
    reason: Option<String>,
    /// Message of the same condition.
    message: Option<String>,
    /// Latest run.
    pub(super) run: Option<Run>,
    /// Findings of the checks.
    pub(super) findings: Vec<Finding>,
    /// Risks of the update that are known without a preflight.
    other_risks: Vec<OtherRisk>,
    /// Other releases with kept results.
    other_releases: Vec<Named>,
    /// Why the details of the run are not available.
    details_message: Option<String>,
    /// Whether they will be in a moment.
    #[serde(skip)]
    is_behind: bool,
}

/// Run of a preflight.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Run {
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
    operators: Counts,
    /// Built-in checks.
    built_in: Counts,
    /// Results of the checks.
    #[serde(serialize_with = "checks::serialize")]
    #[schemars(with = "Vec<CheckSummary<'static>>")]
    checks: Vec<CheckReport>,
}

/// Numbers of checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct Counts {
    /// Checks with a result.
    answered: usize,
    /// Checks without a result.
    failed: usize,
    /// All checks.
    total: usize,
}

impl<'a> Look<'a> {
    /// The release that is asked about, else that of which results came last.
    pub(super) fn usual_target(&self) -> Option<Named> {
        let asked = self.cluster_version.spec.desired_update.as_ref();
        let asked = asked.filter(|asked| asked.mode.is_some()).map(Named::asked);
        let latest = || self.records.all().max_by_key(|document| document.updated).map(named);
        asked.or_else(latest)
    }

    /// What is known about the preflight of that release.
    pub(super) fn report(&self, target: Option<Named>) -> Report {
        let target = target.map(|target| self.completed(target));
        let is_target =
            |named: &Named| target.as_ref().is_some_and(|it| release::is_same(it, named));
        let phase = self.phase(target.as_ref());
        let document = target.as_ref().and_then(|target| self.document(target));
        let is_behind = document.is_some_and(|document| self.is_ahead_of(document, phase));
        let document = document.filter(|_| !is_behind);
        let (findings, other_risks) = match &target {
            Some(target) => self.risks(target, document),
            None => (Vec::new(), Vec::new()),
        };
        let said = self.said(phase);
        Report {
            source_version: self.source_version().map(str::to_owned),
            result: self.verdict(phase, document, &findings),
            phase,
            reason: said.and_then(|condition| condition.reason.clone()),
            message: said.and_then(|condition| condition.message.clone()),
            run: document.map(|document| Run::of(document, self.now)),
            other_releases: self
                .records
                .all()
                .map(named)
                .filter(|named| !is_target(named))
                .collect(),
            details_message: if is_behind {
                Some("the results are still being written".to_owned())
            } else {
                self.records.missing.clone()
            },
            is_behind,
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

    /// The version that the cluster has, or is on its way to.
    fn source_version(&self) -> Option<&'a str> {
        Some(self.status()?.desired.version.as_str()).filter(|version| !version.is_empty())
    }

    /// The release with its image and its version, as far as the cluster knows them.
    fn completed(&self, target: Named) -> Named {
        let listed = self.status().into_iter().flat_map(release::listed).map(Named::of);
        release::complete(target, listed.chain(self.records.all().map(named)))
    }

    /// The latest answers of that release.
    pub(super) fn document(&self, target: &Named) -> Option<&'a Document> {
        self.records.latest(target.image.as_deref()?)
    }

    /// How far the preflight of that release is.
    fn phase(&self, target: Option<&Named>) -> Phase {
        let asked = self.cluster_version.spec.desired_update.as_ref();
        let asked = asked.filter(|asked| asked.mode.is_some()).map(Named::asked);
        let asked = asked.map(|asked| self.completed(asked));
        let is_about = asked.zip(target).is_none_or(|(asked, it)| release::is_same(&asked, it));
        match Phase::of(self.cluster_version) {
            Phase::Unsupported => Phase::Unsupported,
            phase if is_about => phase,
            _ => Phase::NotRequested,
        }
    }

    /// What the operator says about a preflight in that phase: what went wrong, else how far it is.
    fn said(&self, phase: Phase) -> Option<&'a OperatorCondition> {
        if matches!(phase, Phase::Unsupported | Phase::NotRequested | Phase::Pending) {
            return None;
        }
        let failed = self.condition(preflight_failed::TYPE);
        let failed = failed.filter(|failed| failed.status == fairway_api::ConditionStatus::True);
        failed.or_else(|| self.condition(preflight_running::TYPE))
    }

    /// Whether the summary says that all checks of the request have answered.
    fn is_completed(&self) -> bool {
        let status = self.status();
        status.is_some_and(|status| status.conditions.is_true(preflight_completed::TYPE))
    }

    /// Whether the summary tells more than the details, which are written less often.
    fn is_ahead_of(&self, document: &Document, phase: Phase) -> bool {
        phase == Phase::Monitoring
            && (document.execution_status == ExecutionStatus::Running
                || self.is_completed() && !document.is_complete())
    }

    fn verdict(&self, phase: Phase, document: Option<&Document>, findings: &[Finding]) -> Verdict {
        match (phase, document) {
            (Phase::Unsupported, _) => Verdict::Unsupported,
            (Phase::Stopped | Phase::Held, _) => Verdict::Failed,
            _ if phase.is_under_way() => Verdict::Running,
            (Phase::Monitoring, _) if !self.is_completed() => Verdict::Incomplete,
            (_, Some(document)) => self.of_document(document, findings),
            (Phase::Monitoring, None) => of_findings(findings),
            (_, None) if findings.is_empty() => Verdict::NotRun,
            (_, None) => Verdict::Incomplete,
        }
    }

    /// What complete answers about the present version come to.
    fn of_document(&self, document: &Document, findings: &[Finding]) -> Verdict {
        if Some(document.source_version.as_str()) != self.source_version() {
            Verdict::Outdated
        } else if document.execution_status == ExecutionStatus::Failed {
            Verdict::Failed
        } else if document.is_current() {
            of_findings(findings)
        } else if document.is_complete() {
            Verdict::Stale
        } else {
            Verdict::Incomplete
        }
    }
}

fn of_findings(findings: &[Finding]) -> Verdict {
    let mut counting = findings.iter().filter(|finding| finding.acceptance_required).peekable();
    if counting.peek().is_none() {
        Verdict::NoFindings
    } else if counting.all(Finding::is_accepted) {
        Verdict::FindingsAccepted
    } else {
        Verdict::Findings
    }
}

/// The release that a document is about.
fn named(document: &Document) -> Named {
    let known = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    Named { version: known(&document.target_version), image: known(&document.target_image) }
}

impl Run {
    fn of(document: &Document, now: Timestamp) -> Self {
        let age = |then: Timestamp| now.duration_since(then).as_secs();
        Self {
            preflight_id: document.preflight_id.clone(),
            source_version: document.source_version.clone(),
            execution_status: document.execution_status,
            start_time: document.started,
            completion_time: document.completed,
            last_update_time: document.updated,
            age_seconds: document.oldest_answer().map(age),
            operators: Counts::of(document, CheckKind::Operator),
            built_in: Counts::of(document, CheckKind::BuiltIn),
            checks: document.checks.clone(),
        }
    }
}

impl Counts {
    fn of(document: &Document, kind: CheckKind) -> Self {
        let progress = document.progress(kind);
        Self { answered: progress.answered, failed: progress.failed, total: progress.total }
    }
}

impl Report {
    /// The same, once nobody asks for it any more: that the operator goes on with it holds no
    /// longer; what went wrong does.
    pub(super) fn withdrawn(self) -> Self {
        if self.phase != Phase::Monitoring {
            return self;
        }
        let went_wrong = self.reason.as_deref() != Some(preflight_running::MONITORING.code);
        Self {
            phase: Phase::NotRequested,
            reason: self.reason.filter(|_| went_wrong),
            message: self.message.filter(|_| went_wrong),
            ..self
        }
    }

    /// The findings that count and are not accepted.
    pub(super) fn open(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.acceptance_required && !finding.is_accepted())
    }

    /// How a command ends with it. What is found stands, also where others have to look again.
    pub(super) fn exit_status(&self) -> ExitStatus {
        match self.result {
            Verdict::NoFindings | Verdict::FindingsAccepted => ExitStatus::Success,
            Verdict::Findings => ExitStatus::Refused,
            Verdict::Incomplete | Verdict::Stale if self.open().next().is_some() => {
                ExitStatus::Refused
            }
            _ => ExitStatus::Unknown,
        }
    }

    /// Whether it says as much as there is to say.
    pub(super) fn has_details(&self) -> bool {
        !self.is_behind && (self.run.is_some() || self.details_message.is_some())
    }
}

#[cfg(test)]
mod tests;
