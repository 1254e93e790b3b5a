use fairway_api::cluster_version::{Update, UpdateHistory, UpdateState};
use fairway_api::{ClusterVersion, Version};
use fairway_insight::fleet::{ClusterError, ClusterSnapshot, FleetMember};
use fairway_testkit::objects;

use super::*;
use crate::commands::upgrade::fixtures::{
    cluster_version, condition, hold, now, offer, recommended, risk,
};
use crate::text;

fn member(name: &str, version: ClusterVersion) -> FleetMember {
    let snapshot =
        ClusterSnapshot { version, preflights: Vec::new(), preflights_unread: None, now: now() };
    FleetMember { name: name.to_owned(), snapshot: Ok(snapshot) }
}

/// At 5.1.0: 5.1.10 is recommended, and 5.2.0 has risks.
fn risky(risks: &[&str]) -> ClusterVersion {
    let mut object = cluster_version();
    let risks: Vec<_> = risks.iter().map(|name| risk(name, "True")).collect();
    offer(&mut object, "5.2.0", &risks, recommended("False", "SlowDisks", "Slow."));
    object
}

fn preflight(mut member: FleetMember, result: PreflightResult, findings: &[&str]) -> FleetMember {
    let snapshot = member.snapshot.as_mut().unwrap();
    snapshot.preflights.push(Preflight {
        version: "5.2.0".to_owned(),
        result,
        findings: findings.iter().map(|&name| name.to_owned()).collect(),
        age_seconds: Some(3 * 3600),
    });
    member
}

fn unread(name: &str) -> FleetMember {
    let why = ClusterError {
        message: "cannot reach the API server at https://lab.example:6443: Connection refused"
            .to_owned(),
        hint: Some("check that the server is running and reachable".to_owned()),
    };
    FleetMember { name: name.to_owned(), snapshot: Err(why) }
}

/// A healthy, a failing, an updating and an unreachable cluster.
fn fleet() -> Vec<FleetMember> {
    let mut failing = risky(&["SlowDisks", "NoisyLogs", "OldDriver"]);
    let message = "Cluster operator etcd is not available.\nIt has been so for an hour.";
    hold(&mut failing, condition("Failing", true, "ClusterOperatorNotAvailable", message));
    hold(&mut failing, condition("Upgradeable", false, "Operators", "Operators block the update."));
    let mut updating = cluster_version();
    updating.spec.desired_update = Some(Update::default());
    let status = updating.status.as_mut().unwrap();
    status.desired = objects::release("5.2.0");
    let partial = UpdateHistory {
        state: UpdateState::Partial,
        version: Some("5.2.0".to_owned()),
        ..UpdateHistory::default()
    };
    status.history.insert(0, partial);
    hold(&mut updating, condition("Progressing", true, "", "Working towards 5.2.0"));
    vec![
        preflight(member("prod-eu", risky(&["SlowDisks"])), PreflightResult::NoFindings, &[]),
        preflight(
            member("prod-us", failing),
            PreflightResult::Findings,
            &["DualStack", "OldDriver"],
        ),
        member("staging", updating),
        unread("lab"),
    ]
}

fn shown(members: &[FleetMember], targets: &[&str], width: usize) -> String {
    let targets: Vec<Version> = targets.iter().map(|text| Version::parse(text).unwrap()).collect();
    let report = FleetReport::of(members, &targets);
    text::laid_out(&Shown { report: &report, width: Some(width) }.to_string(), width)
}

#[test]
fn text_on_a_wide_terminal() {
    insta::assert_snapshot!(shown(&fleet(), &["5.1.10", "5.2.0"], 120));
}

#[test]
fn text_at_40_columns() {
    let text = shown(&fleet(), &["5.1.10", "5.2.0"], 40);
    assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn text_without_target_at_80_columns() {
    let mut silent = cluster_version();
    silent.status = None;
    let mut latest = cluster_version();
    latest.status.as_mut().unwrap().available_updates = None;
    let members =
        [member("prod", risky(&["SlowDisks"])), member("latest", latest), member("new", silent)];
    insta::assert_snapshot!(shown(&members, &[], 80));
}

#[test]
fn control_characters_of_clusters_are_escaped() {
    let mut hostile = risky(&["Slow\u{1b}[31m"]);
    let status = hostile.status.as_mut().unwrap();
    status.conditional_update_risks[0].message = "\u{1b}[2Jgone\nand \u{202e}back".to_owned();
    status.conditional_updates[0].release.version = "5.2.0".to_owned();
    status.history[0].version = Some("5.1.0\u{7}".to_owned());
    hold(&mut hostile, condition("Failing", true, "Bad\u{9b}", "\u{1b}]0;title\u{7}"));
    let mut members = vec![member("a\u{1b}[0m", hostile), unread("b\u{1b}[0m")];
    members[1].snapshot =
        Err(ClusterError { message: "no\u{1b}c".into(), hint: Some("\u{1b}c".into()) });
    for width in [20, 200] {
        for targets in [&["5.2.0"][..], &[]] {
            let text = shown(&members, targets, width);
            let steers = |char: char| char != '\n' && crate::foreign_text::steers(char);
            assert!(!text.contains(steers), "{text:?}");
        }
    }
}

#[test]
fn many_risks_and_names_are_truncated() {
    let names: Vec<String> = (0..12).map(|number| format!("Risk{number:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let text = shown(&[member("a", risky(&names))], &["5.2.0"], 80);
    insta::assert_snapshot!(text.lines().take(3).collect::<Vec<_>>().join("\n"), @"
    CLUSTER  AT     TO     UPDATE
    a        5.1.0  5.2.0  not recommended: Risk00 +11
    ");
    assert!(text.contains("\n  2 more: use -o json to list all\n"), "{text}");
}

#[test]
fn summary_excludes_clusters_that_need_no_update() {
    let members = [member("a", cluster_version()), member("b", cluster_version())];
    let last = |targets: &[&str]| shown(&members, targets, 200).lines().last().unwrap().to_owned();
    let texts = [last(&["5.1.0"]), last(&["5.0.9", "5.1.0", "5.1.10"]), last(&["5.1.9", "5.1.10"])];
    insta::assert_snapshot!(texts.join("\n"), @"
    2 clusters: 0 can update to 5.1.0, 2 already updated, 0 cannot, 0 unknown.
    2 clusters: 2 can update to 5.0.9, 5.1.0 and 5.1.10, 0 cannot, 0 unknown.
    2 clusters: 2 can update to 5.1.9 and 5.1.10, 0 cannot, 0 unknown.
    ");
}

#[test]
fn stale_updates_are_marked() {
    let mut object = cluster_version();
    hold(&mut object, condition("RetrievedUpdates", false, "VersionNotFound", "No such version."));
    let text = shown(&[member("lab", object)], &["5.1.10"], 100);
    let blocks = text.lines().skip_while(|line| *line != "Blockers:").take(5);
    insta::assert_snapshot!(blocks.collect::<Vec<_>>().join("\n"), @"
    Blockers:

      lab: CannotRetrieveUpdates, available updates may be out of date (VersionNotFound)
        No such version.
    ");
}

#[test]
fn preflight_in_progress_is_no_risk() {
    let mut under_way = risk("PreflightInProgress", "True");
    under_way.conditions[0].reason = "PreflightRunning".to_owned();
    let mut object = cluster_version();
    let risks = [risk("SlowDisks", "True"), under_way];
    offer(&mut object, "5.2.0", &risks, recommended("False", "SlowDisks", "Slow."));
    let text = shown(&[member("lab", object)], &["5.2.0"], 100);
    assert!(text.contains("not recommended: SlowDisks"), "{text}");
    assert!(!text.contains("PreflightInProgress"), "{text}");
}

#[test]
fn unreadable_preflights_are_listed() {
    let mut blind = member("a", cluster_version());
    blind.snapshot.as_mut().unwrap().preflights_unread =
        Some("you may not list ConfigMaps".to_owned());
    let text = shown(&[blind], &["5.1.10"], 200);
    insta::assert_snapshot!(text, @"
    CLUSTER  AT     TO      UPDATE       PREFLIGHT
    a        5.1.0  5.1.10  recommended  error

    Preflights with errors:

      a: you may not list ConfigMaps

    1 cluster: 1 can update to 5.1.10, 0 cannot, 0 unknown.
    ");
}
