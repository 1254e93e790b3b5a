//! Three risks of 4.7.4, and three clusters that the update service offers it to.

use std::sync::Arc;

use fairway_risk::{Candidate, Evaluated, Ledger, Previous, Risk};

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
    let plain = |version| Candidate { release: release(version), risks: vec![] };
    let risky = Candidate { release: release("4.7.4"), risks: risks() };
    Ledger::new(CURRENT, vec![plain("4.6.42"), risky, plain("4.6.43")], vec![])
}

fn available(evaluated: &Evaluated) -> Vec<&str> {
    evaluated.available_updates.iter().map(|release| release.version.as_str()).collect()
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

#[test]
fn queries_are_wanted_once() {
    let evaluated = ledger().evaluate(World::default().round());
    assert_eq!(evaluated.wanted_queries, [PROXY, VSPHERE]);
}

#[test]
fn a_cluster_with_a_proxy_on_vsphere_is_warned_of_all_three() {
    let world = World::knowing([(PROXY, Ok(true)), (VSPHERE, Ok(true))]);
    let evaluated = ledger().evaluate(world.round());
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
fn another_cluster_is_recommended_the_update() {
    let world = World::knowing([(PROXY, Ok(false)), (VSPHERE, Ok(false))]);
    let evaluated = ledger().evaluate(world.round());
    assert_eq!(available(&evaluated), ["4.7.4", "4.6.43", "4.6.42"]);
    insta::assert_snapshot!(line(recommended(&evaluated)), @"Recommended=True NotExposedToRisks: The update is recommended: none of its risks applies to this cluster.");
}

#[test]
fn a_cluster_without_metrics_cannot_tell() {
    let world = World::knowing([(PROXY, failed()), (VSPHERE, failed())]);
    let evaluated = ledger().evaluate(world.round());
    assert_eq!(available(&evaluated), ["4.6.43", "4.6.42"]);
    insta::assert_snapshot!(line(recommended(&evaluated)), @"
    Recommended=Unknown EvaluationFailed: Unable to evaluate PromQL to determine if the cluster is impacted by AuthOAuthProxyLeakedConnections. The query returned no series. On clusters with a Proxy configured, the authentication operator may keep many oauth-server connections open, resulting in high memory consumption by the authentication operator and router pods. https://bugzilla.redhat.com/show_bug.cgi?id=1941840#c33

    Unable to evaluate PromQL to determine if the cluster is impacted by VSphereHW14CrossNodeNetworkingError. The query returned no series. Clusters on vSphere Virtual Hardware Version 14 and later may experience cross-node networking issues. https://access.redhat.com/solutions/5896081

    Unable to evaluate PromQL to determine if the cluster is impacted by VSphereNodeNameChanges. The query returned no series. vSphere clusters leveraging the vSphere cloud provider may lose node names which can have serious impacts on the stability of the control plane and workloads. https://bugzilla.redhat.com/show_bug.cgi?id=1942207#c3
    ");
}

#[test]
fn accepting_the_risks_makes_the_update_available() {
    let names = ["AuthOAuthProxyLeakedConnections", "VSphereNodeNameChanges"];
    let world = World::knowing([(PROXY, Ok(true)), (VSPHERE, Ok(true))]).accepting(&names);
    let evaluated = ledger().evaluate(world.round());
    assert_eq!(available(&evaluated), ["4.6.43", "4.6.42"]);
    assert_eq!(recommended(&evaluated).reason, "VSphereHW14CrossNodeNetworkingError");

    let names = [names[0], names[1], "VSphereHW14CrossNodeNetworkingError"];
    let evaluated = ledger().evaluate(world.accepting(&names).round());
    assert_eq!(available(&evaluated), ["4.7.4", "4.6.43", "4.6.42"]);
    insta::assert_snapshot!(line(recommended(&evaluated)), @"Recommended=True AllExposedRisksAccepted: The update is recommended: all risks that apply or may apply to this cluster are accepted: AuthOAuthProxyLeakedConnections, VSphereHW14CrossNodeNetworkingError, VSphereNodeNameChanges.");
}

#[test]
fn transition_times_move_only_with_the_status() {
    let times = |evaluated: &Evaluated| {
        let update = only(evaluated);
        let risk = &evaluated.conditional_update_risks[0].conditions[0];
        let all = [condition(update, "Evaluating"), condition(update, "Recommended"), risk];
        all.map(|condition| condition.last_transition_time.clone().unwrap().0)
    };
    let mut world = World::knowing([(PROXY, Ok(true)), (VSPHERE, Ok(false))]);
    let mut evaluated = ledger().evaluate(world.round());
    assert_eq!(times(&evaluated), [at(0), at(0), at(0)]);

    world.previous = Previous::from(&evaluated);
    world.second = 60;
    world.outcomes.insert(VSPHERE.to_owned(), Ok(true));
    evaluated = ledger().evaluate(world.round());
    assert_eq!(times(&evaluated), [at(0), at(0), at(0)], "the reason changed, the status did not");

    world.previous = Previous::from(&evaluated);
    world.second = 120;
    world.acceptance = accepting(&[
        "AuthOAuthProxyLeakedConnections",
        "VSphereNodeNameChanges",
        "VSphereHW14CrossNodeNetworkingError",
    ]);
    evaluated = ledger().evaluate(world.round());
    assert_eq!(times(&evaluated), [at(0), at(120), at(0)], "acceptance is not exposure");
}

#[test]
fn what_was_known_before_a_restart_stands_until_the_query_is_answered() {
    let mut world = World::knowing([(PROXY, Ok(false)), (VSPHERE, Ok(false))]);
    let before = ledger().evaluate(world.round());
    world = World { previous: Previous::from(&before), second: 60, ..World::default() };
    let after = ledger().evaluate(world.round());
    assert_eq!(available(&after), ["4.7.4", "4.6.43", "4.6.42"]);
    assert_eq!(after.wanted_queries, [PROXY, VSPHERE], "it is asked all the same");
    let applies = &after.conditional_update_risks[0].conditions[0];
    insta::assert_snapshot!(line(applies), @"Applies=False NotMatch: The last evaluation of the query returned 0.");
    assert_eq!(applies.last_transition_time.clone().unwrap().0, at(0));

    world.outcomes = outcomes([(PROXY, failed()), (VSPHERE, Ok(false))]);
    assert_eq!(available(&ledger().evaluate(world.round())), ["4.6.43", "4.6.42"]);

    let other = Risk { message: "It means something else now.".into(), ..queried("Other") };
    let ledger = Ledger::new(CURRENT, vec![candidate("4.7.4", vec![other])], vec![]);
    let mut previous = Previous::from(&before);
    previous.conditional_update_risks[0].name = "Other".to_owned();
    world = World { previous, ..World::default() };
    assert_eq!(recommended(&ledger.evaluate(world.round())).reason, "EvaluationFailed");
}
