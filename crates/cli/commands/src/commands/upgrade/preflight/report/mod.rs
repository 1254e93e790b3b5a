//! What is known about the preflight of a release: the answer of `--status-preflight`.

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

/// What is known about the preflight of a release.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    /// The release; none where no preflight is asked for and nothing is kept.
    pub(super) target: Option<Named>,
    /// The version that the cluster has.
    source_version: Option<String>,
    /// What it comes to.
    pub(super) result: Verdict,
    /// How far the preflight is that is asked for; that of another release is `notRequested`.
    pub(super) phase: Phase,
    /// What the operator says about it.
    reason: Option<String>,
    message: Option<String>,
    /// What is known about the run that answered last.
    pub(super) run: Option<Run>,
    /// What was found.
    pub(super) findings: Vec<Finding>,
    /// Risks that are known without a preflight.
    other_risks: Vec<OtherRisk>,
    /// Other releases of which results are kept.
    others: Vec<Named>,
    /// Why the details are not at hand.
    details_missing: Option<String>,
    /// Whether they will be in a moment.
    #[serde(skip)]
    is_behind: bool,
}

/// One run.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Run {
    #[serde(rename = "preflightID")]
    preflight_id: String,
    /// The version that it looked at.
    source_version: String,
    execution_status: ExecutionStatus,
    #[schemars(with = "Option<String>")]
    started: Option<Timestamp>,
    #[schemars(with = "Option<String>")]
    completed: Option<Timestamp>,
    #[schemars(with = "Option<String>")]
    pub(super) updated: Option<Timestamp>,
    /// How old the oldest of its answers is.
    pub(super) age_seconds: Option<i64>,
    operators: Counts,
    built_in: Counts,
    checks: Vec<CheckReport>,
}

/// How many checks have come to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct Counts {
    answered: usize,
    failed: usize,
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
            others: self.records.all().map(named).filter(|named| !is_target(named)).collect(),
            details_missing: if is_behind {
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
    let mut counting = findings.iter().filter(|finding| finding.counts).peekable();
    if counting.peek().is_none() {
        Verdict::NothingFound
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
            started: document.started,
            completed: document.completed,
            updated: document.updated,
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
        self.findings.iter().filter(|finding| finding.counts && !finding.is_accepted())
    }

    /// How a command ends with it. What is found stands, also where others have to look again.
    pub(super) fn exit_status(&self) -> ExitStatus {
        match self.result {
            Verdict::NothingFound | Verdict::FindingsAccepted => ExitStatus::Yes,
            Verdict::Findings => ExitStatus::No,
            Verdict::Incomplete | Verdict::Stale if self.open().next().is_some() => ExitStatus::No,
            _ => ExitStatus::CannotTell,
        }
    }

    /// Whether it says as much as there is to say.
    pub(super) fn has_details(&self) -> bool {
        !self.is_behind && (self.run.is_some() || self.details_missing.is_some())
    }
}

#[cfg(test)]
mod tests;
