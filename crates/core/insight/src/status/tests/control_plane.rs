//! Tests for the progress of the control plane.

use super::*;

#[test]
fn operator_counts_by_progress() {
    let status = text(&cluster(), 600);
    let updating = updating(&status);
    assert!(status.updating);
    assert_eq!(updating.percent, 50);
    let counts = OperatorCounts { updated: 2, updating: 1, waiting: 1, total: 4 };
    assert_eq!(updating.operators, counts);
    assert_eq!(updating.health, Health { healthy: 4, unavailable: 0, degraded: 0 });
    assert_eq!(updating.updating_operators, ["network"]);
    assert_eq!((updating.duration_seconds, updating.last_progress_at), (Some(600), Some(at(300))));
    assert_eq!(updating.version_change.from.as_deref(), Some("5.1.0"));
    assert!(!status.has_problems());
}

#[test]
fn operators_without_release_annotation_are_ignored() {
    let mut cluster = cluster();
    for operator in &mut cluster.operators[1..] {
        operator.metadata.annotations = None;
    }
    let status = text(&cluster, 600);
    assert!(status.control_plane.unwrap().is_completed());
}

#[test]
fn machine_config_with_other_image_is_not_updated() {
    let mut cluster = cluster();
    for operator in &mut cluster.operators {
        let status = operator.status.as_mut().unwrap();
        status.versions[0].version = "5.2.0".to_owned();
    }
    let last = cluster.operators[3].status.as_mut().unwrap();
    let image = object(json!({"name": "operator-image", "version": "old"}));
    last.versions.push(image);
    assert!(text(&cluster, 600).control_plane.unwrap().is_completed(), "the image is unknown");
    cluster.node_operator_image = Some("new".to_owned());
    assert_eq!(updating(&text(&cluster, 600)).operators.updated, 3);
    cluster.node_operator_image = Some("old".to_owned());
    assert!(text(&cluster, 600).control_plane.unwrap().is_completed());
}

#[test]
fn source_and_target_of_updates() {
    let entry = |version: &str, image: &str, state: &str| {
        object(json!({"version": version, "image": image, "state": state}))
    };
    let version_change = |history: &[fairway_api::cluster_version::UpdateHistory]| {
        let VersionChange { target, from, change } = VersionChange::of(history);
        format!("{target} {from:?} {change:?}")
    };
    let ways = [
        version_change(&[]),
        version_change(&[entry("5.1.0", "a", "Partial")]),
        version_change(&[entry("5.2.0", "b", "Partial"), entry("5.1.0", "a", "Completed")]),
        version_change(&[entry("5.2.0", "b", "Partial"), entry("5.1.0", "a", "Partial")]),
        version_change(&[entry("5.1.0", "b", "Partial"), entry("5.1.0", "a", "Completed")]),
    ];
    insta::assert_snapshot!(ways.join("\n"), @r#"
    unknown Some("unknown") Update
    5.1.0 None Install
    5.2.0 Some("5.1.0") Update
    5.2.0 Some("5.1.0") UpdateFromIncomplete
    5.1.0 Some("5.1.0") MultiArch
    "#);
}

#[test]
fn operators_are_classified_by_version_and_conditions() {
    type Said = (&'static str, &'static str);
    let cases: [(&str, &str, &[Said]); 9] = [
        ("there", "5.2.0", &[("Available", "True"), ("Progressing", "False")]),
        ("there, and still at it", "5.2.0", &[("Available", "True"), ("Progressing", "True")]),
        ("at it", "5.1.0", &[("Available", "True"), ("Progressing", "True")]),
        ("waiting", "5.1.0", &[("Available", "True"), ("Progressing", "False")]),
        ("unknown", "5.1.0", &[("Available", "True"), ("Progressing", "Unknown")]),
        ("silent", "5.1.0", &[]),
        ("maybe away", "5.2.0", &[("Available", "Unknown")]),
        ("worse", "5.1.0", &[("Available", "True"), ("Degraded", "True"), ("Progressing", "True")]),
        ("away and worse", "5.2.0", &[("Available", "False"), ("Degraded", "True")]),
    ];
    let lines = cases.map(|(name, version, conditions)| {
        let conditions: Vec<_> =
            conditions.iter().map(|(type_, status)| (*type_, *status, at(0))).collect();
        let mut cluster = cluster();
        // The second operator keeps the control plane incomplete.
        cluster.operators = vec![operator("etcd", version, &conditions), quiet("dns", "5.1.0")];
        let status = text(&cluster, 60);
        let Updating { operators, health, updating_operators, percent, .. } = updating(&status);
        let OperatorCounts { updated, updating, waiting, total } = operators;
        let Health { healthy, unavailable, degraded } = health;
        format!(
            "{name}: {percent}%, {updated} + {updating} + {waiting} of {total} {updating_operators:?}; \
             {healthy} healthy, {unavailable} unavailable, {degraded} degraded"
        )
    });
    insta::assert_snapshot!(lines.join("\n"), @r#"
    there: 50%, 1 + 0 + 1 of 2 []; 2 healthy, 0 unavailable, 0 degraded
    there, and still at it: 50%, 1 + 0 + 1 of 2 []; 2 healthy, 0 unavailable, 0 degraded
    at it: 0%, 0 + 1 + 1 of 2 ["etcd"]; 2 healthy, 0 unavailable, 0 degraded
    waiting: 0%, 0 + 0 + 2 of 2 []; 2 healthy, 0 unavailable, 0 degraded
    unknown: 0%, 0 + 0 + 1 of 2 []; 2 healthy, 0 unavailable, 0 degraded
    silent: 0%, 0 + 0 + 1 of 2 []; 1 healthy, 1 unavailable, 0 degraded
    maybe away: 50%, 1 + 0 + 1 of 2 []; 1 healthy, 1 unavailable, 0 degraded
    worse: 0%, 0 + 1 + 1 of 2 ["etcd"]; 1 healthy, 0 unavailable, 1 degraded
    away and worse: 50%, 1 + 0 + 1 of 2 []; 1 healthy, 1 unavailable, 0 degraded
    "#);
}

#[test]
fn operator_without_version_is_not_updated() {
    let mut cluster = cluster();
    for operator in &mut cluster.operators {
        operator.status.as_mut().unwrap().versions.clear();
    }
    assert_eq!(updating(&text(&cluster, 60)).operators.updated, 0);
}

#[test]
fn operators_with_include_or_exclude_annotation_count() {
    let mut cluster = cluster();
    let marks = [
        "exclude.release.openshift.io/x",
        "include.release.openshift.io",
        "x/include.release.openshift.io/x",
    ];
    for (operator, mark) in cluster.operators[1..].iter_mut().zip(marks) {
        operator.metadata.annotations = Some([(mark.to_owned(), "true".to_owned())].into());
    }
    cluster.operators[0] = quiet("etcd", "5.1.0");
    assert_eq!(updating(&text(&cluster, 60)).operators.total, 2);
}

#[test]
fn percent_rounds_half_to_even() {
    let cases = [(0, 33), (1, 8), (3, 8), (1, 3), (2, 3), (32, 33), (199, 200), (33, 33), (0, 0)];
    let percents = cases.map(|(part, total)| crate::status::control_plane::percent(part, total));
    assert_eq!(percents, [0, 12, 38, 33, 67, 97, 100, 100, 100]);
}

#[test]
fn duration_ends_at_completion_or_now() {
    let mut cluster = cluster();
    let took = |cluster: &ClusterObjects, millisecond: i64| {
        let now = Timestamp::from_millisecond(at(0).as_millisecond() + millisecond).unwrap();
        let status = Status::of(cluster, ObservationTime::Live(now)).unwrap();
        updating(&status).duration_seconds
    };
    let lengths = [0, 89_500, 600_000, 600_001, 629_999, 630_000, 7_199_000];
    let lengths = lengths.map(|millisecond| took(&cluster, millisecond).unwrap());
    assert_eq!(lengths, [0, 90, 600, 600, 600, 660, 7200]);
    let newest = &mut cluster.version.status.as_mut().unwrap().history[0];
    newest.state = fairway_api::cluster_version::UpdateState::Completed;
    newest.completion_time = Some(object(json!(at(300))));
    assert_eq!(took(&cluster, 7_199_000), Some(300));
    cluster.version.status.as_mut().unwrap().history.clear();
    assert_eq!(took(&cluster, 7_199_000), None);
}

#[test]
fn last_progress_is_latest_transition() {
    let progressing = |name: &str, version: &str, status: &str, second: i64| {
        operator(
            name,
            version,
            &[("Available", "True", at(0)), ("Progressing", status, at(second))],
        )
    };
    let last = |operators: &[ClusterOperator]| {
        let cluster = ClusterObjects { operators: operators.to_vec(), ..cluster() };
        updating(&text(&cluster, 6000)).last_progress_at
    };
    let (done, nodes) = (
        progressing("dns", "5.2.0", "False", 900),
        progressing("machine-config", "5.1.0", "True", 700),
    );
    let network = progressing("network", "5.1.0", "True", 800);
    assert_eq!(last(&[done.clone(), nodes.clone(), network]), Some(at(900)));
    assert_eq!(last(&[done.clone(), nodes]), Some(at(700)), "only nodes are left");
    let idle = progressing("machine-config", "5.1.0", "False", 700);
    assert_eq!(last(&[done, idle]), Some(at(900)), "nodes have not begun");
    assert_eq!(last(&[progressing("dns", "5.1.0", "True", -1)]), None, "that was before it");
}

#[test]
fn quiet_for_after_30_minutes_without_progress() {
    let quiet_for = |second: i64| text(&cluster(), second).quiet_for().map(|span| span.to_string());
    assert_eq!(quiet_for(300 + 1800), None);
    assert_eq!(quiet_for(300 + 1801).as_deref(), Some("30m"));
    let mut cluster = cluster();
    for operator in &mut cluster.operators {
        operator.status.as_mut().unwrap().conditions.clear();
    }
    assert_eq!(text(&cluster, 3600).quiet_for().unwrap().to_string(), "1h", "since it started");
    cluster.version.status.as_mut().unwrap().desired.version = "5.1.0".to_owned();
    cluster.operators.truncate(0);
    cluster.operators.push(quiet("dns", "5.1.0"));
    assert_eq!(text(&cluster, 3600).quiet_for(), None, "it is done");
}

#[test]
fn change_kind_follows_history() {
    let history = |entries: &[(&str, &str, &str)]| {
        let entries = entries.iter().map(|(version, image, state)| {
            json!({"version": version, "image": image, "state": state, "startedTime": at(0)})
        });
        let mut cluster = cluster();
        let status = cluster.version.status.as_mut().unwrap();
        status.history = entries.map(object).collect();
        let text = text(&cluster, 60);
        let VersionChange { target, from, change } = &updating(&text).version_change;
        let incomplete = text.insights.iter().filter(|one| one.impact == Impact::None).count();
        format!("{target} {from:?} {change:?} {incomplete}")
    };
    insta::assert_snapshot!([
        history(&[("5.2.0", "b", "Partial")]),
        history(&[("5.2.0", "b", "Partial"), ("5.1.0", "a", "Completed")]),
        history(&[("5.2.0", "b", "Partial"), ("5.1.0", "a", "Partial"), ("5.0.0", "c", "Completed")]),
        history(&[("5.2.0", "b", "Partial"), ("5.2.0", "a", "Completed")]),
        history(&[("5.2.0", "b", "Partial"), ("5.2.0", "a", "Partial")]),
        history(&[("5.2.0", "b", "Partial"), ("5.2.0", "b", "Completed")]),
        history(&[("5.2.0", "b", "Partial"), ("", "a", "Completed")]),
    ].join("\n"), @r#"
    5.2.0 None Install 0
    5.2.0 Some("5.1.0") Update 0
    5.2.0 Some("5.1.0") UpdateFromIncomplete 1
    5.2.0 Some("5.2.0") MultiArch 0
    5.2.0 Some("5.2.0") UpdateFromIncomplete 1
    5.2.0 Some("5.2.0") Update 0
    5.2.0 Some("") Update 0
    "#);
}
