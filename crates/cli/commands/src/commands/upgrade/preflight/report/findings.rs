//! What was found, and which other risks are known.

use std::collections::BTreeSet;

use fairway_api::ConditionStatus;
use fairway_api::cluster_version::ConditionalUpdate;
use fairway_findings::{Document, Reason, Severity};
use fairway_risk::Standing;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::super::request::outcome::Named;
use super::super::super::risks::{self, Exposure};
use super::super::release;
use super::Look;
use crate::errors::{self, OpenRisk};

/// Risks that stand for the preflight itself: how far it is, and that it is not whole.
const OF_THE_RUN: [&str; 2] = ["PreflightInProgress", "PreflightIncomplete"];

/// How the reasons of preflights begin.
const PREFLIGHT: &str = "Preflight";

/// Finding of a preflight.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Finding {
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
    pub(super) standing: Standing,
}

impl Finding {
    /// Whether no check was carried out to its end that says so.
    pub(in super::super) fn is_unsure(&self) -> bool {
        self.reason != Reason::PreflightValidation.to_string()
    }

    pub(in super::super) fn is_accepted(&self) -> bool {
        self.standing.is_accepted()
    }

    /// What a refusal says about it.
    pub(in super::super) fn refused(&self) -> OpenRisk {
        let is_unsure = self.is_unsure();
        OpenRisk {
            name: self.name.clone(),
            exposure: if is_unsure { errors::Exposure::Unknown } else { errors::Exposure::Exposed },
            message: Some(self.message.clone()),
            url: self.url.clone(),
            acceptance: self.acceptance,
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
    pub(super) standing: Standing,
}

impl Look<'_> {
    /// What was found about a release, from the details or else from the summary; and which risks
    /// are known beside that.
    pub(super) fn risks(
        &self,
        target: &Named,
        document: Option<&Document>,
    ) -> (Vec<Finding>, Vec<OtherRisk>) {
        let update = self.status().and_then(|status| {
            let mut updates = status.conditional_updates.iter();
            updates.find(|update| release::is_same(&Named::of(&update.release), target))
        });
        let mut findings = match document {
            Some(document) => self.detailed(target, document),
            None => update.map(|update| self.summarised(target, update)).unwrap_or_default(),
        };
        // The worst first, and what does not count last.
        findings.sort_by(|one, other| {
            let key = |finding: &Finding| (finding.acceptance_required, finding.severity);
            key(other).cmp(&key(one)).then_with(|| one.name.cmp(&other.name))
        });
        let found: BTreeSet<&str> = findings.iter().map(|finding| finding.name.as_str()).collect();
        let others = update.map(|update| self.others(target, update, &found)).unwrap_or_default();
        (findings, others)
    }

    fn detailed(&self, target: &Named, document: &Document) -> Vec<Finding> {
        let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let finding = |finding: &fairway_findings::Finding| {
            let standing = self.standing(&finding.name, target);
            Finding {
                name: finding.name.clone(),
                severity: Some(finding.severity),
                reason: finding.reason.to_string(),
                message: finding.message.clone(),
                url: given(&finding.url),
                remediation: given(&finding.remediation),
                check: given(&finding.check),
                acceptance_required: finding.reason == Reason::PreflightValidation
                    && finding.severity >= Severity::Warning,
                acceptance: standing.word(),
                standing,
            }
        };
        document.risks.iter().map(finding).collect()
    }

    fn summarised(&self, target: &Named, update: &ConditionalUpdate) -> Vec<Finding> {
        let Some(status) = self.status() else { return Vec::new() };
        let finding = |name: &str| {
            let applies = risks::applies(status, update, name)?;
            let definition = risks::definition(status, name);
            let standing = self.standing(name, target);
            let is_finding = applies.reason.starts_with(PREFLIGHT) && !OF_THE_RUN.contains(&name);
            is_finding.then(|| Finding {
                name: name.to_owned(),
                severity: None,
                reason: applies.reason.clone(),
                message: definition.map(|risk| risk.message.clone()).unwrap_or_default(),
                url: definition.map(|risk| risk.url.clone()),
                remediation: None,
                check: None,
                acceptance_required: applies.reason == Reason::PreflightValidation.to_string()
                    && applies.status == ConditionStatus::True,
                acceptance: standing.word(),
                standing,
            })
        };
        risks::names(update).into_iter().filter_map(finding).collect()
    }

    fn others(
        &self,
        target: &Named,
        update: &ConditionalUpdate,
        found: &BTreeSet<&str>,
    ) -> Vec<OtherRisk> {
        let Some(status) = self.status() else { return Vec::new() };
        let other = |name: &str| {
            let applies = risks::applies(status, update, name);
            let of_preflight = applies.is_some_and(|it| it.reason.starts_with(PREFLIGHT));
            let standing = self.standing(name, target);
            let exposure = Exposure::of(status, update, name, standing.is_accepted());
            let is_other = !of_preflight && exposure != Exposure::NotExposed;
            is_other.then(|| OtherRisk {
                name: name.to_owned(),
                exposure,
                message: risks::definition(status, name).map(|risk| risk.message.clone()),
                acceptance: standing.word(),
                standing,
            })
        };
        let names = risks::names(update).into_iter().filter(|name| !found.contains(name));
        names.filter_map(other).collect()
    }

    fn standing(&self, name: &str, target: &Named) -> Standing {
        let hash = self.status().map(|status| risks::definition_hash(status, name));
        let version = target.version.as_deref().unwrap_or_default();
        let acceptance = risks::acceptance(self.cluster_version);
        acceptance.standing(name, version, &hash.unwrap_or_default(), self.now)
    }
}
