//! The ledger: risks of several sources with the same name.

use fairway_api::Conditions as _;
use fairway_api::cluster_version::Release;
use fairway_risk::{AffectedUpdates, Ledger, LedgerEvaluation, Risk, RiskAssessment, RiskSource};

use crate::support::*;

fn statuses(evaluated: &LedgerEvaluation) -> Vec<String> {
    let updates = evaluated.conditional_updates.iter();
    let status = |update| condition(update, "Recommended");
    updates.map(|update| format!("{} {}", update.release.version, status(update).status)).collect()
}

#[test]
fn different_definitions_are_evaluated_for_each_update() {
    let for_the_later = Risk { matching_rules: vec![promql("later")], ..query_risk("A") };
    let candidates =
        vec![candidate("4.7.4", vec![query_risk("A")]), candidate("4.7.5", vec![for_the_later])];
    let ledger = Ledger::new(CURRENT, candidates, vec![]);
    let input = TestInput::with_outcomes([("A", Ok(false)), ("later", Ok(true))]);
    let evaluated = ledger.evaluate(input.input());
    assert_eq!(statuses(&evaluated), ["4.7.5 False", "4.7.4 True"]);
    let [risk] = evaluated.conditional_update_risks.as_slice() else { panic!() };
    assert!(risk.conditions.is_true("Applies"), "it applies to one of the updates");
    assert_eq!(risk.matching_rules, [always()], "one list cannot express both");
    let own = &evaluated.conditional_updates[1].risks[0];
    assert!(own.conditions.is_false("Applies"));
    assert_eq!(own.matching_rules, [promql("A")]);
}

#[test]
fn unknown_image_of_a_version_has_all_its_risks() {
    let always_wrong = |name: &str| risk(name, vec![always()]);
    let mut respin = candidate("4.7.4", vec![always_wrong("B")]);
    respin.release.image = "registry.example/again".to_owned();
    let candidates = vec![
        candidate("4.7.4", vec![always_wrong("A")]),
        candidate("4.7.5", vec![always_wrong("C")]),
        respin,
    ];
    let ledger = Ledger::new(CURRENT, candidates, vec![]);
    for (image, expected) in [
        (release("4.7.4").image.as_str(), &["A"][..]),
        ("registry.example/again", &["B"]),
        ("registry.example/another", &["A", "B"]),
    ] {
        let release = Release { image: image.to_owned(), ..release("4.7.4") };
        let verdict = ledger.verdict(&release, TestInput::default().input());
        let names: Vec<&str> = verdict.exposures.iter().map(|risk| risk.name.as_str()).collect();
        assert_eq!(names, expected, "{image}");
    }
}

#[test]
fn risk_applies_if_any_source_reports_it() {
    for (graph, claim, expected) in [
        (Ok(false), Some("True"), "False A"),
        (Ok(false), Some("Unknown"), "Unknown EvaluationFailed"),
        (Ok(false), Some("False"), "True NotExposedToRisks"),
        (Ok(true), Some("False"), "False A"),
        (failed(), Some("False"), "Unknown EvaluationFailed"),
        (failed(), Some("True"), "False A"),
        (Ok(false), None, "False A"),
    ] {
        let mut other = risk("A", vec![always()]);
        other.message = "The preflight found it.".to_owned();
        other.claim =
            claim.map(|status| RiskAssessment::new(status, "PreflightValidation", "Found."));
        let candidates = vec![candidate("4.7.4", vec![query_risk("A")])];
        let ledger =
            Ledger::new(CURRENT, candidates, vec![reported_risk(other, AffectedUpdates::All)]);
        let evaluated = ledger.evaluate(TestInput::with_outcomes([("A", graph.clone())]).input());
        let condition = recommended(&evaluated);
        let found = format!("{} {}", condition.status, condition.reason);
        assert_eq!(found, expected, "{graph:?} and {claim:?}");
        let sources: Vec<String> = ledger.sources()["A"].iter().map(ToString::to_string).collect();
        assert_eq!(sources, ["the update service", "the preflight"]);
    }
}

#[test]
fn all_applying_definitions_are_described() {
    let other = Risk { message: "It also breaks clocks.".into(), ..risk("A", vec![always()]) };
    let candidates = vec![candidate("4.7.4", vec![query_risk("A")])];
    let ledger = Ledger::new(CURRENT, candidates, vec![reported_risk(other, AffectedUpdates::All)]);
    let evaluated = ledger.evaluate(TestInput::with_outcomes([("A", Ok(true))]).input());
    insta::assert_snapshot!(condition_line(recommended(&evaluated)), @"
    Recommended=False A: A goes wrong. https://example.com/A

    It also breaks clocks. https://example.com/A
    ");
    insta::assert_snapshot!(evaluated.conditional_update_risks[0].message, @"
    A goes wrong.
    It also breaks clocks.
    ");
}

#[test]
fn reported_risk_makes_updates_conditional() {
    let candidates = ["4.6.30", "4.7.4", "4.8.0-rc.1", "5.0.0", "odd"]
        .map(|version| candidate(version, vec![]))
        .to_vec();
    let concerned = |targets: AffectedUpdates| {
        let reported_risks = vec![reported_risk(risk("A", vec![always()]), targets)];
        let evaluated = Ledger::new(CURRENT, candidates.clone(), reported_risks)
            .evaluate(TestInput::default().input());
        let versions = evaluated.conditional_updates.iter();
        versions.map(|update| update.release.version.clone()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(concerned(AffectedUpdates::All), "5.0.0 4.8.0-rc.1 4.7.4 4.6.30 odd");
    assert_eq!(concerned(AffectedUpdates::MinorOrMajor), "5.0.0 4.8.0-rc.1 4.7.4 odd");
    assert_eq!(
        concerned(AffectedUpdates::Range(">=4.8.0".parse().unwrap())),
        "5.0.0 4.8.0-rc.1 odd"
    );
    let images = [release("4.7.4").image].into_iter().collect();
    assert_eq!(concerned(AffectedUpdates::Images(images)), "4.7.4");
}

#[test]
fn candidates_with_one_image_are_merged() {
    let candidates = vec![
        candidate("4.7.4", vec![]),
        candidate("4.7.4", vec![query_risk("A")]),
        candidate("4.7.4", vec![query_risk("B")]),
    ];
    let evaluated = Ledger::new(CURRENT, candidates, vec![]).evaluate(TestInput::default().input());
    assert_eq!(only(&evaluated).risk_names, ["A", "B"]);
    assert_eq!(evaluated.available_updates, []);
}

#[test]
fn channels_are_sorted_and_unique() {
    let mut candidate = candidate("4.7.4", vec![]);
    candidate.release.channels =
        ["stable-4.7", "fast-4.7", "stable-4.7"].map(str::to_owned).to_vec();
    let evaluated =
        Ledger::new(CURRENT, vec![candidate], vec![]).evaluate(TestInput::default().input());
    assert_eq!(evaluated.available_updates[0].channels, ["fast-4.7", "stable-4.7"]);
}

#[test]
fn assessment_start_is_transition_time() {
    let claim = |since| RiskAssessment {
        since,
        ..RiskAssessment::new("True", "Alert:firing", "It fires.")
    };
    let applies = |since, previous| {
        let mut firing = risk("A", vec![always()]);
        firing.claim = Some(claim(since));
        let input = TestInput { previous, second: 50, ..TestInput::default() };
        input.evaluate(vec![firing])
    };
    let time = |evaluated: &LedgerEvaluation| {
        evaluated.conditional_update_risks[0].conditions[0].last_transition_time.clone().unwrap().0
    };
    let first = applies(Some(at(-100)), fairway_risk::PreviousEvaluation::default());
    assert_eq!(time(&first), at(-100));
    assert_eq!(time(&applies(None, (&first).into())), at(-100), "the status has not changed");
    let future = applies(Some(at(1000)), fairway_risk::PreviousEvaluation::default());
    assert_eq!(time(&future), at(50), "start times are not in the future");
}

#[test]
fn source_display_names() {
    let sources = [
        RiskSource::Graph,
        RiskSource::Preflight,
        RiskSource::Upgradeable("dns".into()),
        RiskSource::ClusterOperators,
        RiskSource::RiskReport("dns".into()),
        RiskSource::AdminGate,
        RiskSource::Overrides,
        RiskSource::Updating,
        RiskSource::Deletions,
        RiskSource::Alert,
    ];
    insta::assert_snapshot!(sources.map(|source| source.to_string()).join("\n"), @"
    the update service
    the preflight
    the cluster operator dns
    the cluster operators
    the risk report of dns
    the admin gates
    spec.overrides
    the update in progress
    the deletions in progress
    the alerts
    ");
}
