//! Findings of a preflight, their summary in ClusterVersion, and other risks of the update.

use fairway_api::ConditionStatus;
use fairway_api::cluster_version::ConditionalUpdate;
use fairway_findings::{Document, Finding, Reason, Severity};
use fairway_insight::fleet::PreflightResult;
use fairway_risk::AcceptanceState;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::super::release::ReleaseReference;
use super::super::super::risks::{self, Exposure};
use super::PreflightState;
use crate::errors::OpenRisk;

/// Risks about the preflight itself: it is running, or incomplete.
const RUN_RISKS: [&str; 2] = ["PreflightInProgress", "PreflightIncomplete"];

/// Prefix of the reasons of `Applies` that preflights use.
const REASON_PREFIX: &str = "Preflight";

/// Finding of a preflight.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct PreflightFinding {
    /// Name by which the finding is accepted.
    pub(in super::super) name: String,
    /// Severity, if the details of the run are available.
    pub(in super::super) severity: Option<Severity>,
    /// Certainty of the finding: a reason of the condition `Applies`.
    pub(super) reason: String,
    /// Description of the problem.
    pub(super) message: String,
    /// Page about the finding.
    pub(super) url: Option<String>,
    /// Instruction that resolves the problem.
    pub(super) remediation: Option<String>,
    /// Name of the check.
    pub(super) check: Option<String>,
    /// Whether the finding blocks the update until it is accepted.
    pub(in super::super) acceptance_required: bool,
    /// State of the acceptance.
    acceptance: &'static str,
    #[serde(skip)]
    pub(super) acceptance_state: AcceptanceState,
}

impl PreflightFinding {
    /// Whether the check did not complete.
    pub(in super::super) fn is_inconclusive(&self) -> bool {
        self.reason != Reason::PreflightValidation.to_string()
    }

    pub(in super::super) fn is_accepted(&self) -> bool {
        self.acceptance_state.is_accepted()
    }

    /// The finding in the document of a refusal.
    pub(in super::super) fn refusal(&self) -> OpenRisk {
        let exposure = if self.is_inconclusive() { Exposure::Unknown } else { Exposure::Exposed };
        OpenRisk {
            name: self.name.clone(),
            exposure: exposure.into(),
            message: Some(self.message.clone()),
            url: self.url.clone(),
            acceptance: self.acceptance,
        }
    }
}

/// Numbers of findings.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FindingCounts {
    /// All findings.
    pub(super) total: usize,
    /// Findings that block the update until they are accepted.
    pub(super) blocking: usize,
    /// Blocking findings that are not accepted.
    pub(super) unaccepted: usize,
}

impl FindingCounts {
    pub(super) fn of(findings: &[PreflightFinding]) -> Self {
        let blocking = || findings.iter().filter(|finding| finding.acceptance_required);
        Self {
            total: findings.len(),
            blocking: blocking().count(),
            unaccepted: blocking().filter(|finding| !finding.is_accepted()).count(),
        }
    }

    /// Result of a preflight with a result of every check.
    pub(super) fn result(self) -> PreflightResult {
        match self {
            Self { blocking: 0, .. } => PreflightResult::NoFindings,
            Self { unaccepted: 0, .. } => PreflightResult::FindingsAccepted,
            _ => PreflightResult::Findings,
        }
    }
}

/// Risk of the update that is known without a preflight.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OtherRisk {
    /// Name by which the risk is accepted.
    pub(super) name: String,
    /// Whether the risk applies to the cluster.
    pub(super) exposure: Exposure,
    /// Description of the risk.
    pub(super) message: Option<String>,
    /// State of the acceptance.
    acceptance: &'static str,
    #[serde(skip)]
    pub(super) acceptance_state: AcceptanceState,
}

impl<'a> PreflightState<'a> {
    /// Conditional update to a release.
    pub(super) fn listed_update(&self, target: &ReleaseReference) -> Option<&'a ConditionalUpdate> {
        let mut updates = self.status()?.conditional_updates.iter();
        updates.find(|update| ReleaseReference::from(&update.release).is_same_as(target))
    }

    /// Findings of a run, blocking ones first, then by severity.
    pub(super) fn findings(
        &self,
        target: &ReleaseReference,
        document: &Document,
    ) -> Vec<PreflightFinding> {
        let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let finding = |finding: &Finding| {
            let acceptance_state = self.acceptance_state(&finding.name, target);
            PreflightFinding {
                name: finding.name.clone(),
                severity: Some(finding.severity),
                reason: finding.reason.to_string(),
                message: finding.message.clone(),
                url: given(&finding.url),
                remediation: given(&finding.remediation),
                check: given(&finding.check),
                acceptance_required: finding.blocks_update(),
                acceptance: acceptance_state.as_str(),
                acceptance_state,
            }
        };
        let mut findings: Vec<PreflightFinding> = document.risks.iter().map(finding).collect();
        findings.sort_by(|one, other| {
            let key = |finding: &PreflightFinding| (finding.acceptance_required, finding.severity);
            key(other).cmp(&key(one)).then_with(|| one.name.cmp(&other.name))
        });
        findings
    }

    /// Summary of the findings in ClusterVersion, for users who cannot read the details.
    pub(super) fn summary(
        &self,
        target: &ReleaseReference,
        update: &ConditionalUpdate,
    ) -> FindingCounts {
        let mut counts = FindingCounts::default();
        let Some(status) = self.status() else { return counts };
        for name in risks::names(update) {
            let applies = risks::applies_condition(status, update, name);
            let Some(applies) = applies.filter(|it| it.reason.starts_with(REASON_PREFIX)) else {
                continue;
            };
            if RUN_RISKS.contains(&name) {
                continue;
            }
            let is_blocking = applies.reason == Reason::PreflightValidation.to_string()
                && applies.status == ConditionStatus::True;
            let is_accepted = self.acceptance_state(name, target).is_accepted();
            counts.total += 1;
            counts.blocking += usize::from(is_blocking);
            counts.unaccepted += usize::from(is_blocking && !is_accepted);
        }
        counts
    }

    /// Risks of the update that no preflight has found.
    pub(super) fn other_risks(
        &self,
        target: &ReleaseReference,
        update: &ConditionalUpdate,
        findings: &[PreflightFinding],
    ) -> Vec<OtherRisk> {
        let Some(status) = self.status() else { return Vec::new() };
        let other = |name: &str| {
            let applies = risks::applies_condition(status, update, name);
            let of_preflight = applies.is_some_and(|it| it.reason.starts_with(REASON_PREFIX));
            let acceptance_state = self.acceptance_state(name, target);
            let exposure = Exposure::of(status, update, name, acceptance_state.is_accepted());
            let is_other = !of_preflight && exposure.may_apply();
            is_other.then(|| OtherRisk {
                name: name.to_owned(),
                exposure,
                message: risks::definition(status, name).map(|risk| risk.message.clone()),
                acceptance: acceptance_state.as_str(),
                acceptance_state,
            })
        };
        let is_found = |name: &str| findings.iter().any(|finding| finding.name == name);
        risks::names(update).into_iter().filter(|name| !is_found(name)).filter_map(other).collect()
    }

    fn acceptance_state(&self, name: &str, target: &ReleaseReference) -> AcceptanceState {
        let hash = self.status().map(|status| risks::definition_hash(status, name));
        let version = target.version.as_deref().unwrap_or_default();
        let acceptance = risks::acceptance(self.cluster_version);
        acceptance.state(name, version, &hash.unwrap_or_default(), self.now)
    }
}
