//! The conditions `Recommended` and `Evaluating`.

use fairway_api::cluster_version::Release;
use fairway_risk::may_update;
use fairway_risk::{AffectedUpdates, Ledger, ReportedRisk, RiskAssessment, sources};

use crate::support::*;

#[test]
fn recommended_status_and_reason() {
    let yes = || Ok(true);
    let no = || Ok(false);
    for (known, accepted, expected) in [
        ([yes(), no(), no()], &[][..], "False A"),
        ([no(), no(), no()], &[], "True NotExposedToRisks"),
        ([no(), no(), no()], &["A", "B"], "True NotExposedToRisks"),
        ([yes(), no(), no()], &["A"], "True AllExposedRisksAccepted"),
        ([yes(), yes(), no()], &["A", "B"], "True AllExposedRisksAccepted"),
        ([yes(), yes(), no()], &["A"], "False B"),
        ([yes(), yes(), no()], &[], "False MultipleReasons"),
        ([yes(), failed(), no()], &[], "False MultipleReasons"),
        ([yes(), failed(), no()], &["B"], "False A"),
        ([yes(), failed(), no()], &["A"], "Unknown EvaluationFailed"),
        ([failed(), no(), no()], &[], "Unknown EvaluationFailed"),
        ([failed(), failed(), no()], &[], "Unknown EvaluationFailed"),
        ([failed(), no(), no()], &["A"], "True AllExposedRisksAccepted"),
        ([no(), no(), yes()], &[], "False ExposedToRisks"),
        ([no(), failed(), yes()], &["B"], "False ExposedToRisks"),
    ] {
        let [a, b, c] = known.clone();
        // The last name is not a valid reason.
        let input = TestInput::with_outcomes([("A", a), ("B", b), ("C-c", c)]).accepting(accepted);
        let evaluated = input.evaluate(["A", "B", "C-c"].map(query_risk).to_vec());
        let condition = recommended(&evaluated);
        let found = format!("{} {}", condition.status, condition.reason);
        assert_eq!(found, expected, "{known:?} accepting {accepted:?}");
        assert_eq!(evaluated.available_updates.len() == 1, found.starts_with("True"));
        assert_eq!(only(&evaluated).risk_names, ["A", "B", "C-c"]);
    }
}

#[test]
fn update_without_risks_is_available() {
    let evaluated = TestInput::default().evaluate(vec![]);
    assert_eq!(evaluated.available_updates.len(), 1);
    assert_eq!(evaluated.conditional_updates, []);
    assert_eq!(evaluated.conditional_update_risks, []);
}

#[test]
fn recommended_message_for_one_risk() {
    let one = |outcome| {
        condition_line(recommended(
            &TestInput::with_outcomes([("A", outcome)]).evaluate(vec![query_risk("A")]),
        ))
    };
    insta::assert_snapshot!(one(Ok(true)), @"Recommended=False A: A goes wrong. https://example.com/A");
    insta::assert_snapshot!(one(Ok(false)), @"Recommended=True NotExposedToRisks: The update is recommended: none of its risks applies to this cluster.");
    insta::assert_snapshot!(one(failed()), @"Recommended=Unknown EvaluationFailed: Unable to evaluate PromQL to determine if the cluster is impacted by A. The query returned no series. A goes wrong. https://example.com/A");
    let accepted = TestInput::with_outcomes([("A", Ok(true))])
        .accepting(&["A"])
        .evaluate(vec![query_risk("A")]);
    insta::assert_snapshot!(condition_line(recommended(&accepted)), @"Recommended=True AllExposedRisksAccepted: The update is recommended: all risks that apply or may apply to this cluster are accepted: A.");
}

#[test]
fn recommended_messages_are_sorted_by_name() {
    let input = TestInput::with_outcomes([("B", Ok(true)), ("A", failed()), ("C", Ok(true))]);
    let evaluated = input.evaluate(["C", "A", "B"].map(query_risk).to_vec());
    insta::assert_snapshot!(recommended(&evaluated).message, @"
    Unable to evaluate PromQL to determine if the cluster is impacted by A. The query returned no series. A goes wrong. https://example.com/A

    B goes wrong. https://example.com/B

    C goes wrong. https://example.com/C
    ");
}

#[test]
fn recommended_messages_beyond_limit_are_counted() {
    let names: Vec<String> = (0..100).map(|number| format!("Risk{number:03}")).collect();
    let risks = names.iter().map(|name| {
        let mut risk = risk(name, vec![always()]);
        risk.message = "x".repeat(1000);
        risk
    });
    let evaluated = TestInput::default().evaluate(risks.collect());
    let message = &recommended(&evaluated).message;
    assert!(message.len() <= 32_768);
    insta::assert_snapshot!(message.rsplit("\n\n").next().unwrap(), @"… and 69 more.");
}

#[test]
fn evaluating_reports_unsupported_rules() {
    let evaluating = |risks| {
        let evaluated = TestInput::default().evaluate(risks);
        let update = only(&evaluated);
        format!(
            "{}\n{}",
            condition_line(condition(update, "Evaluating")),
            condition_line(condition(update, "Recommended"))
        )
    };
    insta::assert_snapshot!(evaluating(vec![query_risk("A"), risk("B", vec![always()])]), @"
    Evaluating=True PeriodicEvaluation: Periodically evaluating risks associated with this update.
    Recommended=False MultipleReasons: Unable to evaluate PromQL to determine if the cluster is impacted by A. The operator has not evaluated the query yet. A goes wrong. https://example.com/A

    B goes wrong. https://example.com/B
    ");
    insta::assert_snapshot!(evaluating(vec![risk("A", vec![])]), @"
    Evaluating=False NoMatchingRules: Risks without rules: A.
    Recommended=False A: A goes wrong. https://example.com/A
    ");
    let unknown = || risk("A", vec![rule_with_type("Telepathy"), rule_with_type("Tarot")]);
    insta::assert_snapshot!(evaluating(vec![unknown()]), @r#"
    Evaluating=False UnrecognizedMatchingRules: Risks without rules of a supported type: A.
    Recommended=Unknown EvaluationFailed: Unable to determine if the cluster is impacted by A. Rule 1: unknown rule type "Telepathy"; rule 2: unknown rule type "Tarot". A goes wrong. https://example.com/A
    "#);
    insta::assert_snapshot!(evaluating(vec![unknown(), risk("B", vec![])]), @r#"
    Evaluating=False NoMatchingRules: Risks without rules: B.
    Recommended=False MultipleReasons: Unable to determine if the cluster is impacted by A. Rule 1: unknown rule type "Telepathy"; rule 2: unknown rule type "Tarot". A goes wrong. https://example.com/A

    B goes wrong. https://example.com/B
    "#);
}

fn preflight(name: &str, claim: RiskAssessment) -> ReportedRisk {
    let images = [release("4.7.4").image].into_iter().collect();
    reported_risk(
        risk(name, vec![always()]).with_assessment(claim),
        AffectedUpdates::Images(images),
    )
}

fn found(message: &str) -> RiskAssessment {
    RiskAssessment::new(true, "PreflightValidation", message)
}

fn evaluate(reported_risks: Vec<ReportedRisk>) -> fairway_risk::LedgerEvaluation {
    let candidates = vec![candidate("4.7.4", vec![])];
    Ledger::new(CURRENT, candidates, reported_risks).evaluate(TestInput::default().input())
}

#[test]
fn advisory_risk_does_not_block_update() {
    let advice = RiskAssessment::new(true, "PreflightRunning", "5 of 7 operators").as_advisory();
    let evaluated = evaluate(vec![preflight("A", advice)]);
    assert_eq!(evaluated.available_updates, [release("4.7.4")]);
    assert_eq!(only(&evaluated).risk_names, ["A"]);
    let [risk] = &evaluated.conditional_update_risks[..] else { panic!("{evaluated:?}") };
    insta::assert_snapshot!(condition_line(&risk.conditions[0]), @"Applies=True PreflightRunning: 5 of 7 operators");
    insta::assert_snapshot!(condition_line(recommended(&evaluated)), @"Recommended=True NotExposedToRisks: The update is recommended: no risk blocks it. Informational risks: A.");
}

#[test]
fn risk_with_one_blocking_definition_blocks_update() {
    let evaluated = evaluate(vec![
        preflight("A", found("One says so.").as_advisory()),
        preflight("A", found("Two.")),
    ]);
    assert_eq!(evaluated.available_updates, Vec::<Release>::new());
    insta::assert_snapshot!(condition_line(recommended(&evaluated)), @"Recommended=False A: A goes wrong. https://example.com/A");
    let [risk] = &evaluated.conditional_update_risks[..] else { panic!("{evaluated:?}") };
    insta::assert_snapshot!(condition_line(&risk.conditions[0]), @r"
    Applies=True PreflightValidation: Two.
    One says so.
    ");
}

#[test]
fn replacement_of_advisory_risk_is_advisory() {
    let evaluated = evaluate(vec![preflight("no name", found("It is so.").as_advisory())]);
    assert_eq!(evaluated.available_updates, [release("4.7.4")]);
}

#[test]
fn update_that_is_not_offered_is_never_recommended() {
    let ledger = Ledger::new(CURRENT, vec![sources::not_offered(release("4.8.0"))], vec![]);
    let input = TestInput::default().accepting(&["NotOfferedByUpdateService"]);
    for input in [TestInput::default(), input] {
        let evaluated = ledger.evaluate(input.input());
        assert_eq!(evaluated.available_updates, Vec::<Release>::new());
        let verdict = ledger.verdict(&release("4.8.0"), input.input());
        assert!(!verdict.is_offered() && !verdict.is_recommended());
        let may_begin = may_update(&verdict).is_ok();
        assert_eq!(may_begin, input.acceptance == accepting(&["NotOfferedByUpdateService"]));
    }
    let refused = ledger.evaluate(TestInput::default().input());
    insta::assert_snapshot!(condition_line(recommended(&refused)), @"Recommended=False NotOfferedByUpdateService: The update service has no update from the running version to 4.8.0, so the update is untested. https://fairway.dev/docs/risks#updates-that-are-not-offered");
}

#[test]
fn may_update_requires_accepted_risks() {
    let risks = ["A", "B", "C"].map(query_risk).to_vec();
    let ledger = Ledger::new(CURRENT, vec![candidate("4.7.4", risks)], vec![]);
    let input = TestInput::with_outcomes([("A", Ok(true)), ("B", failed()), ("C", Ok(false))]);
    let gate = |input: &TestInput| may_update(&ledger.verdict(&release("4.7.4"), input.input()));
    insta::assert_snapshot!(gate(&input).unwrap_err(), @"The update to 4.7.4 has unaccepted risks. Applying to this cluster: A. Unknown whether they apply: B. To accept them and continue: fairway upgrade accept A,B");
    let input = input.accepting(&["A"]);
    insta::assert_snapshot!(gate(&input).unwrap_err(), @"The update to 4.7.4 has unaccepted risks. Unknown whether they apply: B. To accept them and continue: fairway upgrade accept B");
    assert_eq!(gate(&input.accepting(&["A", "B"])), Ok(()));
}

#[test]
fn verdict_for_unoffered_release_has_cluster_risks() {
    let reported_risks = vec![
        reported_risk(risk("Minor", vec![always()]), AffectedUpdates::MinorOrMajor),
        reported_risk(
            risk("Range", vec![always()]),
            AffectedUpdates::Range("4.7.x".parse().unwrap()),
        ),
    ];
    let ledger = Ledger::new(CURRENT, vec![], reported_risks);
    let against = |release: &Release| {
        let verdict = ledger.verdict(release, TestInput::default().input());
        verdict.unaccepted().map(|exposure| exposure.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(against(&release("4.6.50")), Vec::<String>::new());
    assert_eq!(against(&release("4.7.0-rc.1")), ["Minor", "Range"]);
    assert_eq!(against(&release("4.8.0")), ["Minor"]);
    assert_eq!(against(&release("no version")), ["Minor", "Range"]);
}
