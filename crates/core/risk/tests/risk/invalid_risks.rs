//! Risks that the API cannot store are replaced, and block their update.

use fairway_risk::{Ledger, Risk};

use crate::support::*;

fn invalid_risks() -> Vec<(&'static str, Risk)> {
    let sound = || query_risk("A");
    vec![
        ("no name", Risk { name: String::new(), ..sound() }),
        ("a long name", Risk { name: "A".repeat(300), ..sound() }),
        ("a name of several words", Risk { name: "A, or B".into(), ..sound() }),
        ("no message", Risk { message: " ".into(), ..sound() }),
        ("a megabyte of message", Risk { message: "x".repeat(1 << 20), ..sound() }),
        ("no url", Risk { url: String::new(), ..sound() }),
        ("a url that is none", Risk { url: "see the wiki".into(), ..sound() }),
        ("a long url", Risk { url: format!("https://e.com/{}", "x".repeat(5000)), ..sound() }),
        ("many rules", Risk { matching_rules: vec![promql("A"); 1000], ..sound() }),
        ("nothing at all", Risk::default()),
    ]
}

#[test]
fn replacement_names_defects_and_is_unknown() {
    let mut texts = Vec::new();
    for (what, risk) in invalid_risks() {
        // If the risk were valid, its query would return 0.
        let evaluated = TestInput::with_outcomes([("A", Ok(false))]).evaluate(vec![risk]);
        assert_eq!(evaluated.available_updates, [], "{what}");
        let risk = &evaluated.conditional_update_risks[0];
        texts.push(format!(
            "# {what}\n{} {}\n{}\n{}",
            risk.name,
            risk.url,
            risk.message,
            condition_line(&risk.conditions[0])
        ));
        let accepted = TestInput::default()
            .accepting(&[&risk.name])
            .evaluate(vec![invalid_risks().into_iter().find(|(name, _)| *name == what).unwrap().1]);
        assert_eq!(accepted.available_updates.len(), 1, "{what} can be accepted");
    }
    insta::assert_snapshot!(texts.join("\n"), @r#"
    # no name
    InvalidRisk-cb82597ec6b3 https://example.com/A
    The status cannot store a published risk: it has no name. Original message: "A goes wrong."
    Applies=Unknown InvalidRisk: The status cannot store the published risk. This entry replaces it.
    # a long name
    InvalidRisk-c8b868b936a5 https://example.com/A
    The status cannot store a published risk: its name has 300 bytes; the limit is 256 bytes. Original message: "A goes wrong."
    Applies=Unknown InvalidRisk: The status cannot store the published risk. This entry replaces it.
    # a name of several words
    InvalidRisk-6e48f616be16 https://example.com/A
    The status cannot store a published risk: its name "A, or B" is not CamelCase. Original message: "A goes wrong."
    Applies=Unknown InvalidRisk: The status cannot store the published risk. This entry replaces it.
    # no message
    A https://example.com/A
    The status cannot store a published risk: it has no message.
    Applies=Unknown InvalidRisk: The status cannot store the published risk. This entry replaces it.
    # a megabyte of message
    A https://example.com/A
    The status cannot store a published risk: its message has 1048576 bytes; the limit is 8192 bytes. Original message: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…"
    Applies=Unknown InvalidRisk: The status cannot store the published risk. This entry replaces it.
    # no url
    A https://fairway.dev/docs/risks
    The status cannot store a published risk: it has no url. Original message: "A goes wrong."
    Applies=Unknown InvalidRisk: The status cannot store the published risk. This entry replaces it.
    # a url that is none
    A https://fairway.dev/docs/risks
    The status cannot store a published risk: its url "see the wiki" is not a URI. Original message: "A goes wrong."
    Applies=Unknown InvalidRisk: The status cannot store the published risk. This entry replaces it.
    # a long url
    A https://fairway.dev/docs/risks
    The status cannot store a published risk: its url has 5014 bytes; the limit is 2048 bytes. Original message: "A goes wrong."
    Applies=Unknown InvalidRisk: The status cannot store the published risk. This entry replaces it.
    # many rules
    A https://example.com/A
    The status cannot store a published risk: it has 1000 rules; the limit is 16. Original message: "A goes wrong."
    Applies=Unknown InvalidRisk: The status cannot store the published risk. This entry replaces it.
    # nothing at all
    InvalidRisk-9d908ecfb6b2 https://fairway.dev/docs/risks
    The status cannot store a published risk: it has no name; it has no message; it has no url.
    Applies=Unknown InvalidRisk: The status cannot store the published risk. This entry replaces it.
    "#);
}

#[test]
fn risks_with_invalid_names_are_distinguished() {
    let one = Risk { name: String::new(), ..query_risk("A") };
    let other = Risk { name: String::new(), ..query_risk("B") };
    let evaluated = TestInput::default().evaluate(vec![one, other]);
    assert_eq!(evaluated.conditional_update_risks.len(), 2);
}

#[test]
fn recommended_with_replacement_is_unknown() {
    let risk = Risk { url: "see the wiki".into(), ..query_risk("A") };
    insta::assert_snapshot!(condition_line(recommended(&TestInput::default().evaluate(vec![risk]))), @r#"Recommended=Unknown EvaluationFailed: Unable to determine if the cluster is impacted by A. The status cannot store the published risk. This entry replaces it. The status cannot store a published risk: its url "see the wiki" is not a URI. Original message: "A goes wrong." https://fairway.dev/docs/risks"#);
}

#[test]
fn update_with_too_many_risks_is_omitted() {
    let risks = |count| (0..count).map(|number| query_risk(&format!("Risk{number}"))).collect();
    assert_eq!(TestInput::default().evaluate(risks(200)).conditional_updates.len(), 1);
    for count in [201, 5000] {
        let ledger = Ledger::new(CURRENT, vec![candidate("4.7.4", risks(count))], vec![]);
        let verdict = ledger.verdict(&release("4.7.4"), TestInput::default().input());
        assert!(!verdict.is_recommended(), "not recommended on request either");
        let evaluated = ledger.evaluate(TestInput::default().input());
        assert_eq!(
            (evaluated.conditional_updates.len(), evaluated.available_updates.len()),
            (0, 0)
        );
        assert_eq!(evaluated.withheld.len(), 1);
    }
    let evaluated = TestInput::default().evaluate(risks(201));
    insta::assert_snapshot!(evaluated.withheld[0], @"The status omits the update to 4.7.4: it has 201 risks; the limit is 200.");
}

#[test]
fn large_risks_omit_oldest_updates() {
    let own_risks = |patch: usize| {
        let risks = (0..100).map(|number| query_risk(&format!("Risk{patch}x{number}")));
        candidate(&format!("4.7.{patch}"), risks.collect())
    };
    let ledger = Ledger::new(CURRENT, (0..100).map(own_risks).collect(), vec![]);
    let has_all_risks = |patch: usize| {
        let verdict =
            ledger.verdict(&release(&format!("4.7.{patch}")), TestInput::default().input());
        assert!(!verdict.is_recommended());
        verdict.exposures.len() == 100
    };
    assert!(has_all_risks(99) && has_all_risks(80));
    assert!(!has_all_risks(79) && !has_all_risks(0));
}

#[test]
fn full_status_omits_oldest_updates() {
    let candidates = |count: usize| {
        let risk = |minor: usize, number| {
            let mut risk = query_risk(&format!("Risk{minor}x{number}"));
            risk.message = "x".repeat(2000);
            risk
        };
        (0..count)
            .map(|minor| {
                candidate(
                    &format!("4.7.{minor}"),
                    (0..10).map(|number| risk(minor % 20, number)).collect(),
                )
            })
            .collect::<Vec<_>>()
    };
    let ledger = Ledger::new(CURRENT, candidates(100), vec![]);
    let evaluated = ledger.evaluate(TestInput::default().input());
    let shown = evaluated.conditional_updates.len();
    assert!(shown > 0 && evaluated.withheld.len() == 100 - shown);
    assert_eq!(evaluated.conditional_updates[0].release.version, "4.7.99");
    assert_eq!(evaluated.withheld[0].release.version, format!("4.7.{}", 99 - shown));
    insta::assert_snapshot!(evaluated.withheld[0], @"The status omits the update to 4.7.88: the size limit of the status is reached.");
    for update in &evaluated.conditional_updates {
        assert_eq!((update.risks.len(), update.risk_names.len()), (10, 10));
    }
    let many = (0..2500).map(|patch| candidate(&format!("4.7.{patch}"), vec![])).collect();
    let evaluated = Ledger::new(CURRENT, many, vec![]).evaluate(TestInput::default().input());
    insta::assert_snapshot!(evaluated.withheld[0], @"The status omits the update to 4.7.499: too many updates; the oldest ones are omitted.");
}
