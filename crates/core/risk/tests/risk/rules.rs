//! Rules: the first one that can be evaluated decides.

use fairway_api::cluster_version::MatchingRule;
use fairway_risk::{QueryFailure, QueryPolicy, QueryResult, QueryResultType, Sample};

use crate::support::*;

fn applies(input: &TestInput, rules: Vec<MatchingRule>) -> String {
    let evaluated = input.evaluate(vec![risk("A", rules)]);
    condition_line(&evaluated.conditional_update_risks[0].conditions[0])
}

#[test]
fn first_evaluable_rule_decides() {
    let input = TestInput::with_outcomes([("yes", Ok(true)), ("no", Ok(false)), ("bad", failed())]);
    for (rules, status) in [
        (vec![always()], "True"),
        (vec![promql("yes")], "True"),
        (vec![promql("no"), promql("yes")], "False"),
        (vec![promql("bad"), promql("yes")], "True"),
        (vec![promql("bad"), promql("no"), always()], "False"),
        (vec![promql("bad"), always()], "True"),
        (vec![rule_with_type("Telepathy"), promql("no")], "False"),
        (vec![rule_with_type(""), always()], "True"),
        (vec![promql(" "), promql("no")], "False"),
        (vec![promql("bad")], "Unknown"),
        (vec![rule_with_type("Telepathy"), promql("bad")], "Unknown"),
        (vec![promql("not answered"), always()], "Unknown"),
        (vec![], "True"),
    ] {
        let found = applies(&input, rules.clone());
        assert!(found.starts_with(&format!("Applies={status} ")), "{rules:?}: {found}");
    }
}

#[test]
fn applies_message_explains_decision() {
    let input = TestInput::with_outcomes([("yes", Ok(true)), ("no", Ok(false)), ("bad", failed())]);
    let mut senseless = always();
    senseless.promql = promql("up").promql;
    let long = promql(&"x".repeat(20_000));
    let texts = [
        vec![always()],
        vec![promql("yes")],
        vec![promql("no")],
        vec![promql("bad")],
        vec![promql("waiting")],
        vec![],
        vec![rule_with_type("Telepathy"), promql("bad"), promql("yes")],
        vec![senseless, promql(""), long, rule_with_type("Telepathy"), promql("bad")],
    ]
    .map(|rules| applies(&input, rules));
    insta::assert_snapshot!(texts.join("\n"), @r#"
    Applies=True Match: The risk applies to all clusters.
    Applies=True Match: The query returned 1: the risk applies to this cluster.
    Applies=False NotMatch: The query returned 0: the risk does not apply to this cluster.
    Applies=Unknown EvaluationFailed: The query returned no series.
    Applies=Unknown EvaluationFailed: The operator has not evaluated the query yet.
    Applies=True Match: The risk has no rules, so it applies to all clusters.
    Applies=True Match: The query returned 1: the risk applies to this cluster. Skipped: rule 1: unknown rule type "Telepathy"; rule 2: the query returned no series.
    Applies=Unknown EvaluationFailed: Rule 1: a rule of type Always has a query; rule 2: a rule of type PromQL has no query; rule 3: its query has 20000 bytes; the limit is 16384 bytes; rule 4: unknown rule type "Telepathy"; rule 5: the query returned no series.
    "#);
}

fn samples<const N: usize>(values: [f64; N]) -> QueryResult {
    QueryResult::Samples(values.map(Sample::from).into())
}

#[test]
fn outcome_requires_one_sample_of_zero_or_one() {
    let texts = [
        samples([1.0]),
        samples([0.0]),
        samples([-0.0]),
        samples([]),
        samples([1.0, 1.0, 0.0]),
        samples([0.5]),
        samples([f64::NAN]),
        samples([f64::INFINITY]),
        samples([-1.0]),
        QueryResult::Other(QueryResultType::Scalar),
        QueryResult::Other(QueryResultType::Range),
        QueryResult::Other(QueryResultType::Text),
    ]
    .map(|answer| match answer.outcome() {
        Ok(matches) => matches.to_string(),
        Err(failure) => failure.to_string(),
    });
    insta::assert_snapshot!(texts.join("\n"), @"
    true
    false
    false
    the query returned no series
    the query returned 3 series instead of one
    the query returned 0.5 instead of 0 or 1
    the query returned NaN instead of 0 or 1
    the query returned inf instead of 0 or 1
    the query returned -1 instead of 0 or 1
    the query returned a scalar instead of one sample
    the query returned a range vector instead of one sample
    the query returned a string instead of one sample
    ");
    insta::assert_snapshot!(QueryFailure::request_failed(&"connection refused"), @"cannot evaluate the query: connection refused");
    assert!(QueryFailure::request_failed(&"x".repeat(10_000)).to_string().len() < 600);
}

#[test]
fn later_queries_are_wanted_after_failures() {
    let rules = || vec![promql("one"), promql("two"), always(), promql("three")];
    let wanted = |input: TestInput| input.evaluate(vec![risk("A", rules())]).wanted_queries;
    assert_eq!(wanted(TestInput::default()), ["one"]);
    assert_eq!(wanted(TestInput::with_outcomes([("one", Ok(false))])), ["one"]);
    assert_eq!(wanted(TestInput::with_outcomes([("one", failed())])), ["one", "two"]);
    assert_eq!(
        wanted(TestInput::with_outcomes([("one", failed()), ("two", failed())])),
        ["one", "two"]
    );
}

#[test]
fn expensive_query_is_not_wanted() {
    let deep = format!("{}up{}", "(".repeat(100), ")".repeat(100));
    let input = TestInput::default();
    let evaluated = input.evaluate(vec![risk("A", vec![promql(&deep)])]);
    assert_eq!(evaluated.wanted_queries, Vec::<String>::new());
    insta::assert_snapshot!(condition_line(&evaluated.conditional_update_risks[0].conditions[0]), @"Applies=Unknown EvaluationFailed: The query is not allowed: brackets are nested more than 32 levels deep.");
    let odd = input.evaluate(vec![risk("A", vec![promql("sum(")])]);
    assert_eq!(odd.wanted_queries, ["sum("], "the cluster's Prometheus may support it");
}

#[test]
fn query_policy_allows_listed_metrics_only() {
    let policy = QueryPolicy { metrics: Some(vec!["up".into(), "cluster_*".into()]) };
    for allowed in ["up", "max(cluster_proxy_enabled) or 0 * up", "vector(1)"] {
        assert_eq!(policy.check(allowed), Ok(()), "{allowed}");
    }
    let refused = ["upper", "up or node_load1", r#"{job="x"}"#, "sum("]
        .map(|query| policy.check(query).unwrap_err().to_string());
    insta::assert_snapshot!(refused.join("\n"), @"
    metric upper is not on the list of allowed metrics
    metric node_load1 is not on the list of allowed metrics
    a selector has no metric name, which the list of allowed metrics requires
    cannot parse it to check the list of allowed metrics: 1:4: unclosed (
    ");
}
