//! `Recommended` and `Evaluating` from the set of risks.

use crate::support::*;

#[test]
fn the_statuses_and_reasons_of_recommended() {
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
        // The last name cannot be written as a reason.
        let world = World::knowing([("A", a), ("B", b), ("C-c", c)]).accepting(accepted);
        let evaluated = world.look(["A", "B", "C-c"].map(queried).to_vec());
        let condition = recommended(&evaluated);
        let found = format!("{} {}", condition.status, condition.reason);
        assert_eq!(found, expected, "{known:?} accepting {accepted:?}");
        assert_eq!(evaluated.available_updates.len() == 1, found.starts_with("True"));
        assert_eq!(only(&evaluated).risk_names, ["A", "B", "C-c"]);
    }
}

#[test]
fn an_update_without_risks_is_simply_available() {
    let evaluated = World::default().look(vec![]);
    assert_eq!(evaluated.available_updates.len(), 1);
    assert_eq!(evaluated.conditional_updates, []);
    assert_eq!(evaluated.conditional_update_risks, []);
}

#[test]
fn what_is_said_about_one_risk() {
    let one =
        |outcome| line(recommended(&World::knowing([("A", outcome)]).look(vec![queried("A")])));
    insta::assert_snapshot!(one(Ok(true)), @"Recommended=False A: A goes wrong. https://example.com/A");
    insta::assert_snapshot!(one(Ok(false)), @"Recommended=True NotExposedToRisks: The update is recommended: none of its risks applies to this cluster.");
    insta::assert_snapshot!(one(failed()), @"Recommended=Unknown EvaluationFailed: Unable to evaluate PromQL to determine if the cluster is impacted by A. The query returned no series. A goes wrong. https://example.com/A");
    let accepted = World::knowing([("A", Ok(true))]).accepting(&["A"]).look(vec![queried("A")]);
    insta::assert_snapshot!(line(recommended(&accepted)), @"Recommended=True AllExposedRisksAccepted: The update is recommended: all risks that apply or may apply to this cluster are accepted: A.");
}

#[test]
fn several_messages_are_joined_in_the_order_of_names() {
    let world = World::knowing([("B", Ok(true)), ("A", failed()), ("C", Ok(true))]);
    let evaluated = world.look(["C", "A", "B"].map(queried).to_vec());
    insta::assert_snapshot!(recommended(&evaluated).message, @"
    Unable to evaluate PromQL to determine if the cluster is impacted by A. The query returned no series. A goes wrong. https://example.com/A

    B goes wrong. https://example.com/B

    C goes wrong. https://example.com/C
    ");
}

#[test]
fn messages_that_do_not_fit_are_counted() {
    let names: Vec<String> = (0..100).map(|number| format!("Risk{number:03}")).collect();
    let risks = names.iter().map(|name| {
        let mut risk = risk(name, vec![always()]);
        risk.message = "x".repeat(1000);
        risk
    });
    let evaluated = World::default().look(risks.collect());
    let message = &recommended(&evaluated).message;
    assert!(message.len() <= 32_768);
    insta::assert_snapshot!(message.rsplit("\n\n").next().unwrap(), @"… and 69 more.");
}

#[test]
fn whether_risks_are_evaluated() {
    let evaluating = |risks| {
        let evaluated = World::default().look(risks);
        let update = only(&evaluated);
        format!(
            "{}\n{}",
            line(condition(update, "Evaluating")),
            line(condition(update, "Recommended"))
        )
    };
    insta::assert_snapshot!(evaluating(vec![queried("A"), risk("B", vec![always()])]), @"
    Evaluating=True PeriodicEvaluation: Periodically evaluating risks associated with this update.
    Recommended=False MultipleReasons: Unable to evaluate PromQL to determine if the cluster is impacted by A. The query is not evaluated yet. A goes wrong. https://example.com/A

    B goes wrong. https://example.com/B
    ");
    insta::assert_snapshot!(evaluating(vec![risk("A", vec![])]), @"
    Evaluating=False NoMatchingRules: Risks without rules: A.
    Recommended=False A: A goes wrong. https://example.com/A
    ");
    let unknown = || risk("A", vec![rule_of("Telepathy"), rule_of("Tarot")]);
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
