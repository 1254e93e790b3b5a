//! Tests for explanations of risks and updates.
#![expect(clippy::needless_pass_by_value, reason = "values are written where they are used")]

use std::collections::BTreeMap;

use fairway_risk::evaluations::Evaluation;
use fairway_risk::{QueryFailure, QueryResult};
use serde_json::{Value, json};

use super::*;
use crate::status::tests::{at, object};

const QUERY: &str = r#"max(cluster_proxy_enabled{type=~"https?"})"#;

fn promql(query: &str) -> Value {
    json!({"type": "PromQL", "promql": {"promql": query}})
}

fn always() -> Value {
    json!({"type": "Always"})
}

fn risk(name: &str, applies: &str, reason: &str, rules: Value) -> Value {
    json!({
        "name": name, "message": format!("{name} breaks things."), "url": "https://example.com",
        "matchingRules": rules,
        "conditions": [{"type": "Applies", "status": applies, "reason": reason, "message": "So it is.",
                        "lastTransitionTime": at(-3600)}],
    })
}

fn update(version: &str, recommended: &str, risks: &[Value]) -> Value {
    let names: Vec<&Value> = risks.iter().map(|risk| &risk["name"]).collect();
    json!({
        "release": {"version": version, "image": format!("release@sha256:{version}"), "channels": ["stable-5.1"]},
        "risks": risks, "riskNames": names,
        "conditions": [{"type": "Recommended", "status": recommended, "reason": "Because", "message": "Long.",
                        "lastTransitionTime": at(-60)}],
    })
}

/// Cluster at 5.1.0 with these updates; `spec` is merged into its spec.
fn cluster(updates: &[Value], spec: Value) -> ClusterVersion {
    let risks: Vec<&Value> =
        updates.iter().flat_map(|it| it["risks"].as_array().unwrap()).collect();
    let mut by_name: BTreeMap<&str, &Value> = BTreeMap::new();
    for risk in risks {
        by_name.entry(risk["name"].as_str().unwrap()).or_insert(risk);
    }
    let mut object_ = json!({
        "metadata": {"name": "version"},
        "spec": {"clusterID": "", "channel": "stable-5.1"},
        "status": {
            "desired": {"version": "5.1.0", "image": "a"},
            "history": [{"state": "Completed", "version": "5.1.0", "image": "a"}],
            "conditions": [{"type": "RetrievedUpdates", "status": "True"}],
            "availableUpdates": [{"version": "5.1.1", "image": "b"}],
            "conditionalUpdates": updates,
            "conditionalUpdateRisks": by_name.values().collect::<Vec<_>>(),
        },
    });
    for (key, value) in spec.as_object().unwrap() {
        object_["spec"][key] = value.clone();
    }
    object(object_)
}

fn accepting(mut version: ClusterVersion, name: &str, terms: Value) -> ClusterVersion {
    let update = json!({"acceptRisks": [{"name": name}]});
    version.spec.desired_update = Some(object(update));
    let annotation = json!({name: terms}).to_string();
    version.metadata.annotations =
        Some([("fairway.dev/accepted-risks".to_owned(), annotation)].into());
    version
}

fn evaluations(answers: &[(&str, Result<f64, &str>)]) -> StoredEvaluations {
    let noted = answers.iter().map(|(query, came)| {
        let came = came.map(|value| QueryResult::Samples(vec![value.into()]));
        let came = came.map_err(|why| QueryFailure::request_failed(&why));
        ((*query).to_owned(), Evaluation::new(query, &came, at(-600), Some(at(3000))))
    });
    StoredEvaluations::Known(Evaluations::new(&noted.collect()))
}

fn explain(
    version: &ClusterVersion,
    evaluations: &StoredEvaluations,
    subject: Subject,
) -> Explanation {
    let input = ExplainInput { version, components: &[], evaluations, graph: None };
    Explanation::of(&subject, &input, at(0))
}

fn about_risk(
    version: &ClusterVersion,
    evaluations: &StoredEvaluations,
    name: &str,
) -> (ExplainedRisk, Verdict) {
    let explanation = explain(version, evaluations, Subject::Risk(name.to_owned()));
    let verdict = explanation.verdict();
    let Explained::Risk(risk) = explanation.subject else { panic!() };
    (*risk, verdict)
}

fn about_update(version: &ClusterVersion, to: &str) -> (ExplainedUpdate, Verdict) {
    let subject = Subject::Update(Version::parse(to).unwrap());
    let explanation = explain(version, &StoredEvaluations::Missing, subject);
    let verdict = explanation.verdict();
    let Explained::Update(update) = explanation.subject else { panic!() };
    (*update, verdict)
}

#[test]
fn json_of_risk_is_complete() {
    let proxy = risk("Proxy", "True", "Match", json!([promql(QUERY), always()]));
    let version = cluster(&[update("5.2.0", "False", &[proxy])], json!({}));
    let evaluations = evaluations(&[(QUERY, Ok(1.0))]);
    let explanation = explain(&version, &evaluations, Subject::Risk("Proxy".to_owned()));
    assert_eq!(explanation.verdict(), Verdict::No);
    insta::assert_snapshot!(serde_json::to_string_pretty(&explanation).unwrap());
}

#[test]
fn first_evaluable_rule_is_decisive() {
    let rules = json!([{"type": "Telepathy"}, promql("one"), promql("two"), always()]);
    let version =
        cluster(&[update("5.2.0", "False", &[risk("A", "True", "Match", rules)])], json!({}));
    let decides = |answers: &[(&str, Result<f64, &str>)]| {
        let (risk, _) = about_risk(&version, &evaluations(answers), "A");
        let rules = &risk.definitions[0].rules;
        rules.iter().map(|rule| rule.decisive).collect::<Vec<_>>()
    };
    assert_eq!(decides(&[]), [false, true, false, false], "its result is pending");
    assert_eq!(decides(&[("one", Ok(0.0))]), [false, true, false, false]);
    assert_eq!(decides(&[("one", Err("down"))]), [false, false, true, false]);
    let both = [("one", Err("down")), ("two", Ok(7.0))];
    assert_eq!(decides(&both), [false, false, false, true]);
}

#[test]
fn evaluations_have_age_and_overdue_flag() {
    let proxy = risk("Proxy", "True", "Match", json!([promql(QUERY)]));
    let version = cluster(&[update("5.2.0", "False", &[proxy])], json!({}));
    let evaluations = evaluations(&[(QUERY, Ok(1.0))]);
    let input =
        ExplainInput { version: &version, components: &[], evaluations: &evaluations, graph: None };
    let answer = |now: i64| {
        let subject = Subject::Risk("Proxy".to_owned());
        let Explained::Risk(risk) = Explanation::of(&subject, &input, at(now)).subject else {
            panic!()
        };
        let answer = risk.definitions[0].rules[0].evaluation.clone().unwrap();
        (answer.age_seconds, answer.next_evaluation_seconds, answer.overdue)
    };
    assert_eq!(answer(0), (600, Some(3000), false));
    assert_eq!(answer(3100), (3700, Some(-100), false), "a round takes a while");
    assert_eq!(answer(3700), (4300, Some(-700), true));
    assert_eq!(answer(-1000), (-400, Some(4000), false), "clocks differ");
}

#[test]
fn sources_of_risks() {
    let from = |name: &str, reason: &str, rules: Value, components: &[ClusterOperator]| {
        let spec = json!({"overrides": [{"kind": "Deployment", "group": "apps", "name": "a", "namespace": "b", "unmanaged": true}]});
        let version =
            cluster(&[update("5.2.0", "False", &[risk(name, "True", reason, rules)])], spec);
        let input = ExplainInput {
            version: &version,
            components,
            evaluations: &StoredEvaluations::Missing,
            graph: None,
        };
        let explanation = Explanation::of(&Subject::Risk(name.to_owned()), &input, at(0));
        let Explained::Risk(risk) = explanation.subject else { panic!() };
        let sources: Vec<String> = risk.sources.iter().map(ToString::to_string).collect();
        format!("{name}: {}", sources.join(", "))
    };
    let component: ClusterOperator = object(json!({
        "metadata": {"name": "olm"}, "spec": {},
        "status": {"extension": {"kind": "RiskReport", "version": "v1", "risks": [
            {"name": "OldOperators", "message": "They are old.", "url": "https://example.com"}]}},
    }));
    let output = [
        from("Proxy", "Match", json!([promql(QUERY)]), &[]),
        from("Everywhere", "Match", json!([always()]), &[]),
        from("OldOperators", "Match", json!([always()]), std::slice::from_ref(&component)),
        from("OldOperators", "Match", json!([promql(QUERY)]), std::slice::from_ref(&component)),
        from("DiskFull", "Alert:firing", json!([always()]), &[]),
        from("RemovedApi", "PreflightValidation", json!([always()]), &[]),
        from("ClusterOperatorUpgradeable-dns", "Match", json!([always()]), &[]),
        from("RiskReport-olm", "InvalidRisk", json!([always()]), &[]),
        from("AdminAck-ack-5.1-apis", "Match", json!([always()]), &[]),
        from("ClusterVersionOverrides", "Match", json!([always()]), &[]),
        from("ClusterVersionUpdating", "Match", json!([always()]), &[]),
        from("ResourceDeletionInProgress", "Match", json!([always()]), &[]),
    ];
    insta::assert_snapshot!(output.join("\n"), @"
    Proxy: the update service
    Everywhere: the update service
    OldOperators: the risk report of olm
    OldOperators: the update service, the risk report of olm
    DiskFull: the alerts
    RemovedApi: the preflight
    ClusterOperatorUpgradeable-dns: the cluster operator dns
    RiskReport-olm: the risk report of olm
    AdminAck-ack-5.1-apis: the admin gates
    ClusterVersionOverrides: spec.overrides
    ClusterVersionUpdating: the update in progress
    ResourceDeletionInProgress: the deletions in progress
    ");
}

#[test]
fn acceptance_has_terms_and_state() {
    let updates = [
        update("5.3.0", "False", &[risk("A", "True", "Match", json!([always()]))]),
        update("5.2.0", "True", &[risk("A", "True", "Match", json!([always()]))]),
    ];
    let output = |terms: Value| {
        let version = accepting(cluster(&updates, json!({})), "A", terms);
        let (risk, verdict) = about_risk(&version, &StoredEvaluations::Missing, "A");
        let words: Vec<_> = risk.updates.iter().map(|one| one.effect.acceptance).collect();
        let Accepted { listed: named, effective: counts, changed, .. } = risk.acceptance;
        format!("named={named} counts={counts} changed={changed} {words:?} {verdict:?}")
    };
    let hash = definition_hash(&cluster(&updates, json!({})), "A");
    let output = [
        output(json!({"by": "alice", "definition": hash})),
        output(json!({"definition": "another"})),
        output(json!({"for": "5.2.x"})),
        output(json!({"until": "2020-01-01"})),
        output(json!("yes")),
    ];
    insta::assert_snapshot!(output.join("\n"), @r#"
    named=true counts=true changed=false ["accepted", "accepted"] Yes
    named=true counts=true changed=true ["acceptedBeforeChange", "acceptedBeforeChange"] Yes
    named=true counts=true changed=false ["outOfScope", "accepted"] No
    named=true counts=false changed=false ["expired", "expired"] No
    named=true counts=false changed=false ["invalidTerms", "invalidTerms"] No
    "#);
}

fn definition_hash(version: &ClusterVersion, name: &str) -> String {
    ListedUpdates::of(version).definition(name).map(fairway_risk::definition_hash).unwrap()
}

#[test]
fn verdict_of_risk_depends_on_exposure_and_recommendation() {
    let verdict = |applies: &str, recommended: &str| {
        let risk = risk("A", applies, "Match", json!([always()]));
        let version = cluster(&[update("5.2.0", recommended, &[risk])], json!({}));
        about_risk(&version, &StoredEvaluations::Missing, "A").1
    };
    assert_eq!(verdict("True", "False"), Verdict::No);
    assert_eq!(verdict("False", "False"), Verdict::Yes, "another risk blocks it");
    assert_eq!(verdict("Unknown", "Unknown"), Verdict::Unknown);
    assert_eq!(verdict("Unknown", "True"), Verdict::Yes, "it is shown, and holds nothing up");
    let version = cluster(&[], json!({}));
    let (unheard_of, unknown) = about_risk(&version, &StoredEvaluations::Missing, "A");
    assert_eq!((unheard_of.is_known(), unknown), (false, Verdict::Unknown));
    let (accepted, fine) =
        about_risk(&accepting(version, "A", json!({})), &StoredEvaluations::Missing, "A");
    assert_eq!((accepted.is_known(), fine), (true, Verdict::Yes), "a fleet is prepared ahead");
}

#[test]
fn risk_with_several_definitions_lists_each() {
    let updates = [
        update("5.3.0", "False", &[risk("A", "True", "Match", json!([always()]))]),
        update("5.2.1", "True", &[risk("A", "False", "NotMatch", json!([promql(QUERY)]))]),
        update("5.2.0", "True", &[risk("A", "False", "NotMatch", json!([promql(QUERY)]))]),
    ];
    let (risk, verdict) =
        about_risk(&cluster(&updates, json!({})), &StoredEvaluations::Missing, "A");
    let updates: Vec<_> = risk.definitions.iter().map(|one| one.updates.join(" ")).collect();
    assert_eq!(
        (updates, verdict),
        (vec!["5.3.0".to_owned(), "5.2.1 5.2.0".to_owned()], Verdict::No)
    );
}

#[test]
fn json_of_update_is_complete() {
    let risks = [
        risk("Proxy", "True", "Match", json!([promql(QUERY)])),
        risk("DiskFull", "True", "Alert:firing", json!([always()])),
    ];
    let version = cluster(&[update("5.2.0", "False", &risks)], json!({}));
    let version = accepting(version, "DiskFull", json!({"by": "alice", "for": "5.2.x"}));
    let subject = Subject::Update(Version::parse("5.2.0").unwrap());
    let explanation =
        explain(&version, &StoredEvaluations::Unreadable("forbidden".to_owned()), subject);
    assert_eq!(explanation.verdict(), Verdict::No);
    insta::assert_snapshot!(serde_json::to_string_pretty(&explanation).unwrap());
}

#[test]
fn offer_depends_on_listed_updates() {
    let not_offered = risk("NotOfferedByUpdateService", "True", "Match", json!([always()]));
    let updates = [
        update("5.2.0", "Unknown", &[risk("A", "Unknown", "EvaluationFailed", json!([always()]))]),
        update("5.2.1", "True", &[risk("A", "False", "NotMatch", json!([always()]))]),
        update("5.3.0", "False", &[not_offered]),
    ];
    let version = cluster(&updates, json!({}));
    let offer = |to: &str| {
        let (update, verdict) = about_update(&version, to);
        (update.offer, verdict, update.blockers.is_empty())
    };
    assert_eq!(offer("5.1.0"), (Offer::Current, Verdict::Yes, true));
    assert_eq!(offer("5.1.1"), (Offer::Unconditional, Verdict::Yes, true));
    assert_eq!(offer("5.2.0"), (Offer::Conditional, Verdict::Unknown, true));
    assert_eq!(offer("5.2.1"), (Offer::Conditional, Verdict::Yes, true));
    assert_eq!(offer("5.3.0"), (Offer::NotOffered, Verdict::Unknown, false));
    assert_eq!(offer("5.1.2"), (Offer::NotOffered, Verdict::Unknown, false));
}

#[test]
fn blockers_of_versions_not_offered() {
    let updates = [update("5.2.1", "True", &[]), update("5.2.0", "True", &[])];
    let output = |spec: Value, to: &str| about_update(&cluster(&updates, spec), to).0.blockers;
    let instead = |versions: &[&str]| UpdateBlocker::NotListed {
        alternatives: versions.iter().map(|version| (*version).to_owned()).collect(),
    };
    assert_eq!(output(json!({}), "5.2.9"), [instead(&["5.2.1", "5.2.0"])]);
    let guard = |minors| [UpdateBlocker::NoPath(NotOffered::Guard { minor_distance: minors })];
    assert_eq!(output(json!({}), "5.0.9"), [UpdateBlocker::NoPath(NotOffered::Older)]);
    assert_eq!(output(json!({}), "5.4.0"), guard(Some(3)));
    assert_eq!(output(json!({}), "6.0.0"), guard(None));
    let silent = json!({"channel": ""});
    assert_eq!(output(silent, "5.1.7"), [UpdateBlocker::NoChannel, instead(&["5.1.1"])]);

    let mut version = cluster(&updates, json!({}));
    let conditions = json!([
        {"type": "RetrievedUpdates", "status": "False", "reason": "ResponseFailed", "message": "503"},
        {"type": "Upgradeable", "status": "False", "reason": "Operators", "message": "Move them first."},
    ]);
    version.status.as_mut().unwrap().conditions = object(conditions);
    let (update, _) = about_update(&version, "5.2.9");
    assert_eq!(
        update.blockers[0],
        UpdateBlocker::UpdatesNotRetrieved {
            reason: Some("ResponseFailed".to_owned()),
            message: Some("503".to_owned()),
        }
    );
    assert!(matches!(update.blockers[1], UpdateBlocker::NotUpgradeable { .. }));
    let (update, _) = about_update(&version, "5.1.9");
    assert!(!update.blockers.iter().any(|why| matches!(why, UpdateBlocker::NotUpgradeable { .. })));
    let (update, _) = about_update(&ClusterVersion::default(), "5.1.9");
    assert_eq!(update.blockers, [UpdateBlocker::NoChannel, instead(&[])]);
}

#[test]
fn verdict_with_upgradeable_false_matches_recommend() {
    let verdicts = |message: &str, to: &str| {
        let updates = [
            update("5.2.0", "True", &[risk("A", "False", "NotMatch", json!([always()]))]),
            update("5.2.1", "True", &[risk("Gate", "True", "Match", json!([always()]))]),
        ];
        let mut version = cluster(&updates, json!({}));
        let status = version.status.as_mut().unwrap();
        status.available_updates =
            object(json!([{"version": "5.1.1", "image": "b"}, {"version": "5.2.2", "image": "c"}]));
        let output =
            json!({"type": "Upgradeable", "status": "False", "reason": "R", "message": message});
        status.conditions.push(object(output));
        status.conditions.push(object(json!({"type": "Failing", "status": "False"})));
        let (update, verdict) = about_update(&version, to);
        let query = crate::recommend::RecommendQuery {
            version: Some(Version::parse(to).unwrap()),
            ..Default::default()
        };
        let alerts = crate::Alerts::NoMonitoring;
        let recommended = crate::Recommendation::of(&version, &alerts, &query, at(0));
        assert_eq!(verdict, recommended.verdict(), "{message} {to}");
        (verdict, update.blockers.len())
    };
    assert_eq!(verdicts("Confirm it.", "5.1.1"), (Verdict::Yes, 0), "the same minor version");
    assert_eq!(verdicts("Confirm it.", "5.2.0"), (Verdict::No, 1));
    assert_eq!(verdicts("Confirm it.", "5.2.1"), (Verdict::No, 1));
    assert_eq!(verdicts("Confirm it.", "5.2.2"), (Verdict::No, 1));
    let counted = "Gate: Gate breaks things.";
    assert_eq!(verdicts(counted, "5.2.1"), (Verdict::Yes, 0), "a risk, and accepted");
}

/// The Go operator reports exposure only in the condition `Recommended` of updates.
#[test]
fn exposure_without_applies_is_derived_from_recommended() {
    use crate::Exposure::{Exposed, NotExposed, NotReported, Unknown};

    let output = |rules: Value, status: &str, reason: &str, message: &str| {
        let mut one = risk("A", "True", "Match", rules);
        one["conditions"] = json!([]);
        let mut update = update("5.2.0", status, &[one]);
        update["riskNames"] = json!([]);
        update["conditions"][0]["reason"] = reason.into();
        update["conditions"][0]["message"] = message.into();
        let mut version = cluster(&[update], json!({}));
        version.status.as_mut().unwrap().conditional_update_risks.clear();
        let (explained, verdict) = about_risk(&version, &StoredEvaluations::Missing, "A");
        assert_eq!(explained.exposure, explained.updates[0].effect.exposure);
        let accepted = accepting(version, "A", json!({}));
        (
            explained.exposure,
            verdict,
            about_risk(&accepted, &StoredEvaluations::Missing, "A").0.exposure,
        )
    };
    let query = || json!([promql(QUERY)]);
    let both = "B is. https://b\n\nA breaks things. https://example.com";
    let failed = "Could not evaluate exposure to update risk A (throttled)\n  A description: A \
        breaks things.\n  A URL: https://example.com";
    let throttled = "B is. https://b\n\nExposure to A is unknown due to an evaluation failure: \
        throttled\nA breaks things. https://example.com";
    let unknown = Verdict::Unknown;
    for (rules, status, reason, message, expected) in [
        (json!([always()]), "False", "B", "B is.", (Exposed, Verdict::No, Exposed)),
        (query(), "False", "A", "", (Exposed, Verdict::No, Exposed)),
        (query(), "False", "MultipleReasons", both, (Exposed, Verdict::No, Exposed)),
        (query(), "Unknown", "EvaluationFailed", failed, (Unknown, unknown, Unknown)),
        (query(), "False", "MultipleReasons", throttled, (Unknown, unknown, Unknown)),
        (query(), "False", "B", "B is.", (NotReported, unknown, NotReported)),
        (query(), "True", "AsExpected", "", (NotExposed, Verdict::Yes, NotReported)),
    ] {
        assert_eq!(output(rules, status, reason, message), expected, "{status} {reason} {message}");
    }
}

#[test]
fn graph_reason_replaces_not_listed() {
    let version = cluster(&[], json!({}));
    let channels = vec!["candidate-5.2".to_owned()];
    let elsewhere = NotOffered::NotInChannel { channels };
    let (evaluations, graph) = (&StoredEvaluations::Missing, Some(&elsewhere));
    let input = ExplainInput { version: &version, components: &[], evaluations, graph };
    let subject = Subject::Update(Version::parse("5.2.0").unwrap());
    let Explained::Update(update) = Explanation::of(&subject, &input, at(0)).subject else {
        panic!()
    };
    let output = serde_json::to_string(&update.blockers).unwrap();
    insta::assert_snapshot!(output, @r#"[{"type":"noPath","reason":"notInChannel","channels":["candidate-5.2"]}]"#);
}

#[test]
fn names_lists_offered_and_accepted_risks() {
    let updates = [update("5.2.0", "False", &[risk("B", "True", "Match", json!([always()]))])];
    let version = accepting(cluster(&updates, json!({})), "A", json!({}));
    assert_eq!(names(&version).into_iter().collect::<Vec<_>>(), ["A", "B"]);
}
