//! Text output of `upgrade explain`.

use std::collections::BTreeMap;

use fairway_api::Version;
use fairway_api::cluster_version::{ConditionalUpdateRisk, MatchingRule};
use fairway_graph::analysis::UpdateCause;
use fairway_insight::plan::NotOffered;
use fairway_risk::evaluations::Evaluation;
use fairway_risk::{QueryFailure, QueryResult, Sample, definition_hash};
use jiff::ToSpan as _;
use serde_json::json;

use super::super::fixtures::{
    accept, cluster_version, condition, hold, now, offer, recommended, risk,
};
use super::*;

const QUERY: &str = "group by (type) (cluster_proxy_enabled == 1)\nor\n0 * group(up)";

/// Risk with a query and a second rule without one.
fn of_query(name: &str, applies: &str) -> ConditionalUpdateRisk {
    let rule = |rule| serde_json::from_value::<MatchingRule>(rule).unwrap();
    let promql = rule(json!({"type": "PromQL", "promql": {"promql": QUERY}}));
    let mut risk = risk(name, applies);
    risk.matching_rules = vec![promql, rule(json!({"type": "Always"}))];
    risk.conditions[0].message =
        "The query returned 1: the risk applies to this cluster.".to_owned();
    risk
}

/// Cluster at 5.1.0 with one risk of 5.2.0 that applies, and one that does not.
fn cluster() -> ClusterVersion {
    let mut object = cluster_version();
    let risks = [of_query("Proxy", "True"), risk("SlowDisks", "False")];
    let refused = recommended("False", "Proxy", "Proxy may happen.");
    offer(&mut object, "5.2.0", &risks, refused);
    offer(&mut object, "5.2.1", &risks[1..], recommended("True", "NotExposedToRisks", ""));
    object
}

/// Evaluation of ten minutes ago.
fn evaluation(came: &Result<QueryResult, QueryFailure>) -> StoredEvaluations {
    let at = now() - 10.minutes();
    let one = Evaluation::new(QUERY, came, at, Some(at + 60.minutes()));
    StoredEvaluations::Known(Evaluations::new(&BTreeMap::from([(QUERY.to_owned(), one)])))
}

fn samples(count: usize) -> StoredEvaluations {
    let one = |number: usize| Sample {
        labels: BTreeMap::from([("type".to_owned(), format!("http{number}"))]),
        value: 1.0,
    };
    evaluation(&Ok(QueryResult::Samples((0..count).map(one).collect())))
}

fn output(version: &ClusterVersion, evaluations: &StoredEvaluations, subject: &Subject) -> String {
    let input = ExplainInput { version, components: &[], evaluations, graph: None };
    let explanation = Explanation::of(subject, &input, now());
    format!("{}\n{:?}", ExplanationText { explanation: &explanation }, explanation.verdict())
}

fn of_risk(version: &ClusterVersion, evaluations: &StoredEvaluations, name: &str) -> String {
    output(version, evaluations, &Subject::Risk(name.to_owned()))
}

fn of_update(version: &ClusterVersion, to: &str) -> String {
    output(version, &StoredEvaluations::Missing, &Subject::Update(Version::parse(to).unwrap()))
}

/// Paragraph with a first line.
fn paragraph(text: &str, beginning: &str) -> String {
    text.split("\n\n").find(|part| part.starts_with(beginning)).unwrap_or_default().to_owned()
}

#[test]
fn risk_name_is_quoted_for_the_shell() {
    let mut object = cluster();
    let hostile = risk("A;curl x|sh", "True");
    offer(&mut object, "5.2.8", &[hostile], recommended("False", "A", "So it is."));
    let text = of_risk(&object, &StoredEvaluations::Missing, "A;curl x|sh");
    assert_eq!(
        paragraph(&text, "Not accepted.").lines().next(),
        Some("Not accepted. To accept it, run `fairway upgrade accept 'A;curl x|sh'`.")
    );
}

#[test]
fn text_of_risk_that_does_not_apply() {
    insta::assert_snapshot!(of_risk(&cluster(), &StoredEvaluations::Missing, "SlowDisks"), @"
    SlowDisks: does not apply to this cluster, since 2h0m (Match)

    Source: the update service

    Description:
      SlowDisks may happen.
      https://example.com/SlowDisks

    Evaluation:
      1. Always: applies to every cluster

    Affected updates:
      5.2.1  Recommended=True
      5.2.0  Recommended=False

    Not accepted. To accept it, run `fairway upgrade accept SlowDisks`.
    Yes
    ");
}

#[test]
fn text_of_evaluations() {
    let later = |evaluations: StoredEvaluations, minutes: i64| {
        let version = cluster();
        let input = ExplainInput {
            version: &version,
            components: &[],
            evaluations: &evaluations,
            graph: None,
        };
        let subject = Subject::Risk("Proxy".to_owned());
        let explanation = Explanation::of(&subject, &input, now() + minutes.minutes());
        let text = ExplanationText { explanation: &explanation }.to_string();
        paragraph(&text, "Evaluation")
    };
    let down = || Err(QueryFailure::request_failed(&"connection refused"));
    let evaluations = StoredEvaluations::Unreadable("configmaps is forbidden".to_owned());
    let full = StoredEvaluations::Known(Evaluations { queries: Vec::new(), omitted: 3 });
    let all = [
        later(samples(8), 0),
        later(evaluation(&Ok(QueryResult::Samples(vec![0.0.into()]))), 55),
        later(evaluation(&down()), 0),
        later(samples(1), 120),
        later(StoredEvaluations::Known(Evaluations::default()), 0),
        later(full, 0),
        later(StoredEvaluations::Missing, 0),
        later(evaluations, 0),
    ];
    let all = all.map(|text| text.split("or\n").nth(1).unwrap_or_default().to_owned());
    insta::assert_snapshot!(all.join("\n\n"), @r#"
       0 * group(up)
       No result for 10m: the query returned 8 series instead of one. The operator retries with a backoff of up to 10 minutes.
         {type="http0"} 1
         {type="http1"} 1
         {type="http2"} 1
         {type="http3"} 1
         {type="http4"} 1
         and 3 more
    2. Always: applies to every cluster (decides)

       0 * group(up)
       This cluster is not exposed: evaluated 1h5m ago, next evaluation now
         {} 0
    2. Always: applies to every cluster

       0 * group(up)
       No result for 10m: cannot evaluate the query: connection refused. The operator retries with a backoff of up to 10 minutes.
    2. Always: applies to every cluster (decides)

       0 * group(up)
       This cluster is exposed: evaluated 2h10m ago; the next evaluation has been overdue for 1h10m: check that the operator is running
         {type="http0"} 1
    2. Always: applies to every cluster

       0 * group(up)
       Not evaluated yet.
    2. Always: applies to every cluster

       0 * group(up)
       The result is not stored: the number of stored results is limited.
    2. Always: applies to every cluster

       0 * group(up)
       Results are unavailable: the operator has not stored any.
    2. Always: applies to every cluster

       0 * group(up)
       Results are unavailable: configmaps is forbidden.
    2. Always: applies to every cluster
    "#);
}

#[test]
fn text_of_acceptance() {
    let hash = definition_hash(&of_query("Proxy", "True"));
    let accepted = |terms: &str| {
        let mut object = cluster();
        accept(&mut object, &["Proxy"], Some(&format!(r#"{{"Proxy": {terms}}}"#)));
        let text = of_risk(&object, &StoredEvaluations::Missing, "Proxy");
        [paragraph(&text, "Affected updates"), paragraph(&text, "Accepted")].join("\n")
    };
    let same = format!(
        r#"{{"reason": "no proxy in March", "until": "2026-12-31", "for": "5.2.x", "by": "alice", "definition": "{hash}"}}"#
    );
    let all = [
        accepted(&same),
        accepted(r#"{"definition": "another", "by": "\u001b[2Jmallory"}"#),
        accepted(r#"{"until": "2025-12-31"}"#),
        accepted(r#"{"for": "5.3.x"}"#),
        accepted("7"),
    ];
    insta::assert_snapshot!(all.join("\n\n"), @r"
    Affected updates:
      5.2.0  Recommended=False, accepted
    Accepted, for 5.2.x, until 2026-12-31, by alice: no proxy in March
    Yes

    Affected updates:
      5.2.0  Recommended=False, accepted before it changed
    Accepted, by \u{1b}[2Jmallory
      The risk has changed since it was accepted.
    Yes

    Affected updates:
      5.2.0  Recommended=False, because of this risk, accepted until 2025-12-31 (expired)
    Accepted, until 2025-12-31
      The acceptance has expired.
    No

    Affected updates:
      5.2.0  Recommended=False, because of this risk, accepted only for 5.3.x
    Accepted, for 5.3.x
    No

    Affected updates:
      5.2.0  Recommended=False, because of this risk, accepted with invalid terms
    Accepted
      The acceptance has no effect, its terms are invalid: invalid type: integer `7`, expected an object with acceptance terms.
    No
    ");
}

#[test]
fn unknown_risk_is_an_error() {
    let mut object = cluster();
    accept(&mut object, &["Later"], None);
    insta::assert_snapshot!(of_risk(&object, &StoredEvaluations::Missing, "Later"), @"
    Later: exposure not reported by the operator

    No available update has this risk.

    Accepted
    Yes
    ");
    let unknown_risk = |object: &ClusterVersion, name: &str| {
        let CannotTell { message, hint } = unknown_risk(name, object);
        format!("{message}\n{hint}")
    };
    let all = [
        unknown_risk(&object, "SlowDisk"),
        unknown_risk(&object, "Etcd"),
        unknown_risk(&cluster_version(), "\u{1b}[2J"),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    no available update has a risk named "SlowDisk", and no such risk is accepted
    did you mean SlowDisks?
    no available update has a risk named "Etcd", and no such risk is accepted
    run `fairway upgrade --include-not-recommended` to list updates with risks; run `fairway upgrade plan --to=VERSION` for the risks of later updates
    no available update has a risk named "\u{1b}[2J", and no such risk is accepted
    no available update has risks; run `fairway upgrade plan --to=VERSION` for the risks of later updates
    "#);
}

#[test]
fn text_of_conditional_update() {
    let mut object = cluster();
    accept(&mut object, &["Proxy"], Some(r#"{"Proxy": {"for": "5.3.x"}}"#));
    insta::assert_snapshot!(of_update(&object, "5.2.0"), @"
    5.2.0: available from 5.1.0, conditional on its risks
    Recommended=False for this cluster: Proxy, since 2h0m

    Channel: stable-5.1
    Update service: default of the operator
    Image: registry.example/release@sha256:8ecd4901ea069209005fa5d998421b30df046f771a2a930189f6c1adad5cea2e

    Risks:
      Proxy: applies to this cluster, accepted only for 5.3.x; source: the update service
        Proxy may happen.
        The query returned 1: the risk applies to this cluster.
      SlowDisks: does not apply to this cluster; source: the update service
        SlowDisks may happen.

    For details of a risk, run `fairway upgrade explain RISK`.
    No
    ");
    insta::assert_snapshot!(of_update(&object, "5.2.1"), @"
    5.2.1: available from 5.1.0, conditional on its risks
    Recommended=True for this cluster: NotExposedToRisks, since 2h0m

    Channel: stable-5.1
    Update service: default of the operator
    Image: registry.example/release@sha256:1cd27d88161e5261f6f07953e2564109a62f486b0f1732aa8cb9d0275b709e9f

    Risks:
      SlowDisks: does not apply to this cluster; source: the update service
        SlowDisks may happen.

    For details of a risk, run `fairway upgrade explain RISK`.
    Yes
    ");
}

#[test]
fn text_of_update_blocked_by_cluster() {
    let mut object = cluster();
    let mut gate = risk("AdminAck-ack-5.1-apis", "True");
    gate.conditions[0].message = String::new();
    offer(&mut object, "5.2.3", &[gate], recommended("False", "AdminAckRequired", "Confirm it."));
    hold(&mut object, condition("Upgradeable", "False", "Operators", "Move them first."));
    let available = object.status.as_mut().unwrap().available_updates.get_or_insert_default();
    available.push(fairway_testkit::objects::release("5.2.9"));
    let paragraphs = |to: &str| {
        let text = of_update(&object, to);
        let heading = text.lines().next().unwrap_or_default();
        format!("{heading}\n{}", paragraph(&text, "Other issues:"))
    };
    let texts = ["5.1.10", "5.2.1", "5.2.3", "5.2.9"].map(paragraphs);
    insta::assert_snapshot!(texts.join("\n"), @"
    5.1.10: recommended, available from 5.1.0 without conditions

    5.2.1: available from 5.1.0, conditional on its risks
    Other issues:
      Upgradeable=False blocks updates to later minor versions (Operators): Move them first.
    No
    5.2.3: available from 5.1.0, conditional on risks of this cluster
    Other issues:
      Upgradeable=False blocks updates to later minor versions (Operators): Move them first.
    No
    5.2.9: not recommended, available from 5.1.0 without conditions
    Other issues:
      Upgradeable=False blocks updates to later minor versions (Operators): Move them first.
    No
    ");
}

#[test]
fn text_of_current_version() {
    insta::assert_snapshot!(of_update(&cluster(), "5.1.0"), @"
    5.1.0 is the current or the desired version of this cluster.

    Channel: stable-5.1
    Update service: default of the operator
    Yes
    ");
}

#[test]
fn text_of_update_not_offered() {
    let mut object = cluster();
    hold(&mut object, condition("RetrievedUpdates", false, "ResponseFailed", "It answers 503."));
    hold(&mut object, condition("Upgradeable", false, "AdminAckRequired", "Acknowledge it first."));
    let mut without_channel = cluster();
    without_channel.spec.channel = None;
    let all = [
        of_update(&object, "5.2.9"),
        of_update(&without_channel, "5.1.11"),
        of_update(&cluster(), "5.0.9"),
        of_update(&cluster(), "5.4.0"),
        of_update(&cluster(), "6.0.0"),
    ];
    let all = all.map(|text| paragraph(&text, "Reasons"));
    insta::assert_snapshot!(all.join("\n"), @"
    Reasons:
      The available updates are unknown (ResponseFailed): It answers 503.
      Upgradeable=False blocks updates to later minor versions (AdminAckRequired): Acknowledge it first.
      Other updates to that minor version are available: 5.2.1, 5.2.0.
    Reasons:
      No channel is set, so the operator does not retrieve updates. Set one with `fairway upgrade channel CHANNEL`.
      Other updates to that minor version are available: 5.1.10, 5.1.9.
    Reasons:
      It is older than the version of this cluster.
    Unknown
    Reasons:
      It is 3 minor versions ahead, and an update can cross at most two.
    Reasons:
      It has another major version, and no update leads to it from this version.
    ");
}

#[test]
fn text_of_graph_reasons() {
    let version = cluster();
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let because = |graph: NotOffered| {
        let graph = Some(&graph);
        let input = ExplainInput {
            version: &version,
            components: &[],
            evaluations: &StoredEvaluations::Missing,
            graph,
        };
        let subject = Subject::Update(Version::parse("5.2.9").unwrap());
        let explanation = Explanation::of(&subject, &input, now());
        paragraph(&ExplanationText { explanation: &explanation }.to_string(), "Reasons")
    };
    let file = "channels/stable-5.1.yaml".to_owned();
    let (release, key) = ("5.2.9".to_owned(), "previous.remove_regex".to_owned());
    let removed = UpdateCause::Metadata { release, key };
    let all = [
        because(NotOffered::UnknownCurrentVersion),
        because(NotOffered::UnknownVersion),
        because(NotOffered::NotInChannel { channels: texts(&["candidate-5.2", "fast-5.2"]) }),
        because(NotOffered::Tombstoned { channel: "stable-5.1".to_owned(), file }),
        because(NotOffered::Blocked { causes: vec![removed] }),
        because(NotOffered::NoEdge { from_versions: texts(&["5.1.9", "5.1.8"]) }),
        because(NotOffered::NoEdge { from_versions: Vec::new() }),
    ];
    insta::assert_snapshot!(all.join("\n"), @"
    Reasons:
      The version of this cluster is not in the update graph.
    Reasons:
      The update graph has no such release.
    Reasons:
      It is not in stable-5.1, but in candidate-5.2, fast-5.2.
    Reasons:
      Removed from stable-5.1 by graph-data: channels/stable-5.1.yaml.
    Reasons:
      Blocked by graph-data: metadata of 5.2.9: previous.remove_regex.
    Reasons:
      Updates to it start only from other versions, such as 5.1.9, 5.1.8.
    Reasons:
      No update leads to it.
    ");
}

#[test]
fn empty_cluster_version_does_not_fail() {
    insta::assert_snapshot!(of_update(&ClusterVersion::default(), "5.1.9"), @"
    5.1.9: not available from an unknown version

    Channel: none
    Update service: default of the operator

    Reasons:
      No channel is set, so the operator does not retrieve updates. Set one with `fairway upgrade channel CHANNEL`.
      The update service has no update to that minor version in this channel.
    Unknown
    ");
}
