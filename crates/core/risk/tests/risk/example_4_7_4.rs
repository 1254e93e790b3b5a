//! Example of 4.7.4 from the enhancement "targeted update edge blocking": three risks and three
//! clusters.

use std::sync::Arc;

use fairway_risk::{CandidateUpdate, Ledger, LedgerEvaluation, PreviousEvaluation, Risk};

use crate::support::*;

const PROXY: &str = r#"max(cluster_proxy_enabled{type=~"https?"})"#;
const VSPHERE: &str = "cluster_infrastructure_provider{type=~\"VSphere|None\"}\nor\n0 * cluster_infrastructure_provider";

fn risks() -> Vec<Arc<Risk>> {
    let risk = |name: &str, message: &str, url: &str, query| {
        let (name, message, url) = (name.to_owned(), message.to_owned(), url.to_owned());
        Arc::new(Risk { name, message, url, matching_rules: vec![promql(query)], claim: None })
    };
    vec![
        risk(
            "AuthOAuthProxyLeakedConnections",
            "On clusters with a Proxy configured, the authentication operator may keep many oauth-server connections open, resulting in high memory consumption by the authentication operator and router pods.",
            "https://bugzilla.redhat.com/show_bug.cgi?id=1941840#c33",
            PROXY,
        ),
        risk(
            "VSphereNodeNameChanges",
            "vSphere clusters leveraging the vSphere cloud provider may lose node names which can have serious impacts on the stability of the control plane and workloads.",
            "https://bugzilla.redhat.com/show_bug.cgi?id=1942207#c3",
            VSPHERE,
        ),
        risk(
            "VSphereHW14CrossNodeNetworkingError",
            "Clusters on vSphere Virtual Hardware Version 14 and later may experience cross-node networking issues.",
            "https://access.redhat.com/solutions/5896081",
            VSPHERE,
        ),
    ]
}

fn ledger() -> Ledger {
    let plain = |version| CandidateUpdate { release: release(version), risks: vec![] };
    let risky = CandidateUpdate { release: release("4.7.4"), risks: risks() };
    Ledger::new(CURRENT, vec![plain("4.6.42"), risky, plain("4.6.43")], vec![])
}

fn available(evaluated: &LedgerEvaluation) -> Vec<&str> {
    evaluated.available_updates.iter().map(|release| release.version.as_str()).collect()
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

#[test]
fn wanted_queries_are_unique() {
    let evaluated = ledger().evaluate(TestInput::default().input());
    assert_eq!(evaluated.wanted_queries, [PROXY, VSPHERE]);
}

#[test]
fn evaluate_on_vsphere_with_proxy_reports_all_risks() {
    let input = TestInput::with_outcomes([(PROXY, Ok(true)), (VSPHERE, Ok(true))]);
    let evaluated = ledger().evaluate(input.input());
    assert_eq!(available(&evaluated), ["4.6.43", "4.6.42"]);
    insta::assert_snapshot!(json(&evaluated.conditional_updates));
    insta::assert_snapshot!(json(&evaluated.conditional_update_risks[0]), @r#"
    {
      "conditions": [
        {
          "type": "Applies",
          "status": "True",
          "lastTransitionTime": "2021-08-28T01:00:00Z",
          "reason": "Match",
          "message": "The query returned 1: the risk applies to this cluster."
        }
      ],
      "url": "https://bugzilla.redhat.com/show_bug.cgi?id=1941840#c33",
      "name": "AuthOAuthProxyLeakedConnections",
      "message": "On clusters with a Proxy configured, the authentication operator may keep many oauth-server connections open, resulting in high memory consumption by the authentication operator and router pods.",
      "matchingRules": [
        {
          "type": "PromQL",
          "promql": {
            "promql": "max(cluster_proxy_enabled{type=~\"https?\"})"
          }
        }
      ]
    }
    "#);
}

#[test]
fn evaluate_without_exposure_recommends_update() {
    let input = TestInput::with_outcomes([(PROXY, Ok(false)), (VSPHERE, Ok(false))]);
    let evaluated = ledger().evaluate(input.input());
    assert_eq!(available(&evaluated), ["4.7.4", "4.6.43", "4.6.42"]);
    insta::assert_snapshot!(condition_line(recommended(&evaluated)), @"Recommended=True NotExposedToRisks: The update is recommended: none of its risks applies to this cluster.");
}

#[test]
fn evaluate_without_metrics_is_unknown() {
    let input = TestInput::with_outcomes([(PROXY, failed()), (VSPHERE, failed())]);
    let evaluated = ledger().evaluate(input.input());
    assert_eq!(available(&evaluated), ["4.6.43", "4.6.42"]);
    insta::assert_snapshot!(condition_line(recommended(&evaluated)), @"
    Recommended=Unknown EvaluationFailed: Unable to evaluate PromQL to determine if the cluster is impacted by AuthOAuthProxyLeakedConnections. The query returned no series. On clusters with a Proxy configured, the authentication operator may keep many oauth-server connections open, resulting in high memory consumption by the authentication operator and router pods. https://bugzilla.redhat.com/show_bug.cgi?id=1941840#c33

    Unable to evaluate PromQL to determine if the cluster is impacted by VSphereHW14CrossNodeNetworkingError. The query returned no series. Clusters on vSphere Virtual Hardware Version 14 and later may experience cross-node networking issues. https://access.redhat.com/solutions/5896081

    Unable to evaluate PromQL to determine if the cluster is impacted by VSphereNodeNameChanges. The query returned no series. vSphere clusters leveraging the vSphere cloud provider may lose node names which can have serious impacts on the stability of the control plane and workloads. https://bugzilla.redhat.com/show_bug.cgi?id=1942207#c3
    ");
}

#[test]
fn accepted_risks_make_update_available() {
    let names = ["AuthOAuthProxyLeakedConnections", "VSphereNodeNameChanges"];
    let input =
        TestInput::with_outcomes([(PROXY, Ok(true)), (VSPHERE, Ok(true))]).accepting(&names);
    let evaluated = ledger().evaluate(input.input());
    assert_eq!(available(&evaluated), ["4.6.43", "4.6.42"]);
    assert_eq!(recommended(&evaluated).reason, "VSphereHW14CrossNodeNetworkingError");

    let names = [names[0], names[1], "VSphereHW14CrossNodeNetworkingError"];
    let evaluated = ledger().evaluate(input.accepting(&names).input());
    assert_eq!(available(&evaluated), ["4.7.4", "4.6.43", "4.6.42"]);
    insta::assert_snapshot!(condition_line(recommended(&evaluated)), @"Recommended=True AllExposedRisksAccepted: The update is recommended: all risks that apply or may apply to this cluster are accepted: AuthOAuthProxyLeakedConnections, VSphereHW14CrossNodeNetworkingError, VSphereNodeNameChanges.");
}

#[test]
fn transition_times_change_with_status() {
    let times = |evaluated: &LedgerEvaluation| {
        let update = only(evaluated);
        let risk = &evaluated.conditional_update_risks[0].conditions[0];
        let all = [condition(update, "Evaluating"), condition(update, "Recommended"), risk];
        all.map(|condition| condition.last_transition_time.clone().unwrap().0)
    };
    let mut input = TestInput::with_outcomes([(PROXY, Ok(true)), (VSPHERE, Ok(false))]);
    let mut evaluated = ledger().evaluate(input.input());
    assert_eq!(times(&evaluated), [at(0), at(0), at(0)]);

    input.previous = PreviousEvaluation::from(&evaluated);
    input.second = 60;
    input.outcomes.insert(VSPHERE.to_owned(), Ok(true));
    evaluated = ledger().evaluate(input.input());
    assert_eq!(times(&evaluated), [at(0), at(0), at(0)], "only the reason has changed");

    input.previous = PreviousEvaluation::from(&evaluated);
    input.second = 120;
    input.acceptance = accepting(&[
        "AuthOAuthProxyLeakedConnections",
        "VSphereNodeNameChanges",
        "VSphereHW14CrossNodeNetworkingError",
    ]);
    evaluated = ledger().evaluate(input.input());
    assert_eq!(times(&evaluated), [at(0), at(120), at(0)], "acceptance does not change Applies");
}

#[test]
fn previous_status_is_kept_until_query_is_evaluated() {
    let mut input = TestInput::with_outcomes([(PROXY, Ok(false)), (VSPHERE, Ok(false))]);
    let before = ledger().evaluate(input.input());
    input = TestInput {
        previous: PreviousEvaluation::from(&before),
        second: 60,
        ..TestInput::default()
    };
    let after = ledger().evaluate(input.input());
    assert_eq!(available(&after), ["4.7.4", "4.6.43", "4.6.42"]);
    assert_eq!(after.wanted_queries, [PROXY, VSPHERE], "the queries are still evaluated");
    let applies = &after.conditional_update_risks[0].conditions[0];
    insta::assert_snapshot!(condition_line(applies), @"Applies=False NotMatch: The last evaluation of the query returned 0.");
    assert_eq!(applies.last_transition_time.clone().unwrap().0, at(0));

    input.outcomes = outcomes([(PROXY, failed()), (VSPHERE, Ok(false))]);
    assert_eq!(available(&ledger().evaluate(input.input())), ["4.6.43", "4.6.42"]);

    let other = Risk { message: "It means something else now.".into(), ..query_risk("Other") };
    let ledger = Ledger::new(CURRENT, vec![candidate("4.7.4", vec![other])], vec![]);
    let mut previous = PreviousEvaluation::from(&before);
    previous.conditional_update_risks[0].name = "Other".to_owned();
    input = TestInput { previous, ..TestInput::default() };
    assert_eq!(recommended(&ledger.evaluate(input.input())).reason, "EvaluationFailed");
}
