//! Accepted names and their terms.

use fairway_risk::{ANNOTATION, Acceptance, AcceptanceState, definition_hash};

use crate::support::*;

fn state(annotation: &str) -> AcceptanceState {
    let update = update_accepting(&["A"]);
    Acceptance::read(Some(&update), Some(annotation)).state("A", "4.7.4", "hash", at(0))
}

#[test]
fn terms_limit_acceptance() {
    let accepted = AcceptanceState::Accepted { changed: false };
    for annotation in [
        "{}",
        r#"{"A": {}}"#,
        r#"{"A": {"reason": "tested", "by": "alice", "somethingNew": 1}}"#,
        r#"{"A": {"until": "2021-08-28T01:00:01Z"}}"#,
        r#"{"A": {"until": "2021-08-28"}}"#,
        r#"{"A": {"for": "4.7.x"}}"#,
        r#"{"A": {"definition": "hash"}}"#,
        r#"{"B": {"until": "1999-01-01"}}"#,
        r#"{"B": "nonsense"}"#,
    ] {
        assert_eq!(state(annotation), accepted, "{annotation}");
    }
    let texts = [
        r#"{"A": {"until": "2021-08-28T01:00:00Z"}}"#,
        r#"{"A": {"until": "2021-08-27"}}"#,
        r#"{"A": {"for": ">=4.8"}}"#,
        r#"{"A": {"definition": "another"}}"#,
        r#"{"A": {"until": "tomorrow"}}"#,
        r#"{"A": {"for": "some"}}"#,
        r#"{"A": {"for": 4}}"#,
        r#"{"A": "yes"}"#,
        "nonsense",
        "[]",
    ]
    .map(|annotation| state(annotation).to_string());
    insta::assert_snapshot!(texts.join("\n"), @r#"
    The acceptance of the risk expired at 2021-08-28T01:00:00Z.
    The acceptance of the risk expired at 2021-08-27.
    The risk is accepted for >=4.8 only, not for this version.
    The risk is accepted; its content has changed since.
    The risk counts as not accepted: cannot read its terms in annotation fairway.dev/accepted-risks: "tomorrow" is not a time such as 2026-12-31 or 2026-12-31T18:00:00Z.
    The risk counts as not accepted: cannot read its terms in annotation fairway.dev/accepted-risks: "some" is not a comparison such as >=5.2.0, <5.4, ~5.2.1, ^5.2.0 or 5.2.x.
    The risk counts as not accepted: cannot read its terms in annotation fairway.dev/accepted-risks: invalid type: integer `4`, expected a string.
    The risk counts as not accepted: cannot read its terms in annotation fairway.dev/accepted-risks: invalid type: string "yes", expected an object with acceptance terms.
    The risk counts as not accepted: cannot read its terms in annotation fairway.dev/accepted-risks: expected ident at line 1 column 2.
    The risk counts as not accepted: cannot read its terms in annotation fairway.dev/accepted-risks: invalid type: sequence, expected a map at line 1 column 0.
    "#);
}

#[test]
fn annotation_without_name_accepts_nothing() {
    let acceptance = Acceptance::read(None, Some(r#"{"A": {"reason": "because"}}"#));
    assert_eq!(acceptance.state("A", "4.7.4", "", at(0)), AcceptanceState::NotAccepted);
}

#[test]
fn invalid_annotation_is_reported_and_accepts_nothing() {
    let update = update_accepting(&["A"]);
    let huge = format!(r#"{{"A": {{"reason": "{}"}}}}"#, "x".repeat(1 << 20));
    let deep = format!(r#"{{"A": {}1{}}}"#, "[".repeat(1000), "]".repeat(1000));
    let mut texts = Vec::new();
    for annotation in [huge.as_str(), &deep, "", r#"{"A": {"until": "x"}, "B": 1}"#] {
        let acceptance = Acceptance::read(Some(&update), Some(annotation));
        assert!(!acceptance.state("A", "4.7.4", "", at(0)).is_accepted());
        texts.extend(acceptance.problems());
    }
    insta::assert_snapshot!(texts.join("\n"), @r#"
    No risk counts as accepted: cannot read annotation fairway.dev/accepted-risks: 1048597 bytes exceed the limit of 131072 bytes.
    No risk counts as accepted: cannot read annotation fairway.dev/accepted-risks: recursion limit exceeded at line 1 column 133.
    No risk counts as accepted: cannot read annotation fairway.dev/accepted-risks: EOF while parsing a value at line 1 column 0.
    Risk "A" counts as not accepted: cannot read its entry in annotation fairway.dev/accepted-risks: "x" is not a time such as 2026-12-31 or 2026-12-31T18:00:00Z.
    Risk "B" counts as not accepted: cannot read its entry in annotation fairway.dev/accepted-risks: invalid type: integer `1`, expected an object with acceptance terms.
    "#);
}

#[test]
fn recommended_names_expired_acceptance() {
    let update = update_accepting(&["A", "B"]);
    let annotation = r#"{"A": {"until": "2021-08-01"}, "B": {"for": "4.8.x"}}"#;
    let mut input = TestInput::with_outcomes([("A", Ok(true)), ("B", failed())]);
    input.acceptance = Acceptance::read(Some(&update), Some(annotation));
    let evaluated = input.evaluate(vec![query_risk("A"), query_risk("B")]);
    insta::assert_snapshot!(condition_line(recommended(&evaluated)), @"
    Recommended=False MultipleReasons: A goes wrong. https://example.com/A
    The acceptance of the risk expired at 2021-08-01.

    Unable to evaluate PromQL to determine if the cluster is impacted by B. The query returned no series. B goes wrong. https://example.com/B
    The risk is accepted for 4.8.x only, not for this version.
    ");
}

#[test]
fn changed_risk_stays_accepted_and_is_marked() {
    let mut input = TestInput::with_outcomes([("A", Ok(true))]);
    let evaluated = input.evaluate(vec![query_risk("A")]);
    let hash = definition_hash(&evaluated.conditional_update_risks[0]);
    assert_eq!(hash, "aa3ae3d4841f9a99539bef2d0b64f09a", "existing annotations contain this hash");
    let annotation = format!(r#"{{"A": {{"definition": "{hash}"}}}}"#);
    input.acceptance = Acceptance::read(Some(&update_accepting(&["A"])), Some(&annotation));
    let same = input.evaluate(vec![query_risk("A")]);
    insta::assert_snapshot!(condition_line(recommended(&same)), @"Recommended=True AllExposedRisksAccepted: The update is recommended: all risks that apply or may apply to this cluster are accepted: A.");

    let mut changed = query_risk("A");
    changed.message.push_str(" And badly.");
    let changed = input.evaluate(vec![changed]);
    insta::assert_snapshot!(condition_line(recommended(&changed)), @"Recommended=True AllExposedRisksAccepted: The update is recommended: all risks that apply or may apply to this cluster are accepted: A (content changed since it was accepted).");
    insta::assert_snapshot!(condition_line(&changed.conditional_update_risks[0].conditions[0]), @"Applies=True Match: The query returned 1: the risk applies to this cluster. The content of the risk has changed since it was accepted.");
}

#[test]
fn next_end_returns_earliest_expiry() {
    let annotation = r#"{"A": {"until": "2021-09-01T00:00:00Z"}, "B": {"until": "2021-08-30T00:00:00Z"}, "C": {"until": "2021-08-01"}}"#;
    let end = |names: &[&str]| {
        let acceptance = Acceptance::read(Some(&update_accepting(names)), Some(annotation));
        acceptance.next_end(at(0)).map(|end| end.to_string())
    };
    assert_eq!(end(&["A", "B", "C"]).as_deref(), Some("2021-08-30T00:00:00Z"));
    assert_eq!(end(&["A", "C"]).as_deref(), Some("2021-09-01T00:00:00Z"));
    assert_eq!(end(&["C"]), None);
    assert_eq!(ANNOTATION, "fairway.dev/accepted-risks");
}
