//! OpenShift's graph-data, from `FAIRWAY_DATA`.

use std::sync::Arc;

use fairway_graph::build::build;
use fairway_graph::{Files, Graph, GraphData, releases};
use fairway_risk::{CandidateUpdate, Ledger, LedgerEvaluation, QueryOutcome, Risk};

use crate::support::*;

fn graph() -> Option<Graph> {
    let directory = fairway_fixtures::environment::data()?;
    let mut data = Files::default();
    for (path, bytes) in fairway_fixtures::graph_data::files(&directory.join("graph-data-2026-08"))
    {
        data.insert(path, bytes).unwrap();
    }
    let list = std::fs::read(directory.join("releases-2026-08.json")).unwrap();
    let (releases, _) = releases::read("releases.json", &list).unwrap();
    let (declared, _) = releases::declare(releases);
    Some(build(declared, &GraphData::read(&data).unwrap()).0)
}

fn candidates(graph: &Graph, current: &str) -> Vec<CandidateUpdate> {
    let is_current = |id| graph.node(id).version.to_string() == format!("{current}+amd64");
    let edges = graph.edges().iter().filter(|edge| is_current(edge.from));
    let risk = |risk: &Arc<fairway_graph::Risk>| {
        let fairway_graph::Risk { name, message, url, matching_rules, .. } = (**risk).clone();
        Arc::new(Risk { name, message, url, matching_rules, claim: None })
    };
    let candidate = |edge: &fairway_graph::Edge| CandidateUpdate {
        release: release(&graph.node(edge.to).version.without_build().to_string()),
        risks: graph.risks(*edge).map(risk).collect(),
    };
    edges.map(candidate).collect()
}

/// Evaluates the ledger until the outcomes of all wanted queries are known.
fn decided(ledger: &Ledger, outcome: &QueryOutcome) -> (LedgerEvaluation, usize) {
    let mut input = TestInput::default();
    loop {
        let evaluated = ledger.evaluate(input.input());
        let known = input.outcomes.len();
        for query in &evaluated.wanted_queries {
            input.outcomes.entry(query.clone()).or_insert_with(|| outcome.clone());
        }
        if input.outcomes.len() == known {
            return (evaluated, known);
        }
    }
}

#[test]
fn openshift_updates_are_decided_by_their_queries() {
    let Some(graph) = graph() else { return };
    for current in ["4.16.20", "4.18.9", "4.21.3"] {
        let candidates = candidates(&graph, current);
        assert!(!candidates.is_empty(), "{current}");
        let conditional = candidates.iter().filter(|candidate| !candidate.risks.is_empty()).count();
        let ledger = Ledger::new(current, candidates, vec![]);
        for (outcome, status) in [(Ok(true), "False"), (Ok(false), "True"), (failed(), "Unknown")] {
            let (evaluated, queries) = decided(&ledger, &outcome);
            assert!(queries <= 64, "{current}: {queries}");
            assert_eq!(evaluated.withheld, []);
            assert_eq!(evaluated.conditional_updates.len(), conditional);
            for update in &evaluated.conditional_updates {
                let condition = condition(update, "Recommended");
                assert!(
                    condition.status.as_str() == status || condition.status.as_str() == "False",
                    "{}",
                    condition_line(condition)
                );
            }
        }
    }
}
