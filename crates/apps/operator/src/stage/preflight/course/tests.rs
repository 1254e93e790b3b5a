use std::sync::Arc;

use fairway_findings::CheckReport;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::*;

const HOUR: Duration = Duration::from_hours(1);

fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(minute * 60).unwrap()
}

fn asked() -> Course {
    Course::begin(Patience { silence: HOUR, whole: None }, at(0))
}

/// Somebody waits for at most five minutes.
fn awaited() -> Course {
    let whole = Some(Duration::from_mins(5));
    Course::begin(Patience { silence: HOUR, whole }, at(0))
}

fn said(execution_status: ExecutionStatus) -> Reading {
    let document = Document {
        execution_status,
        message: "no nodes".to_owned(),
        checks: vec![CheckReport::default()],
        ..Document::default()
    };
    Reading { document, dropped: Vec::new() }
}

fn seen(restarts: u32, state: &Value) -> Seen {
    let pod = json!({"metadata": {"name": "p"}, "status": {"containerStatuses": [{
        "name": "c", "image": "", "imageID": "", "ready": false,
        "restartCount": restarts, "state": state,
        "lastState": {"terminated": {"exitCode": 101, "message": "boom"}},
    }]}});
    let pod: Pod = serde_json::from_value(pod).unwrap();
    Seen { pods: Some(vec![Arc::new(pod)]), ..Seen::default() }
}

fn told(verdict: Verdict) -> String {
    match verdict {
        Verdict::GivenUp(Trouble { reason, message, .. }) => format!("{}: {message}", reason.code),
        other => format!("{other:?}"),
    }
}

#[test]
fn a_run_that_says_nothing_for_an_hour_is_given_up() {
    let course = asked();
    assert_eq!(course.deadline(), at(60));
    assert_eq!(course.verdict(at(59), true), Verdict::GoesOn);
    insta::assert_snapshot!(told(course.verdict(at(60), true)), @"NoResultsInTime: timed out: no results for 1h");
}

#[test]
fn whatever_it_says_is_a_sign_of_life() {
    let mut course = asked();
    course.read(Ok(said(ExecutionStatus::Running)), at(50));
    assert_eq!(course.verdict(at(60), true), Verdict::GoesOn);
    insta::assert_snapshot!(told(course.verdict(at(110), true)), @"NoResultsInTime: timed out: no new results for 1h");
}

#[test]
fn once_all_is_said_a_sign_of_life_will_do() {
    let mut course = asked();
    for minute in [1, 50, 100, 150] {
        course.read(Ok(said(ExecutionStatus::Completed)), at(minute));
        assert_eq!(course.deadline(), at(minute + 60));
    }
    assert_eq!(course.verdict(at(209), true), Verdict::GoesOn);
    insta::assert_snapshot!(told(course.verdict(at(210), true)), @"NoResultsInTime: timed out: no heartbeat for 1h");
}

#[test]
fn who_says_the_same_again_and_again_says_nothing() {
    let written = |minute| {
        let reading = said(ExecutionStatus::Running);
        let document = Document { updated: Some(at(minute)), ..reading.document };
        Ok(Reading { document, ..reading })
    };
    let mut course = asked();
    course.read(written(1), at(1));
    let mut told = Vec::new();
    for minute in 1..=60 {
        course.read(written(minute), at(minute));
        told.extend(course.news(at(minute)).map(|_| minute));
    }
    assert_eq!(told, [1, 11, 21, 31, 41, 51], "a sign of life is told now and then");
    assert_eq!(course.deadline(), at(61), "its checks hang");
}

#[test]
fn what_stood_in_the_way_is_the_reason() {
    let mut course = asked();
    let waiting = json!({"waiting": {"reason": "ErrImagePull", "message": "no such image"}});
    course.see(seen(0, &waiting), at(0));
    assert_eq!(course.verdict(at(59), true), Verdict::GoesOn);
    insta::assert_snapshot!(told(course.verdict(at(60), true)), @"ImagePullBackOff: timed out: no results for 1h; the node cannot pull the release image: no such image");
}

#[test]
fn three_crashes_are_enough() {
    let mut course = asked();
    let waiting = json!({"waiting": {"reason": "CrashLoopBackOff"}});
    course.see(Seen { pods: Some(Vec::new()), ..Seen::default() }, at(0));
    course.see(seen(1, &waiting), at(1));
    assert_eq!(course.verdict(at(1), true), Verdict::GoesOn);
    course.see(seen(2, &waiting), at(1));
    insta::assert_snapshot!(told(course.verdict(at(1), true)), @"CrashLoopBackOff: stopped after 3 failed attempts; the target release exited with code 101: boom");
}

#[test]
fn what_crashed_before_anybody_looked_does_not_count() {
    let (mut course, running) = (asked(), json!({"running": {}}));
    // Deployments and events are seen before Pods are.
    course.see(Seen::default(), at(0));
    course.see(seen(7, &running), at(0));
    assert_eq!(course.verdict(at(0), true), Verdict::GoesOn);
    course.see(seen(10, &running), at(1));
    assert!(matches!(course.verdict(at(1), true), Verdict::GivenUp(_)));
}

#[test]
fn what_cannot_be_understood_is_told_and_what_was_understood_stays() {
    let mut course = asked();
    course.read(Ok(said(ExecutionStatus::Running)), at(1));
    let rubbish = Trouble::passing(preflight_failed::INVALID_RESULTS, "rubbish".to_owned());
    course.read(Err(rubbish.clone()), at(2));
    assert_eq!(course.troubles(), [rubbish]);
    assert!(course.news(at(2)).is_some());
    assert!(course.news(at(2)).is_none(), "it is told once");
    assert_eq!(course.deadline(), at(61), "rubbish is no sign of life");
    course.read(Ok(said(ExecutionStatus::Running)), at(3));
    assert_eq!(course.troubles(), []);
}

#[test]
fn what_was_left_out_of_the_results_is_told() {
    let mut course = asked();
    let dropped = vec!["9850 of 10000 findings are not kept".to_owned()];
    course.read(Ok(Reading { dropped, ..said(ExecutionStatus::Completed) }), at(1));
    let troubles: Vec<String> = course.troubles().into_iter().map(|it| it.message).collect();
    insta::assert_snapshot!(troubles.join("\n"), @"some results are dropped: 9850 of 10000 findings are not kept");
}

#[test]
fn a_release_may_say_that_it_cannot_go_on() {
    let mut course = asked();
    course.read(Ok(said(ExecutionStatus::Failed)), at(1));
    assert_eq!(course.verdict(at(1), true), Verdict::GoesOn);
    let troubles: Vec<String> = course.troubles().into_iter().map(|it| it.message).collect();
    insta::assert_snapshot!(troubles.join("\n"), @"the target release reports a failure: no nodes");
}

#[test]
fn who_waits_for_a_run_does_not_wait_for_ever() {
    let mut course = awaited();
    course.read(Ok(said(ExecutionStatus::Running)), at(4));
    assert_eq!(course.verdict(at(4), true), Verdict::GoesOn);
    insta::assert_snapshot!(told(course.verdict(at(5), true)), @"NoResultsInTime: timed out: no new results for 5m");
    for status in [ExecutionStatus::Completed, ExecutionStatus::Failed] {
        course.read(Ok(said(status)), at(4));
        assert_eq!(course.verdict(at(4), true), Verdict::Done);
    }
}

#[test]
fn who_waits_for_the_dry_run_does_not_wait_for_ever_either() {
    let mut course = awaited();
    course.read(Ok(said(ExecutionStatus::Completed)), at(1));
    assert_eq!(course.verdict(at(4), false), Verdict::GoesOn);
    assert_eq!(course.deadline(), at(5));
    insta::assert_snapshot!(told(course.verdict(at(5), false)), @"NoResultsInTime: timed out: dry run not complete after 5m");
    assert_eq!(course.verdict(at(5), true), Verdict::Done);
}

#[test]
fn who_waits_for_a_run_waits_for_answers_that_are_not_overtaken() {
    let looked = |ended: i64, updated: i64| {
        let check = CheckReport { stale: true, ended: Some(at(ended)), ..CheckReport::default() };
        let reading = said(ExecutionStatus::Completed);
        let (checks, updated) = (vec![check], Some(at(updated)));
        Ok(Reading { document: Document { checks, updated, ..reading.document }, ..reading })
    };
    let mut course = Course::begin(Patience { silence: HOUR, whole: Some(HOUR) }, at(0));
    course.read(looked(1, 12), at(12));
    assert_eq!(course.verdict(at(12), true), Verdict::GoesOn);
    insta::assert_snapshot!(told(course.verdict(at(60), true)), @"NoResultsInTime: timed out: results still stale after 1h");
    course.read(looked(13, 14), at(14));
    assert_eq!(course.verdict(at(14), true), Verdict::Done, "they are renewed");
}

#[test]
fn who_comes_later_waits_from_then_on() {
    let mut course = asked();
    course.read(Ok(said(ExecutionStatus::Running)), at(20));
    let whole = Some(Duration::from_mins(5));
    course.expect(Patience { silence: HOUR, whole }, at(30));
    assert_eq!(course.deadline(), at(35));
    course.read(Ok(said(ExecutionStatus::Completed)), at(31));
    assert_eq!(course.verdict(at(31), true), Verdict::Done);
}
