//! Reports on fleets.
#![expect(clippy::needless_pass_by_value, reason = "values are written where they are used")]

use fairway_api::Version;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::status::tests::{at, object};

/// Healthy cluster at 5.1.0 with these updates; `more` replaces parts of its status.
fn cluster(name: &str, more: Value) -> FleetMember {
    let mut status = json!({
        "desired": {"version": "5.1.0", "image": "a"},
        "history": [{"state": "Completed", "version": "5.1.0", "image": "a", "startedTime": at(0)}],
        "conditions": well(),
    });
    status.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let version = object(json!({
        "metadata": {"name": "version"},
        "spec": {"clusterID": "", "channel": "stable-5.1"},
        "status": status,
    }));
    let snapshot =
        ClusterSnapshot { version, preflights: Vec::new(), preflights_unread: None, now: at(3600) };
    FleetMember { name: name.to_owned(), snapshot: Ok(snapshot) }
}

fn well() -> Value {
    json!([condition("Failing", "False"), condition("RetrievedUpdates", "True")])
}

fn condition(type_: &str, status: &str) -> Value {
    json!({"type": type_, "status": status, "reason": "Why", "message": "That is why."})
}

/// Cluster with these conditions.
fn with_conditions(name: &str, conditions: &[(&str, &str)]) -> FleetMember {
    let conditions: Vec<Value> = conditions.iter().map(|(a, b)| condition(a, b)).collect();
    cluster(name, json!({"conditions": conditions, "availableUpdates": [release("5.1.4")]}))
}

fn release(version: &str) -> Value {
    json!({"version": version, "image": format!("image-of-{version}")})
}

fn conditional(version: &str, risks: &[&str], recommended: &str) -> Value {
    let risk = |name: &&str| json!({"name": name, "message": format!("{name} it is."), "url": "u", "matchingRules": []});
    json!({"release": release(version), "risks": risks.iter().map(risk).collect::<Vec<_>>(),
           "conditions": [{"type": "Recommended", "status": recommended, "reason": "R", "message": "M"}]})
}

fn unread(name: &str) -> FleetMember {
    let why = ClusterError { message: "no response".to_owned(), hint: None };
    FleetMember { name: name.to_owned(), snapshot: Err(why) }
}

fn snapshot(cluster: &mut FleetMember) -> &mut ClusterSnapshot {
    cluster.snapshot.as_mut().unwrap()
}

fn accept(mut cluster: FleetMember, names: &[&str], terms: Value) -> FleetMember {
    let names: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
    let version = &mut snapshot(&mut cluster).version;
    version.spec.desired_update = Some(object(json!({"acceptRisks": names})));
    let annotation = (fairway_risk::ANNOTATION.to_owned(), terms.to_string());
    version.metadata.annotations = Some([annotation].into());
    cluster
}

fn preflight(mut cluster: FleetMember, version: &str, findings: &[&str]) -> FleetMember {
    let result = match findings {
        [] => PreflightResult::NoFindings,
        _ => PreflightResult::Findings,
    };
    snapshot(&mut cluster).preflights.push(Preflight {
        version: version.to_owned(),
        result,
        findings: findings.iter().map(|&name| name.to_owned()).collect(),
        age_seconds: Some(60),
    });
    cluster
}

fn report(clusters: &[FleetMember], targets: &[&str]) -> FleetReport {
    let targets: Vec<Version> = targets.iter().map(|text| Version::parse(text).unwrap()).collect();
    FleetReport::of(clusters, &targets)
}

/// Lines of a report, one for each cluster and version.
fn lines(report: &FleetReport) -> String {
    let mut lines = Vec::new();
    for cluster in &report.clusters {
        let blockers: Vec<&str> = cluster.blockers.iter().map(|one| one.name.as_str()).collect();
        let at = cluster.version.as_deref().unwrap_or("-");
        lines.push(format!("{} at {at}: {:?} {blockers:?}", cluster.name, cluster.readiness));
        for target in &cluster.targets {
            let TargetReport { version, verdict, readiness, risks, .. } = target;
            lines.push(format!("  {version} {verdict:?} {readiness:?} {risks:?}"));
        }
    }
    lines.join("\n")
}

#[test]
fn report_has_state_of_each_cluster_and_version() {
    let offers = json!({
        "availableUpdates": [release("5.1.4")],
        "conditionalUpdates": [
            conditional("5.2.0", &["A", "B"], "False"),
            conditional("5.2.1", &["C"], "Unknown"),
        ],
    });
    let later = json!({
        "desired": {"version": "5.3.0", "image": "c"},
        "history": [{"state": "Completed", "version": "5.3.0", "image": "c", "startedTime": at(0)}],
    });
    let on_its_way = json!({
        "desired": {"version": "5.1.4", "image": "b"},
        "history": [
            {"state": "Partial", "version": "5.1.4", "image": "b", "startedTime": at(0)},
            {"state": "Completed", "version": "5.1.0", "image": "a", "startedTime": at(0)},
        ],
        "conditions": [condition("Failing", "False"), condition("Progressing", "True"),
                       condition("RetrievedUpdates", "True")],
    });
    let clusters = [
        cluster("offered", offers.clone()),
        accept(cluster("accepted", offers), &["A"], json!({})),
        cluster("later", later),
        cluster("on-its-way", on_its_way),
        cluster("latest", json!({})),
        cluster("nothing-known", json!({"conditions": [condition("Failing", "False")]})),
        unread("away"),
    ];
    let report = report(&clusters, &["5.1.0", "5.1.4", "5.2.0", "5.2.1"]);
    insta::assert_snapshot!(lines(&report), @r#"
    offered at 5.1.0: Blocked []
      5.1.0 Current Ready []
      5.1.4 Recommended Ready []
      5.2.0 NotRecommended Blocked ["A", "B"]
      5.2.1 Unknown Unknown ["C"]
    accepted at 5.1.0: Blocked []
      5.1.0 Current Ready []
      5.1.4 Recommended Ready []
      5.2.0 NotRecommended Blocked ["B"]
      5.2.1 Unknown Unknown ["C"]
    later at 5.3.0: Ready []
      5.1.0 Older Ready []
      5.1.4 Older Ready []
      5.2.0 Older Ready []
      5.2.1 Older Ready []
    on-its-way at 5.1.0: Blocked ["Progressing"]
      5.1.0 Older Ready []
      5.1.4 InProgress Ready []
      5.2.0 NotOffered Blocked []
      5.2.1 NotOffered Blocked []
    latest at 5.1.0: Blocked []
      5.1.0 Current Ready []
      5.1.4 NotOffered Blocked []
      5.2.0 NotOffered Blocked []
      5.2.1 NotOffered Blocked []
    nothing-known at 5.1.0: Unknown []
      5.1.0 Current Ready []
      5.1.4 Unknown Unknown []
      5.2.0 Unknown Unknown []
      5.2.1 Unknown Unknown []
    away at -: Unknown []
    "#);
    assert_eq!(report.counts, Counts { ready: 1, blocked: 4, unknown: 2, errors: 1 });
    assert_eq!(report.readiness(), Some(Readiness::Blocked));
}

#[test]
fn report_without_targets_has_best_of_each_minor() {
    let offers = json!({
        "availableUpdates": [release("5.1.3"), release("5.1.4"), release("5.0.9"), release("x")],
        "conditionalUpdates": [
            conditional("5.1.5", &["A"], "False"),
            conditional("5.2.0", &["A"], "False"),
            conditional("5.2.1", &["A", "B"], "False"),
            conditional("5.3.0", &[], "True"),
        ],
    });
    let risky = json!({"conditionalUpdates": [conditional("5.2.0", &["A"], "False")]});
    let clusters = [
        cluster("offered", offers),
        cluster("risky", risky),
        cluster("latest", json!({})),
        with_conditions("listed", &[("Failing", "False")]),
        cluster("unknown", json!({"conditions": [condition("Failing", "False")]})),
    ];
    insta::assert_snapshot!(lines(&report(&clusters, &[])), @r#"
    offered at 5.1.0: Ready []
      5.3.0 Recommended Ready []
      5.2.1 NotRecommended Blocked ["A", "B"]
      5.1.4 Recommended Ready []
    risky at 5.1.0: Blocked []
      5.2.0 NotRecommended Blocked ["A"]
    latest at 5.1.0: Ready []
    listed at 5.1.0: Ready []
      5.1.4 Recommended Ready []
    unknown at 5.1.0: Unknown []
    "#);
}

#[test]
fn cluster_blockers_block_all_updates() {
    let updates = ("RetrievedUpdates", "True");
    let clusters = [
        with_conditions("fails", &[("Failing", "True"), updates]),
        with_conditions("may-fail", &[("Failing", "Unknown"), updates]),
        with_conditions("updating", &[("Failing", "False"), ("Progressing", "True"), updates]),
        with_conditions("invalid", &[("Failing", "False"), ("Invalid", "True"), updates]),
        with_conditions(
            "not-upgradeable",
            &[("Failing", "False"), ("Upgradeable", "False"), updates],
        ),
        with_conditions("old-news", &[("Failing", "False"), ("RetrievedUpdates", "False")]),
    ];
    insta::assert_snapshot!(lines(&report(&clusters, &["5.1.4"])), @r#"
    fails at 5.1.0: Blocked ["Failing"]
      5.1.4 Recommended Blocked []
    may-fail at 5.1.0: Unknown ["Failing"]
      5.1.4 Recommended Unknown []
    updating at 5.1.0: Blocked ["Progressing"]
      5.1.4 Recommended Blocked []
    invalid at 5.1.0: Blocked ["Invalid"]
      5.1.4 Recommended Blocked []
    not-upgradeable at 5.1.0: Ready ["Upgradeable"]
      5.1.4 Recommended Ready []
    old-news at 5.1.0: Unknown ["CannotRetrieveUpdates"]
      5.1.4 Recommended Unknown []
    "#);
}

#[test]
fn upgradeable_false_blocks_other_minor_versions() {
    let conditions = json!([
        condition("Failing", "False"),
        condition("Upgradeable", "False"),
        condition("RetrievedUpdates", "True")
    ]);
    let updates = json!([release("5.1.4"), release("5.2.0")]);
    let stuck = cluster("a", json!({"conditions": conditions, "availableUpdates": updates}));
    insta::assert_snapshot!(lines(&report(&[stuck], &["5.1.4", "5.2.0"])), @r#"
    a at 5.1.0: Blocked ["Upgradeable"]
      5.1.4 Recommended Ready []
      5.2.0 NotRecommended Blocked ["UpgradeableFalse"]
    "#);
}

#[test]
fn acceptance_counts_while_terms_hold() {
    let offers = json!({"conditionalUpdates": [conditional("5.2.0", &["A", "B", "C"], "False")]});
    let terms = json!({"A": {"until": "2025-12-31"}, "B": {"for": "5.3.x"}, "C": {"for": "5.2.x"}});
    let cluster = accept(cluster("a", offers), &["A", "B", "C"], terms);
    let report = report(&[cluster], &["5.2.0"]);
    assert_eq!(report.clusters[0].targets[0].risks, ["A", "B"], "one is over, one is about others");
}

#[test]
fn preflight_findings_block_target() {
    let offers = || json!({"availableUpdates": [release("5.1.4")]});
    let clusters = [
        preflight(cluster("clean", offers()), "5.1.4", &[]),
        preflight(cluster("found", offers()), "5.1.4", &["OldDriver"]),
        preflight(cluster("other", offers()), "5.2.0", &["OldDriver"]),
    ];
    let report = report(&clusters, &["5.1.4"]);
    let answers: Vec<Readiness> = report.clusters.iter().map(|cluster| cluster.readiness).collect();
    assert_eq!(answers, [Readiness::Ready, Readiness::Blocked, Readiness::Ready]);
    assert_eq!(report.clusters[0].targets[0].preflight.as_ref().unwrap().age_seconds, Some(60));
    assert_eq!(report.clusters[2].targets[0].preflight, None, "that was about another release");
    assert_eq!(report.risks[0].clusters, ["found"]);
}

#[test]
fn common_risks_are_sorted_by_clusters() {
    let offer = |risks: &[&str]| {
        json!({"conditionalUpdates": [
            conditional("5.2.0", risks, "False"), conditional("5.2.1", risks, "Unknown")]})
    };
    let clusters = [
        cluster("a", offer(&["Rare", "Common"])),
        accept(cluster("b", offer(&["Common", "Taken"])), &["Taken"], json!({})),
        cluster("c", offer(&["Common"])),
        unread("d"),
    ];
    let risks = report(&clusters, &["5.2.0", "5.2.1"]).risks;
    insta::assert_snapshot!(serde_json::to_string_pretty(&risks).unwrap(), @r#"
    [
      {
        "name": "Common",
        "message": "Common it is.",
        "url": "u",
        "clusters": [
          "a",
          "b",
          "c"
        ],
        "targets": [
          "5.2.0",
          "5.2.1"
        ]
      },
      {
        "name": "Rare",
        "message": "Rare it is.",
        "url": "u",
        "clusters": [
          "a"
        ],
        "targets": [
          "5.2.0",
          "5.2.1"
        ]
      }
    ]
    "#);
}

#[test]
fn fleet_without_data_has_no_readiness() {
    assert_eq!(report(&[unread("a"), unread("b")], &[]).readiness(), None);
    assert_eq!(report(&[], &[]).readiness(), None);
    let one = [unread("a"), cluster("b", json!({}))];
    assert_eq!(report(&one, &[]).readiness(), Some(Readiness::Unknown));
}

proptest! {
    /// A further problem never improves the readiness.
    #[test]
    fn problems_never_improve_readiness(
        recommended in prop::sample::select(vec!["True", "False", "Unknown"]),
        type_ in prop::sample::select(vec!["Failing", "Progressing", "Invalid", "Upgradeable", "RetrievedUpdates"]),
        target in prop::sample::select(vec!["5.1.4", "5.2.0"]),
        asked in any::<bool>(),
    ) {
        let offers = json!({"conditionalUpdates": [conditional(target, &["A"], recommended)]});
        let healthy = cluster("a", offers);
        let mut sick = healthy.clone();
        let is_bad_when_false = matches!(type_, "Upgradeable" | "RetrievedUpdates");
        let status = if is_bad_when_false { "False" } else { "True" };
        let conditions = &mut snapshot(&mut sick).version.status.as_mut().unwrap().conditions;
        conditions.retain(|one| one.type_ != type_);
        conditions.push(object(condition(type_, status)));
        let targets: &[&str] = if asked { &[target] } else { &[] };
        prop_assert!(report(&[sick], targets).readiness() >= report(&[healthy], targets).readiness());
    }
}

#[test]
fn upgradeable_false_has_message_of_condition() {
    let conditions = [condition("Failing", "False"), condition("Upgradeable", "False")];
    let more = json!({"conditions": conditions, "availableUpdates": [release("5.2.0")]});
    let report = report(&[cluster("a", more)], &["5.2.0"]);
    let lines: Vec<_> = report.risks.iter().map(|one| (&*one.name, &one.message)).collect();
    assert_eq!(lines, [("UpgradeableFalse", &Some("That is why.".to_owned()))]);
}
