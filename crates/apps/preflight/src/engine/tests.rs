use fairway_api::Version;
use fairway_findings::{
    CheckKind, CheckReport, CheckStatus, ExecutionStatus, Finding, Reason, Severity,
};
use jiff::{SignedDuration, Timestamp};

use super::{CheckOutcome, CheckSchedule, Engine, PlannedCheck, RunIdentity};
use crate::cluster::{Part, Resource};

const NODES: Resource = Resource::new("", "v1", "Node", "nodes");
const PODS: Resource = Resource::new("", "v1", "Pod", "pods");

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

fn identity(target: &str) -> RunIdentity {
    RunIdentity {
        run: "0123456789abcdef0123456789abcdef".to_owned(),
        source: Version::new(5, 0, 0),
        target: Version::parse(target).unwrap(),
        image: "registry.example/release@sha256:0".to_owned(),
    }
}

fn built_in(name: &str, watched: &[Resource]) -> PlannedCheck {
    PlannedCheck { name: name.to_owned(), kind: CheckKind::BuiltIn, watched: watched.to_vec() }
}

fn job(name: &str) -> PlannedCheck {
    PlannedCheck { name: name.to_owned(), kind: CheckKind::Operator, watched: Vec::new() }
}

fn engine(checks: Vec<PlannedCheck>) -> Engine {
    Engine::new(identity("5.2.0"), CheckSchedule::default(), checks, at(0))
}

fn found(name: &str) -> CheckOutcome {
    let finding = Finding { name: name.to_owned(), ..Finding::default() };
    CheckOutcome::Completed { findings: vec![finding], not_covered: String::new() }
}

fn nothing() -> CheckOutcome {
    CheckOutcome::Completed { findings: Vec::new(), not_covered: String::new() }
}

fn failed(status: CheckStatus) -> CheckOutcome {
    CheckOutcome::no_result(status, "why")
}

fn report(engine: &Engine, name: &str) -> CheckReport {
    let document = engine.document(at(0));
    document.checks.into_iter().find(|check| check.name == name).unwrap()
}

fn risks(engine: &Engine) -> Vec<String> {
    engine.document(at(0)).risks.into_iter().map(|risk| risk.name).collect()
}

#[test]
fn begin_respects_parallelism() {
    let mut checks: Vec<PlannedCheck> =
        ["a", "b", "c", "d", "e"].map(|name| built_in(name, &[])).into();
    checks.extend(["v", "w", "x", "y", "z"].map(job));
    let mut engine = engine(checks);
    assert_eq!(engine.begin(at(0)), ["a", "b", "c", "d", "v", "w", "x", "y"]);
    assert_eq!((engine.begin(at(1)), engine.wake()), (Vec::new(), None), "there is no room");
    engine.ended("b", nothing(), at(2), 0.0);
    assert_eq!(engine.wake(), Some(at(0)));
    assert_eq!(engine.begin(at(2)), ["e"]);
    engine.ended("w", nothing(), at(3), 0.0);
    assert_eq!(engine.begin(at(3)), ["z"]);
}

#[test]
fn first_pass_is_done_once_all_checks_ended() {
    let mut engine = engine(vec![built_in("a", &[NODES]), job("b")]);
    let status = |engine: &Engine| engine.document(at(9)).execution_status;
    assert_eq!(report(&engine, "a").status, CheckStatus::Waiting);
    engine.begin(at(0));
    assert_eq!(report(&engine, "a").status, CheckStatus::Running);
    engine.ended("a", nothing(), at(1), 0.0);
    assert_eq!(status(&engine), ExecutionStatus::Running);
    engine.ended("b", failed(CheckStatus::TimedOut), at(2), 0.0);
    assert_eq!(status(&engine), ExecutionStatus::Completed);
    assert!(engine.first_pass_done() && !engine.document(at(9)).is_complete());
    engine.changed(NODES, at(3));
    engine.begin(at(60));
    assert_eq!(status(&engine), ExecutionStatus::Completed);
    assert_eq!(engine.document(at(99)).completed, Some(at(2)));
}

#[test]
fn run_without_checks_is_completed() {
    let engine = engine(Vec::new());
    assert!(engine.first_pass_done() && engine.document(at(0)).is_complete());
}

#[test]
fn changed_starts_check_after_minimum_interval() {
    let mut engine = engine(vec![built_in("drain", &[PODS]), built_in("nodes", &[NODES])]);
    engine.changed(NODES, at(0));
    assert!(!report(&engine, "nodes").stale, "it has no answer yet that could be");
    engine.begin(at(0));
    engine.ended("nodes", nothing(), at(1), 0.0);
    engine.ended("drain", nothing(), at(1), 0.0);
    assert_eq!(engine.wake(), None);
    for second in 2..10 {
        engine.changed(NODES, at(second));
    }
    assert!(report(&engine, "nodes").stale && !report(&engine, "drain").stale);
    assert_eq!((engine.begin(at(59)), engine.wake()), (Vec::new(), Some(at(60))));
    assert_eq!(engine.begin(at(60)), ["nodes"]);
    assert_eq!(report(&engine, "nodes").status, CheckStatus::Passed, "the answer so far");
    engine.ended("nodes", found("A"), at(61), 0.0);
    assert!(!report(&engine, "nodes").stale);
    engine.changed(NODES, at(300));
    assert_eq!(engine.begin(at(300)), ["nodes"], "a minute has long passed");
}

#[test]
fn changed_during_check_repeats_it() {
    let mut engine = engine(vec![built_in("nodes", &[NODES])]);
    engine.begin(at(0));
    engine.changed(NODES, at(5));
    assert_eq!((engine.begin(at(100)), engine.wake()), (Vec::new(), None));
    engine.ended("nodes", nothing(), at(101), 0.0);
    assert!(report(&engine, "nodes").stale);
    assert_eq!(engine.begin(at(101)), ["nodes"]);
    engine.ended("nodes", nothing(), at(102), 0.0);
    assert_eq!((report(&engine, "nodes").stale, engine.wake()), (false, None));
}

/// Changes a resource every second. Returns the minutes in which the check starts, and whether its
/// result is stale after the second start.
fn busy(engine: &mut Engine, kind: Resource, until: i64) -> (Vec<i64>, bool) {
    let (mut begun, mut was_stale) = (Vec::new(), false);
    for second in 0..until {
        engine.changed(kind, at(second));
        if !engine.begin(at(second)).is_empty() {
            begun.push(second / 60);
            engine.ended("drain", nothing(), at(second), 0.0);
        }
        was_stale |= begun.len() > 1 && report(engine, "drain").stale;
    }
    (begun, was_stale)
}

#[test]
fn changed_without_effect_backs_off() {
    let mut engine = engine(vec![built_in("drain", &[PODS, NODES])]);
    let (begun, was_stale) = busy(&mut engine, PODS, 3600);
    assert_eq!(begun, [0, 1, 3, 7, 15, 31, 47]);
    assert!(!was_stale, "no answer would ever be fresh");
}

#[test]
fn changed_rare_resource_starts_soon_on_busy_cluster() {
    let mut engine = engine(vec![built_in("drain", &[PODS, NODES])]);
    busy(&mut engine, PODS, 3600);
    engine.changed(NODES, at(3600));
    assert!(report(&engine, "drain").stale);
    assert_eq!(engine.begin(at(3600)), ["drain"]);
    engine.ended("drain", found("Full"), at(3601), 0.0);
    engine.changed(PODS, at(3602));
    assert!(report(&engine, "drain").stale, "pods may matter again");
    assert_eq!(engine.wake(), Some(at(3660)));
}

#[test]
fn changed_cluster_operator_repeats_job() {
    let own = NODES.only(Part::One(None, "network"));
    let mut engine = engine(vec![PlannedCheck { watched: vec![own], ..job("network") }]);
    engine.begin(at(0));
    engine.ended("network", nothing(), at(10), 0.0);
    engine.changed(NODES.only(Part::One(None, "storage")), at(20));
    assert_eq!((report(&engine, "network").stale, engine.wake()), (false, Some(at(3610))));
    engine.changed(own, at(20));
    assert_eq!((report(&engine, "network").stale, engine.wake()), (true, Some(at(60))));
    assert_eq!(engine.begin(at(60)), ["network"]);
    engine.ended("network", nothing(), at(70), 0.0);
    assert_eq!((report(&engine, "network").stale, engine.wake()), (false, Some(at(3670))));
    engine.changed(own, at(80));
    assert_eq!(engine.wake(), Some(at(180)), "a repetition without a change doubles the delay");
}

#[test]
fn jobs_repeat_hourly_with_jitter() {
    let mut engine = engine(vec![job("a"), job("b")]);
    engine.begin(at(0));
    engine.ended("a", nothing(), at(10), 0.0);
    engine.ended("b", failed(CheckStatus::Failed), at(10), 1.0);
    assert_eq!(engine.begin(at(3609)), Vec::<String>::new());
    assert_eq!(engine.begin(at(3610)), ["a"]);
    assert_eq!(engine.wake(), Some(at(10 + 3600 + 360)));
}

#[test]
fn finding_remains_until_next_result() {
    let mut engine = engine(vec![built_in("nodes", &[NODES]), job("network")]);
    engine.begin(at(0));
    engine.ended("nodes", found("Full"), at(1), 0.0);
    engine.ended("network", found("DualStack"), at(1), 0.0);
    assert_eq!(risks(&engine), ["DualStack", "Full"]);
    for (second, outcome, expected) in [
        (100, failed(CheckStatus::CannotTell), &["DualStack", "Full", "NodesCheckFailed"][..]),
        (200, failed(CheckStatus::TimedOut), &["DualStack", "Full", "NodesCheckFailed"]),
        (300, found("Broken"), &["Broken", "DualStack"]),
        (400, nothing(), &["DualStack"]),
        (500, found("Full"), &["DualStack", "Full"]),
        (600, CheckOutcome::Skipped("gone".to_owned()), &["DualStack"]),
    ] {
        engine.changed(NODES, at(second));
        assert_eq!(engine.begin(at(second)), ["nodes"]);
        engine.ended("nodes", outcome, at(second + 1), 0.0);
        assert_eq!(risks(&engine), expected, "{second}");
    }
}

#[test]
fn check_without_result_is_retried_with_backoff() {
    for (status, wake) in [
        (CheckStatus::CannotTell, Some(at(301))),
        (CheckStatus::TimedOut, Some(at(301))),
        (CheckStatus::Failed, Some(at(301))),
        (CheckStatus::VersionSkew, None),
    ] {
        let mut engine = engine(vec![built_in("nodes", &[NODES])]);
        engine.begin(at(0));
        engine.ended("nodes", failed(status), at(1), 0.0);
        assert_eq!(engine.wake(), wake, "{status:?}");
    }
}

#[test]
fn check_without_result_across_many_versions_is_skewed() {
    for (target, status) in [
        ("5.1.0", CheckStatus::CannotTell),
        ("5.2.9", CheckStatus::CannotTell),
        ("5.3.0", CheckStatus::VersionSkew),
    ] {
        let checks = vec![job("network")];
        let mut engine = Engine::new(identity(target), CheckSchedule::default(), checks, at(0));
        engine.begin(at(0));
        engine.ended(
            "network",
            CheckOutcome::no_result(CheckStatus::CannotTell, "no such field"),
            at(1),
            0.0,
        );
        assert_eq!(report(&engine, "network").status, status, "{target}");
    }
}

#[test]
fn findings_have_check_and_target() {
    let mut engine = engine(vec![job("network"), built_in("removed-apis", &[])]);
    engine.begin(at(0));
    engine.ended("network", failed(CheckStatus::TimedOut), at(1), 0.0);
    engine.ended("removed-apis", failed(CheckStatus::VersionSkew), at(1), 0.0);
    let risks = serde_json::to_string_pretty(&engine.document(at(2)).risks).unwrap();
    insta::assert_snapshot!(risks, @r#"
    [
      {
        "name": "NetworkCheckFailed",
        "message": "Check network of 5.2.0 has no result: why",
        "targetVersion": "5.2.0",
        "severity": "warning",
        "remediation": "Find out why the check is slow, for example in its log. Fairway retries the check",
        "check": "network",
        "reason": "PreflightPartial"
      },
      {
        "name": "RemovedApisVersionSkew",
        "message": "Check removed-apis cannot compare 5.0.0 with 5.2.0: why",
        "targetVersion": "5.2.0",
        "severity": "warning",
        "remediation": "Run a preflight of an intermediate release, and update in several hops: fairway upgrade --mode=preflight --to=VERSION",
        "check": "removed-apis",
        "reason": "PreflightVersionSkew"
      }
    ]
    "#);
    let mut engine = self::engine(vec![job("network")]);
    engine.begin(at(0));
    engine.ended("network", found("DualStack"), at(1), 0.0);
    let risk = &engine.document(at(2)).risks[0];
    assert_eq!((risk.check.as_str(), risk.target_version.as_str()), ("network", "5.2.0"));
    assert_eq!(risk.severity, Severity::Warning);
}

#[test]
fn findings_of_crashed_check_are_partial() {
    let mut engine = engine(vec![job("network")]);
    engine.begin(at(0));
    let finding = Finding { name: "DualStack".to_owned(), ..Finding::default() };
    let (status, why) = (CheckStatus::Failed, "why".to_owned());
    let outcome = CheckOutcome::NoResult { status, why, findings: vec![finding] };
    engine.ended("network", outcome, at(1), 0.0);
    let risks = engine.document(at(2)).risks;
    let rendered: Vec<_> = risks.iter().map(|risk| (risk.name.as_str(), risk.reason)).collect();
    let unsure = Reason::PreflightPartial;
    assert_eq!(rendered, [("DualStack", unsure), ("NetworkCheckFailed", unsure)]);
}

#[test]
fn findings_of_incomplete_check_stay_validated() {
    let mut engine = engine(vec![job("network")]);
    engine.begin(at(0));
    let finding = Finding { name: "DualStack".to_owned(), ..Finding::default() };
    let (status, why) = (CheckStatus::CannotTell, "why".to_owned());
    let outcome = CheckOutcome::NoResult { status, why, findings: vec![finding] };
    engine.ended("network", outcome, at(1), 0.0);
    let document = engine.document(at(2));
    assert!(!document.is_complete());
    let rendered: Vec<_> = document.risks.iter().map(|it| (it.name.as_str(), it.reason)).collect();
    let expected = [
        ("DualStack", Reason::PreflightValidation),
        ("NetworkCheckFailed", Reason::PreflightPartial),
    ];
    assert_eq!(rendered, expected);
}

#[test]
fn findings_repeated_by_incomplete_check_are_not_duplicated() {
    let mut engine = engine(vec![built_in("nodes", &[NODES])]);
    engine.begin(at(0));
    engine.ended("nodes", found("Full"), at(1), 0.0);
    engine.changed(NODES, at(100));
    engine.begin(at(100));
    let finding = Finding { name: "Full".to_owned(), ..Finding::default() };
    let (status, why) = (CheckStatus::CannotTell, "why".to_owned());
    let outcome = CheckOutcome::NoResult { status, why, findings: vec![finding] };
    engine.ended("nodes", outcome, at(101), 0.0);
    assert_eq!(risks(&engine), ["Full", "NodesCheckFailed"]);
}

#[test]
fn skipped_check_is_not_repeated() {
    for outcome in [CheckOutcome::Skipped("new".to_owned()), failed(CheckStatus::Refused)] {
        let mut engine = engine(vec![PlannedCheck { watched: vec![NODES], ..job("network") }]);
        engine.begin(at(0));
        engine.ended("network", outcome, at(0), 0.0);
        assert_eq!((engine.wake(), engine.first_pass_done()), (None, true));
        engine.changed(NODES, at(100));
        assert_eq!((engine.wake(), report(&engine, "network").stale), (None, false));
    }
}

#[test]
fn default_schedule_matches_documentation() {
    let CheckSchedule { between, every, .. } = CheckSchedule::default();
    assert_eq!((between, every), (SignedDuration::from_mins(1), SignedDuration::from_hours(1)));
}

#[test]
fn document_reports_progress_at_any_time() {
    let mut engine = engine(["a", "b", "c", "d", "e", "f", "g"].map(job).into());
    let rendered = |engine: &Engine| {
        let progress = engine.document(at(0)).progress(CheckKind::Operator);
        format!("{} of {} operators checked", progress.answered, progress.total)
    };
    assert_eq!(rendered(&engine), "0 of 7 operators checked");
    engine.begin(at(0));
    for name in ["a", "b", "c"] {
        engine.ended(name, nothing(), at(1), 0.0);
    }
    engine.ended("d", failed(CheckStatus::Failed), at(1), 0.0);
    assert_eq!(rendered(&engine), "3 of 7 operators checked");
}
