//! What holds for every input.

use std::sync::{Arc, LazyLock};

use fairway_api::ClusterVersion;
use fairway_risk::{
    Candidate, Claim, Concern, Evaluated, Ledger, Outcomes, Previous, Risk, Source, Targets,
};
use fairway_schema::Schema;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::*;

const VERSIONS: [&str; 7] = ["4.6.24", "4.6.30", "4.7.0-rc.1", "4.7.4", "4.8.0", "5.0.0", "odd"];

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => proptest::sample::select(&["A", "B", "C-c", "D.d"][..]).prop_map(str::to_owned),
        1 => "\\PC{0,12}",
        1 => Just("A".repeat(300)),
    ]
}

fn text(sound: &'static str) -> impl Strategy<Value = String> {
    prop_oneof![
        6 => Just(sound.to_owned()),
        2 => "[a-z]{1,3}".prop_map(move |more| format!("{sound}{more}")),
        1 => "\\PC{0,12}",
        1 => Just(sound.repeat(1000)),
    ]
}

fn rule() -> impl Strategy<Value = fairway_api::cluster_version::MatchingRule> {
    prop_oneof![
        Just(always()),
        proptest::sample::select(&["yes", "no", "bad", "waiting", "", "sum("][..]).prop_map(promql),
        proptest::sample::select(&["Telepathy", ""][..]).prop_map(rule_of),
    ]
}

fn claim() -> impl Strategy<Value = Claim> {
    let status = proptest::sample::select(&["True", "False", "Unknown", "Perhaps"][..]);
    (status, "[A-Z:]{0,3}", "\\PC{0,8}")
        .prop_map(|(status, reason, message)| Claim::new(status, reason, message))
}

fn risks() -> impl Strategy<Value = Risk> {
    let rules = prop_oneof![
        8 => proptest::collection::vec(rule(), 0..4),
        1 => Just(vec![promql("no"); 100]),
    ];
    let claim = proptest::option::weighted(0.2, claim());
    (name(), text("It breaks."), text("https://example.com/a"), rules, claim).prop_map(
        |(name, message, url, matching_rules, claim)| Risk {
            name,
            message,
            url,
            matching_rules,
            claim,
        },
    )
}

fn concerns() -> impl Strategy<Value = Concern> {
    let targets = prop_oneof![
        Just(Targets::All),
        Just(Targets::MinorOrMajor),
        Just(Targets::Range(">=4.7.0".parse().unwrap())),
        Just(Targets::Images([release("4.7.4").image].into_iter().collect())),
    ];
    let source = proptest::sample::select(vec![
        Source::Preflight,
        Source::Upgradeable("dns".into()),
        Source::AdminGate,
        Source::Alert,
    ]);
    (risks(), source, targets).prop_map(|(risk, source, targets)| Concern { risk, source, targets })
}

fn candidates() -> impl Strategy<Value = Vec<Candidate>> {
    let version = proptest::sample::select(&VERSIONS[..]);
    let one = (version, proptest::collection::vec(risks().prop_map(Arc::new), 0..4))
        .prop_map(|(version, risks)| Candidate { release: release(version), risks });
    proptest::collection::vec(one, 0..6)
}

fn world() -> World {
    let known = [("yes", Ok(true)), ("no", Ok(false)), ("bad", failed())];
    World::knowing(known).accepting(&["B", "D.d"])
}

fn look(candidates: Vec<Candidate>, concerns: Vec<Concern>) -> Evaluated {
    Ledger::new(CURRENT, candidates, concerns).evaluate(world().round())
}

/// What an API server with the generated CRD says about a status: its schema, and its CEL rules.
fn refusals(evaluated: &Evaluated) -> Vec<String> {
    static SCHEMA: LazyLock<(Schema, Value)> = LazyLock::new(|| {
        let crds = fairway_api::crds::all();
        let crd = crds.iter().find(|crd| crd.spec.names.kind == "ClusterVersion").unwrap();
        let schema = crd.spec.versions[0].schema.as_ref().unwrap();
        let props = schema.open_api_v3_schema.as_ref().unwrap();
        (Schema::new(props), serde_json::to_value(props).unwrap())
    });
    let mut object: ClusterVersion = serde_json::from_value(json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterVersion",
        "metadata": {"name": "version"},
        "spec": {"clusterID": "3aa2ba3c-1d2c-4a8f-9f5e-0c5c3d1b7a11"},
        "status": {"desired": {"version": CURRENT, "image": "x"}},
    }))
    .unwrap();
    let status = object.status.as_mut().unwrap();
    status.available_updates = Some(evaluated.available_updates.clone());
    status.conditional_updates.clone_from(&evaluated.conditional_updates);
    status.conditional_update_risks.clone_from(&evaluated.conditional_update_risks);
    status.conditions = evaluated.upgradeable.iter().cloned().collect();
    let object = serde_json::to_value(object).unwrap();
    let (schema, rules) = &*SCHEMA;
    let broken = kube_cel::Validator::new().validate(rules, &object, None);
    let broken = broken.err().into_iter().flatten().map(|error| error.to_string());
    let violations = schema.violations(&object, None);
    violations.iter().map(|error| format!("{error:?}")).chain(broken).collect()
}

/// A concern that is shown, and nothing more.
fn advice() -> impl Strategy<Value = Concern> {
    (concerns(), claim()).prop_map(|(mut concern, claim)| {
        concern.risk.claim = Some(claim.as_advice());
        concern
    })
}

proptest! {
    #[test]
    fn advice_changes_nothing_about_what_is_recommended(
        candidates in candidates(),
        concerns in proptest::collection::vec(concerns(), 0..3),
        advice in proptest::collection::vec(advice(), 1..3),
    ) {
        let without = look(candidates.clone(), concerns.clone());
        let with = look(candidates, concerns.into_iter().chain(advice).collect());
        prop_assert_eq!(with.available_updates, without.available_updates);
    }

    #[test]
    fn no_risk_makes_an_update_recommended(
        candidates in candidates(),
        concerns in proptest::collection::vec(concerns(), 0..3),
        added in risks(),
        place in any::<proptest::sample::Index>(),
        concern in concerns(),
    ) {
        let without = look(candidates.clone(), concerns.clone()).available_updates;
        let recommended_without = |release| without.contains(release);

        let mut on_an_edge = candidates.clone();
        if !on_an_edge.is_empty() {
            let place = place.index(on_an_edge.len());
            on_an_edge[place].risks.push(Arc::new(added));
        }
        let with = look(on_an_edge, concerns.clone()).available_updates;
        prop_assert!(with.iter().all(recommended_without));

        let raised = concerns.into_iter().chain([concern]).collect();
        let with = look(candidates, raised).available_updates;
        prop_assert!(with.iter().all(recommended_without));
    }

    #[test]
    fn an_update_is_available_exactly_if_nothing_stands_against_it(
        candidates in candidates(),
        concerns in proptest::collection::vec(concerns(), 0..3),
    ) {
        let ledger = Ledger::new(CURRENT, candidates.clone(), concerns);
        let world = world();
        let evaluated = ledger.evaluate(world.round());
        for Candidate { release, .. } in &candidates {
            let verdict = ledger.verdict(release, world.round());
            let available = evaluated.available_updates.contains(release);
            prop_assert_eq!(available, verdict.is_recommended());
            prop_assert_eq!(available, fairway_risk::gate::may_update(&verdict).is_ok());
            let conditional = evaluated.conditional_updates.iter().find(|update| update.release == *release);
            if let Some(conditional) = conditional {
                let status = condition(conditional, "Recommended").status.as_str();
                prop_assert_eq!(available, status == "True");
            }
        }
    }

    #[test]
    fn order_makes_no_difference(
        (candidates, shuffled) in candidates().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        (concerns, mixed) in proptest::collection::vec(concerns(), 0..5)
            .prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
    ) {
        let mut backwards = shuffled;
        for candidate in &mut backwards {
            candidate.risks.reverse();
        }
        prop_assert_eq!(look(candidates, concerns), look(backwards, mixed));
    }

    #[test]
    fn saying_it_twice_makes_no_difference(
        candidates in candidates(),
        concerns in proptest::collection::vec(concerns(), 0..4),
    ) {
        let twice = |all: &[Candidate]| [all, all].concat();
        let concerns_twice = [concerns.clone(), concerns.clone()].concat();
        prop_assert_eq!(look(twice(&candidates), concerns_twice), look(candidates, concerns));
    }

    #[test]
    fn everything_can_be_stored(
        candidates in candidates(),
        concerns in proptest::collection::vec(concerns(), 0..5),
    ) {
        prop_assert_eq!(refusals(&look(candidates, concerns)), Vec::<String>::new());
    }

    #[test]
    fn a_second_look_changes_nothing(
        candidates in candidates(),
        concerns in proptest::collection::vec(concerns(), 0..3),
    ) {
        let ledger = Ledger::new(CURRENT, candidates, concerns);
        let mut world = world();
        let first = ledger.evaluate(world.round());
        world.previous = Previous::from(&first);
        world.second = 1000;
        prop_assert_eq!(ledger.evaluate(world.round()), first);
    }

    #[test]
    fn every_wanted_query_is_one_that_may_decide(candidates in candidates()) {
        let evaluated = Ledger::new(CURRENT, candidates.clone(), vec![]).evaluate(world().round());
        let known: Outcomes = evaluated.wanted_queries.iter().map(|query| (query.clone(), Ok(false))).collect();
        let world = World { outcomes: known, ..World::default() };
        let after = Ledger::new(CURRENT, candidates, vec![]).evaluate(world.round());
        for query in &after.wanted_queries {
            prop_assert!(evaluated.wanted_queries.contains(query), "{query} was not wanted before");
        }
    }
}
