//! What holds for every graph.

use proptest::prelude::*;

use super::*;

/// Versions of the graphs, in order.
const VERSIONS: [&str; 7] = ["5.0.0", "5.0.1", "5.1.0", "5.1.1", "5.2.0", "5.2.1", "5.3.0"];

const RISKS: [&str; 5] = ["Always1", "Always2", "QOne", "QTwo", "QThree"];

/// An update: from where, how far, with which risks.
type Step = (usize, usize, Vec<usize>);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let risks = proptest::collection::vec(0..RISKS.len(), 0..3);
    proptest::collection::vec((0..VERSIONS.len() - 1, 1..VERSIONS.len(), risks), 1..16)
}

fn world(steps: &[Step], accepted: &[usize], answers: &[Option<bool>]) -> World {
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
    let mut world =
        World::new(graph(&nodes, &edges), VERSIONS[0], "stable-5.3").accepting(&accepted);
    for (risk, answer) in RISKS.iter().zip(answers) {
        if let Some(answer) = answer {
            world = world.answering(risk, Ok(*answer));
        }
    }
    world
}

/// Every way there is, as the hops and the risks that are not accepted of each.
fn every_way(world: &World, goal: &str) -> Vec<(usize, usize)> {
    let graph = &world.graph;
    let outlook = Outlook {
        cluster_version: &world.cluster_version,
        components: &[],
        unlisted: None,
        gates: &Gates::default(),
        outcomes: &world.outcomes,
        now: Timestamp::UNIX_EPOCH,
    };
    let node = |text: &str| graph.find(&Version::parse(text).unwrap()).next().unwrap();
    let (here, goal) = (node(VERSIONS[0]), node(goal));
    let scale = Scale::new(graph, here, &outlook);
    let mut open = vec![(here, 0, 0)];
    let mut found = Vec::new();
    while let Some((at, hops, risks)) = open.pop() {
        if at == goal {
            found.push((hops, risks));
            continue;
        }
        for edge in graph.edges_from(at) {
            if ways::is_allowed(ways::leap(graph, *edge)) {
                open.push((edge.to, hops + 1, risks + scale.burden(*edge).0));
            }
        }
    }
    found
}

proptest! {
    #[test]
    fn no_way_is_safer_than_the_safest_or_shorter_than_the_shortest(
        steps in steps(),
        accepted in proptest::collection::vec(0..RISKS.len(), 0..3),
        answers in proptest::collection::vec(any::<Option<bool>>(), RISKS.len()),
        goal in proptest::sample::select(&VERSIONS[1..]),
    ) {
        let world = world(&steps, &accepted, &answers);
        let plan = world.plan(goal);
        let every = every_way(&world, goal);
        prop_assert_eq!(plan.least_risk.is_some(), !every.is_empty());
        let (Some(safest), Some(shortest)) = (&plan.least_risk, &plan.fewest_hops) else {
            prop_assert!(plan.not_offered.is_some());
            return Ok(());
        };
        let counts = |way: &Way| (way.unaccepted().count(), way.hops.len());
        let (safe, short) = (counts(safest), counts(shortest));
        prop_assert!(safe.0 <= short.0 && short.1 <= safe.1);
        prop_assert_eq!(Some(safe.0), every.iter().map(|(_, risks)| *risks).min());
        let best = every.iter().min().map(|(hops, risks)| (*risks, *hops));
        prop_assert_eq!(Some(short), best);
        for way in [safest, shortest] {
            let mut at = VERSIONS[0];
            for hop in &way.hops {
                prop_assert_eq!(&hop.from, at);
                at = &hop.to;
            }
            prop_assert_eq!(at, goal);
        }
    }

    #[test]
    fn accepting_a_risk_never_makes_a_way_worse(
        steps in steps(),
        accepted in proptest::collection::vec(0..RISKS.len(), 1..3),
    ) {
        let unaccepted = |accepted: &[usize]| {
            let plan = world(&steps, accepted, &[]).plan("5.3.0");
            plan.least_risk.map(|way| way.unaccepted().count())
        };
        prop_assert!(unaccepted(&accepted) <= unaccepted(&[]));
    }
}
