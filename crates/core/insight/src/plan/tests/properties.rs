//! Properties of plans for arbitrary graphs.

use proptest::prelude::*;

use super::*;

/// Versions of the graphs, in order.
const VERSIONS: [&str; 7] = ["5.0.0", "5.0.1", "5.1.0", "5.1.1", "5.2.0", "5.2.1", "5.3.0"];

const RISKS: [&str; 5] = ["Always1", "Always2", "QOne", "QTwo", "QThree"];

/// Update: index of the source version, distance, indices of risks.
type Step = (usize, usize, Vec<usize>);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let risks = proptest::collection::vec(0..RISKS.len(), 0..3);
    proptest::collection::vec((0..VERSIONS.len() - 1, 1..VERSIONS.len(), risks), 1..16)
}

fn scenario(steps: &[Step], accepted: &[usize], answers: &[Option<bool>]) -> Scenario {
    let nodes: Vec<(&str, &str)> =
        VERSIONS.iter().map(|version| (*version, "stable-5.3")).collect();
    let named: Vec<(usize, usize, Vec<&str>)> = steps
        .iter()
        .map(|(from, far, risks)| {
            let to = (from + far).min(VERSIONS.len() - 1);
            (*from, to, risks.iter().map(|risk| RISKS[*risk]).collect())
        })
        .collect();
    let edges: Vec<(&str, &str, &[&str])> = named
        .iter()
        .map(|(from, to, risks)| (VERSIONS[*from], VERSIONS[*to], risks.as_slice()))
        .collect();
    let accepted: Vec<&str> = accepted.iter().map(|risk| RISKS[*risk]).collect();
    let mut scenario =
        Scenario::new(graph(&nodes, &edges), VERSIONS[0], "stable-5.3").accepting(&accepted);
    for (risk, answer) in RISKS.iter().zip(answers) {
        if let Some(answer) = answer {
            scenario = scenario.answering(risk, Ok(*answer));
        }
    }
    scenario
}

/// All paths, as numbers of hops and of unaccepted risks.
fn every_path(scenario: &Scenario, goal: &str) -> Vec<(usize, usize)> {
    let graph = &scenario.graph;
    let cluster = ClusterState {
        cluster_version: &scenario.cluster_version,
        components: &[],
        operators_error: None,
        gates: &AdminGates::default(),
        outcomes: &scenario.outcomes,
        now: Timestamp::UNIX_EPOCH,
    };
    let node = |text: &str| graph.find(&Version::parse(text).unwrap()).next().unwrap();
    let (current, goal) = (node(VERSIONS[0]), node(goal));
    let edge_risks = EdgeRisks::new(graph, current, &cluster);
    let mut open = vec![(current, 0, 0)];
    let mut found = Vec::new();
    while let Some((at, hops, risks)) = open.pop() {
        if at == goal {
            found.push((hops, risks));
            continue;
        }
        for edge in graph.edges_from(at) {
            if path_search::is_allowed(path_search::leap(graph, *edge)) {
                open.push((edge.to, hops + 1, risks + edge_risks.count(*edge).0));
            }
        }
    }
    found
}

proptest! {
    #[test]
    fn least_risk_and_fewest_hops_are_optimal(
        steps in steps(),
        accepted in proptest::collection::vec(0..RISKS.len(), 0..3),
        answers in proptest::collection::vec(any::<Option<bool>>(), RISKS.len()),
        goal in proptest::sample::select(&VERSIONS[1..]),
    ) {
        let scenario = scenario(&steps, &accepted, &answers);
        let plan = scenario.plan(goal);
        let every = every_path(&scenario, goal);
        prop_assert_eq!(plan.least_risk.is_some(), !every.is_empty());
        let (Some(safest), Some(shortest)) = (&plan.least_risk, &plan.fewest_hops) else {
            prop_assert!(plan.not_offered.is_some());
            return Ok(());
        };
        let counts = |path: &UpgradePath| (path.unaccepted().count(), path.hops.len());
        let (safe, short) = (counts(safest), counts(shortest));
        prop_assert!(safe.0 <= short.0 && short.1 <= safe.1);
        prop_assert_eq!(Some(safe.0), every.iter().map(|(_, risks)| *risks).min());
        let best = every.iter().min().map(|(hops, risks)| (*risks, *hops));
        prop_assert_eq!(Some(short), best);
        for path in [safest, shortest] {
            let mut at = VERSIONS[0];
            for hop in &path.hops {
                prop_assert_eq!(&hop.from, at);
                at = &hop.to;
            }
            prop_assert_eq!(at, goal);
        }
    }

    #[test]
    fn accepting_a_risk_never_increases_cost(
        steps in steps(),
        accepted in proptest::collection::vec(0..RISKS.len(), 1..3),
    ) {
        let unaccepted = |accepted: &[usize]| {
            let plan = scenario(&steps, accepted, &[]).plan("5.3.0");
            plan.least_risk.map(|path| path.unaccepted().count())
        };
        prop_assert!(unaccepted(&accepted) <= unaccepted(&[]));
    }
}
