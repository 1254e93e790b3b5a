//! The risk ledger of this cluster and its verdicts.

use std::collections::BTreeSet;
use std::sync::Arc;

use fairway_api::cluster_version::Release;
use fairway_risk::{
    Acceptance, CandidateUpdate, EvaluationInput, Ledger, LedgerEvaluation, OmittedUpdate,
    PreviousEvaluation, QueryOutcomes, QueryPolicy, RiskSource, UpdateVerdict,
};
use jiff::Timestamp;

use super::Risks;
use super::inputs::View;
use crate::metrics;

/// The current ledger, and the last published evaluation.
pub(super) struct LedgerCache {
    policy: QueryPolicy,
    ledger: Arc<Ledger>,
    previous: Option<Arc<PreviousEvaluation>>,
    /// Refused queries; each is counted and logged once.
    refused: BTreeSet<String>,
    /// Updates that the status omits, and invalid entries of the acceptance; each is logged once.
    withheld: Vec<OmittedUpdate>,
    problems: Vec<String>,
    metrics: metrics::Queries,
}

impl LedgerCache {
    pub(super) fn new(policy: QueryPolicy, metrics: metrics::Queries) -> Self {
        let (ledger, previous) = (Arc::default(), None);
        let (refused, withheld, problems) = (BTreeSet::new(), Vec::new(), Vec::new());
        Self { policy, ledger, previous, refused, withheld, problems, metrics }
    }

    /// Builds the ledger from the latest inputs.
    pub(super) fn update(&mut self, view: &View) {
        self.count_refused(&view.updates.candidates);
        let problems: Vec<String> = view.acceptance.problems().collect();
        for problem in problems.iter().filter(|problem| !self.problems.contains(problem)) {
            tracing::warn!(error = problem, "accepted risk ignored");
        }
        self.problems = problems;
        let (candidates, concerns) = (view.candidates.clone(), view.concerns.clone());
        self.ledger = Arc::new(Ledger::new(&view.current, candidates, concerns));
        let status = view.cluster_version.status.as_ref();
        let before = || Arc::new(status.map(PreviousEvaluation::from).unwrap_or_default());
        self.previous.get_or_insert_with(before);
    }

    /// Evaluates the ledger with query results.
    pub(super) fn evaluate(&self, view: &View, outcomes: QueryOutcomes, now: Timestamp) -> Risks {
        let verdicts = VerdictContext {
            ledger: Arc::clone(&self.ledger),
            outcomes,
            policy: self.policy.clone(),
            acceptance: view.acceptance.clone(),
            previous: self.previous.clone().unwrap_or_default(),
        };
        let evaluated = self.ledger.evaluate(verdicts.round(now));
        let graph_digest = view.updates.graph_digest.clone();
        let (generation, current) = (view.generation, view.current.clone());
        let (is_answered, preflight_results) = (view.is_answered, view.preflight_results.clone());
        Risks {
            generation,
            current,
            is_answered,
            graph_digest,
            evaluated,
            verdicts,
            preflight_results,
        }
    }

    /// Stores a published evaluation, and logs the updates that the status omits.
    pub(super) fn set_published(&mut self, evaluated: &LedgerEvaluation) {
        for withheld in evaluated.withheld.iter().filter(|one| !self.withheld.contains(one)) {
            tracing::warn!(error = %withheld, "update omitted from status");
        }
        self.withheld.clone_from(&evaluated.withheld);
        self.previous = Some(Arc::new(PreviousEvaluation::from(evaluated)));
    }

    /// Counts and logs queries that the policy refuses.
    fn count_refused(&mut self, candidates: &[CandidateUpdate]) {
        let risks = candidates.iter().flat_map(|candidate| &candidate.risks);
        let rules = risks.flat_map(|risk| &risk.matching_rules);
        let queries = rules.filter_map(|rule| rule.promql.as_ref()).map(|rule| &rule.promql);
        let refused: BTreeSet<String> = queries
            .collect::<BTreeSet<_>>()
            .into_iter()
            .filter(|query| self.policy.check(query).is_err())
            .cloned()
            .collect();
        for query in refused.difference(&self.refused) {
            self.metrics.refused();
            let query: String = query.chars().take(MAX_LOGGED_CHARS).collect();
            tracing::warn!(query, "risk query refused by policy");
        }
        self.refused = refused;
    }
}

/// Maximum characters of a query in the log.
const MAX_LOGGED_CHARS: usize = 200;

/// Everything that a verdict depends on, except the time.
#[derive(Clone, Debug, Default)]
pub struct VerdictContext {
    pub(super) ledger: Arc<Ledger>,
    pub(super) outcomes: QueryOutcomes,
    pub(super) policy: QueryPolicy,
    pub(super) acceptance: Acceptance,
    pub(super) previous: Arc<PreviousEvaluation>,
}

impl VerdictContext {
    /// The verdict on an update to a release.
    pub fn verdict(&self, release: &Release, now: Timestamp) -> UpdateVerdict {
        self.ledger.verdict(release, self.round(now))
    }

    /// Risks that only the update service and alerts report. They are recommendations; all others
    /// are about a cluster that is not ready for an update.
    pub fn advice(&self) -> BTreeSet<String> {
        let advises =
            |source: &&RiskSource| matches!(source, RiskSource::Graph | RiskSource::Alert);
        let sources = self.ledger.sources().into_iter();
        let advice = sources.filter(|(_, sources)| sources.iter().all(advises));
        advice.map(|(name, _)| name.to_owned()).collect()
    }

    pub(super) fn round(&self, now: Timestamp) -> EvaluationInput<'_> {
        EvaluationInput {
            outcomes: &self.outcomes,
            policy: &self.policy,
            acceptance: &self.acceptance,
            previous: &self.previous,
            now,
        }
    }
}

// Without `previous`: it equals the current evaluation once that is published.
impl PartialEq for VerdictContext {
    fn eq(&self, other: &Self) -> bool {
        (Arc::ptr_eq(&self.ledger, &other.ledger) || self.ledger == other.ledger)
            && self.outcomes == other.outcomes
            && self.acceptance == other.acceptance
            && self.policy == other.policy
    }
}

#[cfg(test)]
mod tests {
    use fairway_risk::{AffectedUpdates, CandidateUpdate, ReportedRisk, Risk};
    use fairway_testkit::objects::release;

    use super::*;

    #[test]
    fn advice_excludes_risks_of_the_cluster() {
        let risk = |name: &str| Risk::always(name, "It breaks.", "https://example.com");
        let edge = ["DiskLoss", "Both"].map(|name| risk(name).into()).to_vec();
        let candidates = vec![CandidateUpdate { release: release("5.1.0"), risks: edge }];
        let says = |name: &str, source| ReportedRisk {
            risk: risk(name),
            source,
            targets: AffectedUpdates::All,
        };
        let concerns = vec![
            says("Alert", RiskSource::Alert),
            says("Both", RiskSource::Overrides),
            says("Updating", RiskSource::Updating),
            says("Preflight", RiskSource::Preflight),
        ];
        let ledger = Arc::new(Ledger::new("5.0.0", candidates, concerns));
        let advice = VerdictContext { ledger, ..VerdictContext::default() }.advice();
        assert_eq!(advice, ["Alert", "DiskLoss"].map(str::to_owned).into());
    }
}
