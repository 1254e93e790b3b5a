use std::sync::Arc;

use fairway_findings::CheckReport;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::*;

const HOUR: Duration = Duration::from_hours(1);

fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(minute * 60).unwrap()
}

fn requested() -> RunMonitor {
    RunMonitor::begin(RunTimeouts { idle: HOUR, total: None }, at(0))
}

/// A run for which an update waits five minutes.
fn awaited() -> RunMonitor {
    let total = Some(Duration::from_mins(5));
    RunMonitor::begin(RunTimeouts { idle: HOUR, total }, at(0))
}

fn reading(execution_status: ExecutionStatus) -> ReadDocument {
    let document = Document {
        execution_status,
        message: "no nodes".to_owned(),
        checks: vec![CheckReport::default()],
        ..Document::default()
    };
    ReadDocument { document, dropped: Vec::new() }
}

fn observation(restarts: u32, state: &Value) -> RunObservation {
    let pod = json!({"metadata": {"name": "p"}, "status": {"containerStatuses": [{
        "name": "c", "image": "", "imageID": "", "ready": false,
        "restartCount": restarts, "state": state,
        "lastState": {"terminated": {"exitCode": 101, "message": "boom"}},
    }]}});
    let pod: Pod = serde_json::from_value(pod).unwrap();
    RunObservation { pods: Some(vec![Arc::new(pod)]), ..RunObservation::default() }
}

fn rendered(end: Option<RunEnd>) -> String {
    match end {
        Some(RunEnd::Aborted(PreflightError { reason, message, .. })) => {
            format!("{}: {message}", reason.code)
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn end_without_results_aborts_after_timeout() {
    let monitor = requested();
    assert_eq!(monitor.deadline(), at(60));
    assert_eq!(monitor.end(at(59), true), None);
    insta::assert_snapshot!(rendered(monitor.end(at(60), true)), @"NoResultsInTime: timed out: no results for 1h");
}

#[test]
fn end_with_new_results_extends_timeout() {
    let mut monitor = requested();
    monitor.record_reading(Ok(reading(ExecutionStatus::Running)), at(50));
    assert_eq!(monitor.end(at(60), true), None);
    insta::assert_snapshot!(rendered(monitor.end(at(110), true)), @"NoResultsInTime: timed out: no new results for 1h");
}

#[test]
fn end_after_completion_requires_heartbeat_only() {
    let mut monitor = requested();
    for minute in [1, 50, 100, 150] {
        monitor.record_reading(Ok(reading(ExecutionStatus::Completed)), at(minute));
        assert_eq!(monitor.deadline(), at(minute + 60));
    }
    assert_eq!(monitor.end(at(209), true), None);
    insta::assert_snapshot!(rendered(monitor.end(at(210), true)), @"NoResultsInTime: timed out: no heartbeat for 1h");
}

#[test]
fn read_unchanged_results_publishes_heartbeat_but_keeps_deadline() {
    let written = |minute| {
        let reading = reading(ExecutionStatus::Running);
        let document = Document { updated: Some(at(minute)), ..reading.document };
        Ok(ReadDocument { document, ..reading })
    };
    let mut monitor = requested();
    monitor.record_reading(written(1), at(1));
    let mut rendered = Vec::new();
    for minute in 1..=60 {
        monitor.record_reading(written(minute), at(minute));
        rendered.extend(monitor.take_update(at(minute)).map(|_| minute));
    }
    assert_eq!(rendered, [1, 11, 21, 31, 41, 51], "heartbeats are published at intervals");
    assert_eq!(monitor.deadline(), at(61), "unchanged results do not extend it");
}

#[test]
fn end_on_timeout_has_reason_of_error() {
    let mut monitor = requested();
    let waiting = json!({"waiting": {"reason": "ErrImagePull", "message": "no such image"}});
    monitor.observe(observation(0, &waiting), at(0));
    assert_eq!(monitor.end(at(59), true), None);
    insta::assert_snapshot!(rendered(monitor.end(at(60), true)), @"ImagePullBackOff: timed out: no results for 1h; the node cannot pull the release image: no such image");
}

#[test]
fn end_after_three_crashes_aborts() {
    let mut monitor = requested();
    let waiting = json!({"waiting": {"reason": "CrashLoopBackOff"}});
    monitor.observe(RunObservation { pods: Some(Vec::new()), ..RunObservation::default() }, at(0));
    monitor.observe(observation(1, &waiting), at(1));
    assert_eq!(monitor.end(at(1), true), None);
    monitor.observe(observation(2, &waiting), at(1));
    insta::assert_snapshot!(rendered(monitor.end(at(1), true)), @"CrashLoopBackOff: stopped after 3 failed attempts; the preflight of the target release exited with code 101: boom");
}

#[test]
fn end_ignores_crashes_before_first_observation() {
    let (mut monitor, running) = (requested(), json!({"running": {}}));
    // Watches of Deployments and events may list before that of Pods.
    monitor.observe(RunObservation::default(), at(0));
    monitor.observe(observation(7, &running), at(0));
    assert_eq!(monitor.end(at(0), true), None);
    monitor.observe(observation(10, &running), at(1));
    assert!(matches!(monitor.end(at(1), true), Some(RunEnd::Aborted(_))));
}

#[test]
fn read_invalid_results_keeps_valid_ones() {
    let mut monitor = requested();
    monitor.record_reading(Ok(reading(ExecutionStatus::Running)), at(1));
    let rubbish =
        PreflightError::transient(preflight_failed::INVALID_RESULTS, "rubbish".to_owned());
    monitor.record_reading(Err(rubbish.clone()), at(2));
    assert_eq!(monitor.errors(), [rubbish]);
    assert!(monitor.take_update(at(2)).is_some());
    assert!(monitor.take_update(at(2)).is_none(), "published once");
    assert_eq!(monitor.deadline(), at(61), "invalid results are no heartbeat");
    monitor.record_reading(Ok(reading(ExecutionStatus::Running)), at(3));
    assert_eq!(monitor.errors(), []);
}

#[test]
fn read_with_dropped_findings_reports_error() {
    let mut monitor = requested();
    let dropped = vec!["9850 of 10000 findings are not kept".to_owned()];
    monitor
        .record_reading(Ok(ReadDocument { dropped, ..reading(ExecutionStatus::Completed) }), at(1));
    let errors: Vec<String> = monitor.errors().into_iter().map(|it| it.message).collect();
    insta::assert_snapshot!(errors.join("\n"), @"some results are dropped: 9850 of 10000 findings are not kept");
}

#[test]
fn errors_include_failure_of_target_release() {
    let mut monitor = requested();
    monitor.record_reading(Ok(reading(ExecutionStatus::Failed)), at(1));
    assert_eq!(monitor.end(at(1), true), None);
    let errors: Vec<String> = monitor.errors().into_iter().map(|it| it.message).collect();
    insta::assert_snapshot!(errors.join("\n"), @"the target release reports a failure: no nodes");
}

#[test]
fn end_with_total_timeout_ends_after_it() {
    let mut monitor = awaited();
    monitor.record_reading(Ok(reading(ExecutionStatus::Running)), at(4));
    assert_eq!(monitor.end(at(4), true), None);
    insta::assert_snapshot!(rendered(monitor.end(at(5), true)), @"NoResultsInTime: timed out: no new results for 5m");
    for status in [ExecutionStatus::Completed, ExecutionStatus::Failed] {
        monitor.record_reading(Ok(reading(status)), at(4));
        assert_eq!(monitor.end(at(4), true), Some(RunEnd::Done));
    }
}

#[test]
fn end_with_total_timeout_waits_for_dry_run() {
    let mut monitor = awaited();
    monitor.record_reading(Ok(reading(ExecutionStatus::Completed)), at(1));
    assert_eq!(monitor.end(at(4), false), None);
    assert_eq!(monitor.deadline(), at(5));
    insta::assert_snapshot!(rendered(monitor.end(at(5), false)), @"NoResultsInTime: timed out: dry run not complete after 5m");
    assert_eq!(monitor.end(at(5), true), Some(RunEnd::Done));
}

#[test]
fn end_with_total_timeout_waits_for_stale_results() {
    let looked = |ended: i64, updated: i64| {
        let check = CheckReport { stale: true, ended: Some(at(ended)), ..CheckReport::default() };
        let reading = reading(ExecutionStatus::Completed);
        let (checks, updated) = (vec![check], Some(at(updated)));
        Ok(ReadDocument { document: Document { checks, updated, ..reading.document }, ..reading })
    };
    let mut monitor = RunMonitor::begin(RunTimeouts { idle: HOUR, total: Some(HOUR) }, at(0));
    monitor.record_reading(looked(1, 12), at(12));
    assert_eq!(monitor.end(at(12), true), None);
    insta::assert_snapshot!(rendered(monitor.end(at(60), true)), @"NoResultsInTime: timed out: results still stale after 1h");
    monitor.record_reading(looked(13, 14), at(14));
    assert_eq!(monitor.end(at(14), true), Some(RunEnd::Done), "renewed");
}

#[test]
fn set_timeouts_counts_from_new_start() {
    let mut monitor = requested();
    monitor.record_reading(Ok(reading(ExecutionStatus::Running)), at(20));
    let total = Some(Duration::from_mins(5));
    monitor.set_timeouts(RunTimeouts { idle: HOUR, total }, at(30));
    assert_eq!(monitor.deadline(), at(35));
    monitor.record_reading(Ok(reading(ExecutionStatus::Completed)), at(31));
    assert_eq!(monitor.end(at(31), true), Some(RunEnd::Done));
}

#[test]
fn crash_loop_counts_only_crashes_within_window() {
    for (observations, is_crash_loop) in [
        (&[(0, 0), (1, 1), (2, 2), (3, 3)][..], true),
        (&[(0, 0), (0, 1), (40, 2), (59, 3)], true),
        // Node restarts, hours apart.
        (&[(0, 0), (1, 1), (600, 2), (1200, 3)], false),
        (&[(0, 0), (1, 1), (2, 2), (62, 3)], false),
        // A resumed run: the time of its earlier crashes is unknown.
        (&[(0, 7), (1, 8)], false),
        (&[(0, 7), (1, 8), (2, 10)], true),
        // A new Pod starts at zero.
        (&[(0, 2), (1, 0), (2, 1)], false),
        (&[(0, 0), (1, 1_000_000)], true),
    ] {
        let mut crashes = CrashHistory::default();
        for (minute, count) in observations {
            crashes.observe(*count, Timestamp::from_second(minute * 60).unwrap());
        }
        assert_eq!(crashes.is_crash_loop(), is_crash_loop, "{observations:?}");
    }
}
