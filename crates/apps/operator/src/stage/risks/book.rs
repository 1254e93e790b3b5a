//! The ledger at hand, and what was said last.

use std::collections::BTreeSet;
use std::sync::Arc;

use fairway_risk::{Candidate, Evaluated, Ledger, Outcomes, Previous, QueryPolicy, Withheld};
use jiff::Timestamp;

use super::inputs::View;
use super::{Judge, Risks};
use crate::metrics;

/// The ledger, and what was said last.
pub(super) struct Book {
    policy: QueryPolicy,
    ledger: Arc<Ledger>,
    previous: Option<Arc<Previous>>,
    /// The queries that are not sent, so that each is counted and logged once.
    refused: BTreeSet<String>,
    /// The updates that the status has no room for, and what is wrong with the acceptance: each
    /// is logged once.
    withheld: Vec<Withheld>,
    problems: Vec<String>,
    metrics: metrics::Queries,
}

impl Book {
    pub(super) fn new(policy: QueryPolicy, metrics: metrics::Queries) -> Self {
        let (ledger, previous) = (Arc::default(), None);
        let (refused, withheld, problems) = (BTreeSet::new(), Vec::new(), Vec::new());
        Self { policy, ledger, previous, refused, withheld, problems, metrics }
    }

    /// Enters what is seen in the cluster.
    pub(super) fn enter(&mut self, view: &View) {
        self.refuse(&view.updates.candidates);
        let problems: Vec<String> = view.acceptance.problems().collect();
        for problem in problems.iter().filter(|problem| !self.problems.contains(problem)) {
            tracing::warn!(error = problem, "accepted risk ignored");
        }
        self.problems = problems;
        let (candidates, concerns) = (view.candidates.clone(), view.concerns.clone());
        self.ledger = Arc::new(Ledger::new(&view.current, candidates, concerns));
        let status = view.cluster_version.status.as_ref();
        let before = || Arc::new(status.map(Previous::from).unwrap_or_default());
        self.previous.get_or_insert_with(before);
    }

    /// What there is to say, with these answers of the cluster's metrics.
    pub(super) fn evaluate(&self, view: &View, outcomes: Outcomes, now: Timestamp) -> Risks {
        let judge = Judge {
            ledger: Arc::clone(&self.ledger),
            outcomes,
            policy: self.policy.clone(),
            acceptance: view.acceptance.clone(),
            previous: self.previous.clone().unwrap_or_default(),
        };
        let evaluated = self.ledger.evaluate(judge.round(now));
        let graph_digest = view.updates.graph_digest.clone();
        let (generation, current) = (view.generation, view.current.clone());
        let (is_answered, looked_at) = (view.is_answered, view.looked_at.clone());
        Risks { generation, current, is_answered, graph_digest, evaluated, judge, looked_at }
    }

    /// This was said. Whatever a status cannot show is in the log.
    pub(super) fn remember(&mut self, evaluated: &Evaluated) {
        for withheld in evaluated.withheld.iter().filter(|one| !self.withheld.contains(one)) {
            tracing::warn!(error = %withheld, "update omitted from status");
        }
        self.withheld.clone_from(&evaluated.withheld);
        self.previous = Some(Arc::new(Previous::from(evaluated)));
    }

    /// Counts the queries that are not sent.
    fn refuse(&mut self, candidates: &[Candidate]) {
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
            let query: String = query.chars().take(SHOWN).collect();
            tracing::warn!(query, "risk query refused by policy");
        }
        self.refused = refused;
    }
}

/// Characters of a query in the log: it may be as long as its author liked.
const SHOWN: usize = 200;
