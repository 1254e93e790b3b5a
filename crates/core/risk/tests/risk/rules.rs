//! Rules in order: the first that can be evaluated decides.

use fairway_api::cluster_version::MatchingRule;
use fairway_risk::{Answer, Failure, QueryPolicy, ResultType, Sample};

use crate::support::*;

fn applies(world: &World, rules: Vec<MatchingRule>) -> String {
    let evaluated = world.look(vec![risk("A", rules)]);
    line(&evaluated.conditional_update_risks[0].conditions[0])
}

#[test]
fn the_first_rule_that_can_be_evaluated_decides() {
    let world = World::knowing([("yes", Ok(true)), ("no", Ok(false)), ("bad", failed())]);
    for (rules, status) in [
        (vec![always()], "True"),
        (vec![promql("yes")], "True"),
        (vec![promql("no"), promql("yes")], "False"),
        (vec![promql("bad"), promql("yes")], "True"),
        (vec![promql("bad"), promql("no"), always()], "False"),
        (vec![promql("bad"), always()], "True"),
        (vec![rule_of("Telepathy"), promql("no")], "False"),
        (vec![rule_of(""), always()], "True"),
        (vec![promql(" "), promql("no")], "False"),
        (vec![promql("bad")], "Unknown"),
        (vec![rule_of("Telepathy"), promql("bad")], "Unknown"),
        (vec![promql("not answered"), always()], "Unknown"),
        (vec![], "True"),
    ] {
        let found = applies(&world, rules.clone());
        assert!(found.starts_with(&format!("Applies={status} ")), "{rules:?}: {found}");
    }
}

#[test]
fn what_is_said_about_them() {
    let world = World::knowing([("yes", Ok(true)), ("no", Ok(false)), ("bad", failed())]);
    let mut senseless = always();
    senseless.promql = promql("up").promql;
    let long = promql(&"x".repeat(20_000));
    let said = [
        vec![always()],
        vec![promql("yes")],
        vec![promql("no")],
        vec![promql("bad")],
        vec![promql("waiting")],
        vec![],
        vec![rule_of("Telepathy"), promql("bad"), promql("yes")],
        vec![senseless, promql(""), long, rule_of("Telepathy"), promql("bad")],
    ]
    .map(|rules| applies(&world, rules));
    insta::assert_snapshot!(said.join("\n"), @r#"
    Applies=True Match: The risk applies to all clusters.
    Applies=True Match: The query returned 1: the risk applies to this cluster.
    Applies=False NotMatch: The query returned 0: the risk does not apply to this cluster.
    Applies=Unknown EvaluationFailed: The query returned no series.
    Applies=Unknown EvaluationFailed: The query is not evaluated yet.
    Applies=True Match: The risk has no rules, so it applies to all clusters.
    Applies=True Match: The query returned 1: the risk applies to this cluster. Skipped: rule 1: unknown rule type "Telepathy"; rule 2: the query returned no series.
    Applies=Unknown EvaluationFailed: Rule 1: a rule of type Always has a query; rule 2: a rule of type PromQL has no query; rule 3: its query has 20000 bytes; the limit is 16384 bytes; rule 4: unknown rule type "Telepathy"; rule 5: the query returned no series.
    "#);
}

fn samples<const N: usize>(values: [f64; N]) -> Answer {
    Answer::Samples(values.map(Sample::from).into())
}

#[test]
fn an_answer_is_one_sample_of_zero_or_one() {
    let said = [
        samples([1.0]),
        samples([0.0]),
        samples([-0.0]),
        samples([]),
        samples([1.0, 1.0, 0.0]),
        samples([0.5]),
        samples([f64::NAN]),
        samples([f64::INFINITY]),
        samples([-1.0]),
        Answer::Other(ResultType::Scalar),
        Answer::Other(ResultType::Range),
        Answer::Other(ResultType::Text),
    ]
    .map(|answer| match answer.outcome() {
        Ok(matches) => matches.to_string(),
        Err(failure) => failure.to_string(),
    });
    insta::assert_snapshot!(said.join("\n"), @"
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
    insta::assert_snapshot!(Failure::asking(&"connection refused"), @"cannot evaluate the query: connection refused");
    assert!(Failure::asking(&"x".repeat(10_000)).to_string().len() < 600);
}

#[test]
fn later_queries_are_wanted_only_once_the_earlier_ones_failed() {
    let rules = || vec![promql("one"), promql("two"), always(), promql("three")];
    let wanted = |world: World| world.look(vec![risk("A", rules())]).wanted_queries;
    assert_eq!(wanted(World::default()), ["one"]);
    assert_eq!(wanted(World::knowing([("one", Ok(false))])), ["one"]);
    assert_eq!(wanted(World::knowing([("one", failed())])), ["one", "two"]);
    assert_eq!(wanted(World::knowing([("one", failed()), ("two", failed())])), ["one", "two"]);
}

#[test]
fn a_query_that_costs_too_much_is_not_wanted() {
    let deep = format!("{}up{}", "(".repeat(100), ")".repeat(100));
    let world = World::default();
    let evaluated = world.look(vec![risk("A", vec![promql(&deep)])]);
    assert_eq!(evaluated.wanted_queries, Vec::<String>::new());
    insta::assert_snapshot!(line(&evaluated.conditional_update_risks[0].conditions[0]), @"Applies=Unknown EvaluationFailed: The query is not allowed: brackets are nested more than 32 levels deep.");
    let odd = world.look(vec![risk("A", vec![promql("sum(")])]);
    assert_eq!(odd.wanted_queries, ["sum("], "that is for the cluster's Prometheus to judge");
}

#[test]
fn only_allowed_metrics_are_read() {
    let policy = QueryPolicy { metrics: Some(vec!["up".into(), "cluster_*".into()]) };
    for allowed in ["up", "max(cluster_proxy_enabled) or 0 * up", "vector(1)"] {
        assert_eq!(policy.check(allowed), Ok(()), "{allowed}");
    }
    let refused = ["upper", "up or node_load1", r#"{job="x"}"#, "sum("]
        .map(|query| policy.check(query).unwrap_err().to_string());
    insta::assert_snapshot!(refused.join("\n"), @"
    metric upper is not on the list of allowed metrics
    metric node_load1 is not on the list of allowed metrics
    a selector has no metric name, and a list of allowed metrics is set
    cannot parse it, and a list of allowed metrics is set (1:4: unclosed ()
    ");
}
