//! One name is one risk, wherever it comes from.

use fairway_api::Conditions as _;
use fairway_api::cluster_version::Release;
use fairway_risk::{Claim, Evaluated, Ledger, Risk, Source, Targets};

use crate::support::*;

fn statuses(evaluated: &Evaluated) -> Vec<String> {
    let updates = evaluated.conditional_updates.iter();
    let status = |update| condition(update, "Recommended");
    updates.map(|update| format!("{} {}", update.release.version, status(update).status)).collect()
}

#[test]
fn definitions_that_differ_between_updates_are_evaluated_for_each() {
    let for_the_later = Risk { matching_rules: vec![promql("later")], ..queried("A") };
    let candidates =
        vec![candidate("4.7.4", vec![queried("A")]), candidate("4.7.5", vec![for_the_later])];
    let ledger = Ledger::new(CURRENT, candidates, vec![]);
    let world = World::knowing([("A", Ok(false)), ("later", Ok(true))]);
    let evaluated = ledger.evaluate(world.round());
    assert_eq!(statuses(&evaluated), ["4.7.5 False", "4.7.4 True"]);
    let [risk] = evaluated.conditional_update_risks.as_slice() else { panic!() };
    assert!(risk.conditions.is_true("Applies"), "it applies to one of the updates");
    assert_eq!(risk.matching_rules, [always()], "no list of rules says both");
    let own = &evaluated.conditional_updates[1].risks[0];
    assert!(own.conditions.is_false("Applies"));
    assert_eq!(own.matching_rules, [promql("A")]);
}

#[test]
fn another_image_of_a_version_has_the_risks_of_those_that_are_offered() {
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
        let verdict = ledger.verdict(&release, World::default().round());
        let names: Vec<&str> = verdict.exposures.iter().map(|risk| risk.name.as_str()).collect();
        assert_eq!(names, expected, "{image}");
    }
}

#[test]
fn a_risk_of_several_sources_applies_if_any_of_them_says_so() {
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
        other.claim = claim.map(|status| Claim::new(status, "PreflightValidation", "Found."));
        let candidates = vec![candidate("4.7.4", vec![queried("A")])];
        let ledger = Ledger::new(CURRENT, candidates, vec![concern(other, Targets::All)]);
        let evaluated = ledger.evaluate(World::knowing([("A", graph.clone())]).round());
        let condition = recommended(&evaluated);
        let found = format!("{} {}", condition.status, condition.reason);
        assert_eq!(found, expected, "{graph:?} and {claim:?}");
        let sources: Vec<String> = ledger.sources()["A"].iter().map(ToString::to_string).collect();
        assert_eq!(sources, ["the update service", "the preflight"]);
    }
}

#[test]
fn namesakes_that_apply_are_all_described() {
    let other = Risk { message: "It also breaks clocks.".into(), ..risk("A", vec![always()]) };
    let candidates = vec![candidate("4.7.4", vec![queried("A")])];
    let ledger = Ledger::new(CURRENT, candidates, vec![concern(other, Targets::All)]);
    let evaluated = ledger.evaluate(World::knowing([("A", Ok(true))]).round());
    insta::assert_snapshot!(line(recommended(&evaluated)), @"
    Recommended=False A: A goes wrong. https://example.com/A

    It also breaks clocks. https://example.com/A
    ");
    insta::assert_snapshot!(evaluated.conditional_update_risks[0].message, @"
    A goes wrong.
    It also breaks clocks.
    ");
}

#[test]
fn a_concern_makes_available_updates_conditional() {
    let candidates = ["4.6.30", "4.7.4", "4.8.0-rc.1", "5.0.0", "odd"]
        .map(|version| candidate(version, vec![]))
        .to_vec();
    let concerned = |targets: Targets| {
        let concerns = vec![concern(risk("A", vec![always()]), targets)];
        let evaluated =
            Ledger::new(CURRENT, candidates.clone(), concerns).evaluate(World::default().round());
        let versions = evaluated.conditional_updates.iter();
        versions.map(|update| update.release.version.clone()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(concerned(Targets::All), "5.0.0 4.8.0-rc.1 4.7.4 4.6.30 odd");
    assert_eq!(concerned(Targets::MinorOrMajor), "5.0.0 4.8.0-rc.1 4.7.4 odd");
    assert_eq!(concerned(Targets::Range(">=4.8.0".parse().unwrap())), "5.0.0 4.8.0-rc.1 odd");
    let images = [release("4.7.4").image].into_iter().collect();
    assert_eq!(concerned(Targets::Images(images)), "4.7.4");
}

#[test]
fn one_image_is_one_update_with_all_its_risks() {
    let candidates = vec![
        candidate("4.7.4", vec![]),
        candidate("4.7.4", vec![queried("A")]),
        candidate("4.7.4", vec![queried("B")]),
    ];
    let evaluated = Ledger::new(CURRENT, candidates, vec![]).evaluate(World::default().round());
    assert_eq!(only(&evaluated).risk_names, ["A", "B"]);
    assert_eq!(evaluated.available_updates, []);
}

#[test]
fn channels_are_a_set() {
    let mut candidate = candidate("4.7.4", vec![]);
    candidate.release.channels =
        ["stable-4.7", "fast-4.7", "stable-4.7"].map(str::to_owned).to_vec();
    let evaluated =
        Ledger::new(CURRENT, vec![candidate], vec![]).evaluate(World::default().round());
    assert_eq!(evaluated.available_updates[0].channels, ["fast-4.7", "stable-4.7"]);
}

#[test]
fn a_claim_with_a_beginning_keeps_it() {
    let claim = |since| Claim { since, ..Claim::new("True", "Alert:firing", "It fires.") };
    let applies = |since, previous| {
        let mut firing = risk("A", vec![always()]);
        firing.claim = Some(claim(since));
        let world = World { previous, second: 50, ..World::default() };
        world.look(vec![firing])
    };
    let time = |evaluated: &Evaluated| {
        evaluated.conditional_update_risks[0].conditions[0].last_transition_time.clone().unwrap().0
    };
    let first = applies(Some(at(-100)), fairway_risk::Previous::default());
    assert_eq!(time(&first), at(-100));
    assert_eq!(time(&applies(None, (&first).into())), at(-100), "it was so all the time");
    let future = applies(Some(at(1000)), fairway_risk::Previous::default());
    assert_eq!(time(&future), at(50), "nothing has begun in the future");
}

#[test]
fn sources_are_named_for_people() {
    let sources = [
        Source::Graph,
        Source::Preflight,
        Source::Upgradeable("dns".into()),
        Source::ClusterOperators,
        Source::RiskReport("dns".into()),
        Source::AdminGate,
        Source::Overrides,
        Source::Updating,
        Source::Deletions,
        Source::Alert,
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
