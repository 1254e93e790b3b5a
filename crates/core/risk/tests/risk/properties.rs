//! Properties that hold for every input.

use std::sync::{Arc, LazyLock};

use fairway_api::{ClusterOperator, ClusterVersion};
use fairway_risk::sources::cluster_operators;
use fairway_risk::{
    AffectedUpdates, CandidateUpdate, Ledger, LedgerEvaluation, PreviousEvaluation, QueryOutcomes,
    ReportedRisk, Risk, RiskAssessment, RiskSource,
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
        proptest::sample::select(&["Telepathy", ""][..]).prop_map(rule_with_type),
    ]
}

fn claim() -> impl Strategy<Value = RiskAssessment> {
    let status = proptest::sample::select(&["True", "False", "Unknown", "Perhaps"][..]);
    (status, "[A-Z:]{0,3}", "\\PC{0,8}")
        .prop_map(|(status, reason, message)| RiskAssessment::new(status, reason, message))
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

fn reported_risks() -> impl Strategy<Value = ReportedRisk> {
    let targets = prop_oneof![
        Just(AffectedUpdates::All),
        Just(AffectedUpdates::MinorOrMajor),
        Just(AffectedUpdates::Range(">=4.7.0".parse().unwrap())),
        Just(AffectedUpdates::Images([release("4.7.4").image].into_iter().collect())),
    ];
    let source = proptest::sample::select(vec![
        RiskSource::Preflight,
        RiskSource::Upgradeable("dns".into()),
        RiskSource::AdminGate,
        RiskSource::Alert,
    ]);
    (risks(), source, targets).prop_map(|(risk, source, targets)| ReportedRisk {
        risk,
        source,
        targets,
    })
}

fn candidates() -> impl Strategy<Value = Vec<CandidateUpdate>> {
    let version = proptest::sample::select(&VERSIONS[..]);
    let one = (version, proptest::collection::vec(risks().prop_map(Arc::new), 0..4))
        .prop_map(|(version, risks)| CandidateUpdate { release: release(version), risks });
    proptest::collection::vec(one, 0..6)
}

fn input() -> TestInput {
    let known = [("yes", Ok(true)), ("no", Ok(false)), ("bad", failed())];
    TestInput::with_outcomes(known).accepting(&["B", "D.d"])
}

fn evaluate(
    candidates: Vec<CandidateUpdate>,
    reported_risks: Vec<ReportedRisk>,
) -> LedgerEvaluation {
    Ledger::new(CURRENT, candidates, reported_risks).evaluate(input().input())
}

/// Errors of an API server with the generated CRD about a status: schema and CEL rules.
fn refusals(evaluated: &LedgerEvaluation) -> Vec<String> {
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

/// An informational risk.
fn advice() -> impl Strategy<Value = ReportedRisk> {
    (reported_risks(), claim()).prop_map(|(mut reported_risk, claim)| {
        reported_risk.risk.claim = Some(claim.as_advisory());
        reported_risk
    })
}

/// A risk report, valid or not.
fn report() -> impl Strategy<Value = Value> {
    let targets = proptest::sample::select(vec![
        Value::Null,
        json!(">=4.7.0"),
        json!(">=4.8.0"),
        json!("<4.7.4"),
        json!("4.7.x || >=5.0.0"),
        json!("*"),
        json!("soon"),
        json!(5),
    ]);
    let risk = (name(), text("It breaks."), targets).prop_map(
        |(name, message, targets)| json!({"name": name, "message": message, "targets": targets}),
    );
    let risks = proptest::collection::vec(risk, 0..4);
    let version = proptest::sample::select(&["v1", "v1", "v1", "v2"][..]);
    (version, risks).prop_map(
        |(version, risks)| json!({"kind": "RiskReport", "version": version, "risks": risks}),
    )
}

fn operator(upgradeable: &str, extension: &Value) -> ClusterOperator {
    let condition = json!({"type": "Upgradeable", "status": upgradeable, "message": "Wait."});
    serde_json::from_value(json!({
        "metadata": {"name": "dns"}, "spec": {},
        "status": {"conditions": [condition], "extension": extension},
    }))
    .unwrap()
}

proptest! {
    #[test]
    fn risk_report_never_makes_update_recommended(
        candidates in candidates(),
        upgradeable in proptest::sample::select(&["True", "False", "Unknown"][..]),
        report in report(),
    ) {
        // Without acceptance: a report names the risk that an administrator accepts instead.
        let input = TestInput { acceptance: accepting(&[]), ..input() };
        let available = |extension: &Value| {
            let risks = cluster_operators(&[operator(upgradeable, extension)]);
            Ledger::new(CURRENT, candidates.clone(), risks).evaluate(input.input()).available_updates
        };
        let without = available(&Value::Null);
        prop_assert!(available(&report).iter().all(|release| without.contains(release)));
    }

    #[test]
    fn advisory_risks_do_not_change_recommendations(
        candidates in candidates(),
        reported_risks in proptest::collection::vec(reported_risks(), 0..3),
        advice in proptest::collection::vec(advice(), 1..3),
    ) {
        let without = evaluate(candidates.clone(), reported_risks.clone());
        let with = evaluate(candidates, reported_risks.into_iter().chain(advice).collect());
        prop_assert_eq!(with.available_updates, without.available_updates);
    }

    #[test]
    fn added_risk_never_makes_update_recommended(
        candidates in candidates(),
        reported_risks in proptest::collection::vec(reported_risks(), 0..3),
        added in risks(),
        place in any::<proptest::sample::Index>(),
        reported_risk in reported_risks(),
    ) {
        let without = evaluate(candidates.clone(), reported_risks.clone()).available_updates;
        let recommended_without = |release| without.contains(release);

        let mut on_an_edge = candidates.clone();
        if !on_an_edge.is_empty() {
            let place = place.index(on_an_edge.len());
            on_an_edge[place].risks.push(Arc::new(added));
        }
        let with = evaluate(on_an_edge, reported_risks.clone()).available_updates;
        prop_assert!(with.iter().all(recommended_without));

        let raised = reported_risks.into_iter().chain([reported_risk]).collect();
        let with = evaluate(candidates, raised).available_updates;
        prop_assert!(with.iter().all(recommended_without));
    }

    #[test]
    fn available_updates_match_verdicts(
        candidates in candidates(),
        reported_risks in proptest::collection::vec(reported_risks(), 0..3),
    ) {
        let ledger = Ledger::new(CURRENT, candidates.clone(), reported_risks);
        let input = input();
        let evaluated = ledger.evaluate(input.input());
        for CandidateUpdate { release, .. } in &candidates {
            let verdict = ledger.verdict(release, input.input());
            let available = evaluated.available_updates.contains(release);
            prop_assert_eq!(available, verdict.is_recommended());
            prop_assert_eq!(available, fairway_risk::may_update(&verdict).is_ok());
            let conditional = evaluated.conditional_updates.iter().find(|update| update.release == *release);
            if let Some(conditional) = conditional {
                let status = condition(conditional, "Recommended").status.as_str();
                prop_assert_eq!(available, status == "True");
            }
        }
    }

    #[test]
    fn order_of_input_does_not_change_result(
        (candidates, shuffled) in candidates().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        (reported_risks, mixed) in proptest::collection::vec(reported_risks(), 0..5)
            .prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
    ) {
        let mut backwards = shuffled;
        for candidate in &mut backwards {
            candidate.risks.reverse();
        }
        prop_assert_eq!(evaluate(candidates, reported_risks), evaluate(backwards, mixed));
    }

    #[test]
    fn duplicate_input_does_not_change_result(
        candidates in candidates(),
        reported_risks in proptest::collection::vec(reported_risks(), 0..4),
    ) {
        let twice = |all: &[CandidateUpdate]| [all, all].concat();
        let concerns_twice = [reported_risks.clone(), reported_risks.clone()].concat();
        prop_assert_eq!(evaluate(twice(&candidates), concerns_twice), evaluate(candidates, reported_risks));
    }

    #[test]
    fn evaluation_passes_api_validation(
        candidates in candidates(),
        reported_risks in proptest::collection::vec(reported_risks(), 0..5),
    ) {
        prop_assert_eq!(refusals(&evaluate(candidates, reported_risks)), Vec::<String>::new());
    }

    #[test]
    fn second_evaluation_is_equal(
        candidates in candidates(),
        reported_risks in proptest::collection::vec(reported_risks(), 0..3),
    ) {
        let ledger = Ledger::new(CURRENT, candidates, reported_risks);
        let mut input = input();
        let first = ledger.evaluate(input.input());
        input.previous = PreviousEvaluation::from(&first);
        input.second = 1000;
        prop_assert_eq!(ledger.evaluate(input.input()), first);
    }

    #[test]
    fn wanted_queries_shrink_with_outcomes(candidates in candidates()) {
        let evaluated = Ledger::new(CURRENT, candidates.clone(), vec![]).evaluate(input().input());
        let known: QueryOutcomes = evaluated.wanted_queries.iter().map(|query| (query.clone(), Ok(false))).collect();
        let input = TestInput { outcomes: known, ..TestInput::default() };
        let after = Ledger::new(CURRENT, candidates, vec![]).evaluate(input.input());
        for query in &after.wanted_queries {
            prop_assert!(evaluated.wanted_queries.contains(query), "{query} was not wanted before");
        }
    }
}
