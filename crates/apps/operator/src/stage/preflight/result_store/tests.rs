use fairway_api::cluster_version::Release;
use fairway_findings::{
    CheckReport, CheckStatus, Document, ExecutionStatus, Finding, Reason, Severity,
};
use fairway_testkit::objects::release;
use proptest::prelude::*;

use super::events::{RunChange, RunPhase, changes};
use super::*;

pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_770_000_000 + second).unwrap()
}

/// Store of a cluster at 5.0.0.
pub(super) fn store() -> ResultStore {
    ResultStore::new("5.0.0", OnUpdate::Off)
}

pub(super) fn image(version: &str) -> String {
    release(version).image
}

pub(super) fn begin(store: &mut ResultStore, version: &str, run: &str) {
    let release: Release = release(version);
    store.begin(StartedRun { release: &release, run, purpose: Purpose::Requested }, at(0));
}

pub(super) fn check(name: &str, status: CheckStatus) -> CheckReport {
    CheckReport { name: name.to_owned(), status, ..CheckReport::default() }
}

pub(super) fn found(check: &str, name: &str) -> Finding {
    Finding {
        name: name.to_owned(),
        message: format!("{name} goes wrong."),
        check: check.to_owned(),
        ..Finding::default()
    }
}

pub(super) fn document(
    version: &str,
    run: &str,
    status: ExecutionStatus,
    checks: Vec<CheckReport>,
    mut risks: Vec<Finding>,
) -> Document {
    for found in &mut risks {
        version.clone_into(&mut found.target_version);
    }
    Document {
        format: fairway_findings::FORMAT.to_owned(),
        preflight_id: run.to_owned(),
        target_version: version.to_owned(),
        target_image: image(version),
        execution_status: status,
        checks,
        risks,
        ..Document::default()
    }
}

fn names(store: &ResultStore) -> Vec<String> {
    store.risks().into_iter().map(|concern| concern.risk.name).collect()
}

/// Results of two checks: `network` has findings, `storage` has the given status.
fn half(run: &str, other: CheckStatus, risks: Vec<Finding>) -> Document {
    let over = if other.is_final() { ExecutionStatus::Completed } else { ExecutionStatus::Running };
    let checks = vec![check("network", CheckStatus::Found), check("storage", other)];
    document("5.2.0", run, over, checks, risks)
}

#[test]
fn record_keeps_finding_until_its_check_has_new_result() {
    for (status, statuses) in [
        (CheckStatus::Waiting, true),
        (CheckStatus::Running, true),
        (CheckStatus::TimedOut, true),
        (CheckStatus::CannotTell, true),
        (CheckStatus::Passed, false),
        (CheckStatus::Skipped, false),
    ] {
        let mut store = store();
        begin(&mut store, "5.2.0", "1");
        let both = vec![found("network", "DualStack"), found("storage", "OldDriver")];
        store.record(&image("5.2.0"), half("1", CheckStatus::Found, both), at(1));
        begin(&mut store, "5.2.0", "2");
        let again = half("2", status, vec![found("network", "DualStack")]);
        store.record(&image("5.2.0"), again.clone(), at(2));
        store.record(&image("5.2.0"), again, at(3));
        assert!(names(&store).contains(&"DualStack".to_owned()));
        assert_eq!(names(&store).contains(&"OldDriver".to_owned()), statuses, "{status:?}");
    }
}

#[test]
fn withdraw_removes_only_that_target() {
    let mut store = store();
    for version in ["5.1.0", "5.2.0"] {
        begin(&mut store, version, version);
        let checks = vec![check("network", CheckStatus::Found)];
        let risks = vec![found("network", &format!("In{}", version.replace('.', "")))];
        let results = document(version, version, ExecutionStatus::Completed, checks, risks);
        store.record(&image(version), results, at(1));
        store.end(&image(version), at(2));
    }
    assert_eq!(names(&store), ["In510", "In520"]);
    assert_eq!(store.outcomes().len(), 2);
    store.withdraw(&image("5.2.0"));
    assert_eq!(names(&store), ["In510"]);
    store.withdraw(&image("5.1.0"));
    assert_eq!(store.records().len(), 0);
}

#[test]
fn record_of_another_run_is_ignored() {
    let mut store = store();
    begin(&mut store, "5.2.0", "2");
    let risks = vec![found("network", "DualStack")];
    store.record(&image("5.2.0"), half("1", CheckStatus::Passed, risks.clone()), at(1));
    assert_eq!(names(&store), ["PreflightInProgress"]);
    store.end(&image("5.2.0"), at(2));
    store.record(&image("5.2.0"), half("2", CheckStatus::Passed, risks), at(3));
    assert_eq!(names(&store), Vec::<String>::new(), "the run has ended");
}

#[test]
fn outcome_follows_run() {
    let mut store = store();
    let outcome = |store: &ResultStore| store.outcomes().remove(&image("5.2.0")).unwrap();
    begin(&mut store, "5.2.0", "1");
    assert_eq!(outcome(&store), PreflightOutcome::default());
    let good_to_know = Finding { severity: Severity::Info, ..found("network", "Slow") };
    let risks = vec![found("network", "DualStack"), good_to_know];
    store.record(&image("5.2.0"), half("1", CheckStatus::Running, risks.clone()), at(1));
    let findings = vec!["DualStack".to_owned()];
    let expected = PreflightOutcome { complete: false, left: None, answers: false, findings };
    assert_eq!(outcome(&store), expected);
    store.record(&image("5.2.0"), half("1", CheckStatus::TimedOut, risks.clone()), at(2));
    assert_eq!(outcome(&store), expected);
    store.record(&image("5.2.0"), half("1", CheckStatus::Passed, risks), at(3));
    assert_eq!(outcome(&store), PreflightOutcome { complete: true, ..expected.clone() });
    store.end(&image("5.2.0"), at(4));
    let left = Some(at(3));
    assert_eq!(outcome(&store), PreflightOutcome { complete: true, left, ..expected.clone() });
    begin(&mut store, "5.2.0", "2");
    assert_eq!(outcome(&store), expected, "a new run is in progress");
    store.abort(&image("5.2.0"), "OOMKilled", "it needs more memory", at(5));
    let why = Some("it needs more memory".to_owned());
    let PreflightOutcome { complete, left, .. } = outcome(&store);
    assert_eq!((complete, left), (true, Some(at(3))), "earlier results remain");
    let history = &store.get(&image("5.2.0")).unwrap().history;
    let outcomes: Vec<&str> = history.iter().map(|run| run.outcome.as_str()).collect();
    assert_eq!(outcomes, ["OOMKilled", "RisksFound"]);
    assert_eq!(
        why.as_deref(),
        store.get(&image("5.2.0")).unwrap().failure.as_ref().map(|it| it.message.as_str())
    );
}

#[test]
fn outcome_with_stale_result_is_incomplete() {
    let complete = |stale: bool, ended: i64| {
        let mut store = store();
        begin(&mut store, "5.2.0", "1");
        let mut results = half("1", CheckStatus::Passed, Vec::new());
        results.checks[1] =
            CheckReport { stale, ended: Some(at(ended)), ..results.checks[1].clone() };
        store.record(&image("5.2.0"), results, at(3600));
        store.end(&image("5.2.0"), at(3600));
        store.outcomes().remove(&image("5.2.0")).unwrap().complete
    };
    assert!(complete(false, 0), "not stale");
    assert!(complete(true, 3000), "within the renewal period");
    assert!(!complete(true, 2999));
}

#[test]
fn abort_after_complete_results_adds_no_risk() {
    let last = |runs: &[(&str, CheckStatus)]| {
        let mut store = store();
        for (run, status) in runs {
            begin(&mut store, "5.2.0", run);
            store.record(&image("5.2.0"), half(run, *status, Vec::new()), at(1));
            store.abort(&image("5.2.0"), "NoResultsInTime", "no sign of life", at(2));
        }
        names(&store)
    };
    assert_eq!(last(&[("1", CheckStatus::Passed)]), Vec::<String>::new());
    assert_eq!(last(&[("1", CheckStatus::Running)]), ["PreflightIncomplete"]);
    let both = [("1", CheckStatus::Passed), ("2", CheckStatus::Waiting)];
    assert_eq!(last(&both), ["PreflightIncomplete"]);
}

#[test]
fn abort_before_run_reports_incomplete() {
    for was_complete in [false, true] {
        let mut before = store();
        if was_complete {
            begin(&mut before, "5.2.0", "1");
            before.record(&image("5.2.0"), half("1", CheckStatus::Passed, Vec::new()), at(1));
            before.end(&image("5.2.0"), at(2));
        }
        let statuses = before.statuses();
        before.add_target(&release("5.2.0"), Purpose::Update);
        before.abort(&image("5.2.0"), "ReaderRoleRefused", "it reads Secrets", at(3));
        assert_eq!(names(&before), ["PreflightIncomplete"], "{was_complete}");
        let rendered = format!("{:?}", before.risks());
        assert!(rendered.contains("failed before any check completed"), "{rendered}");
        let changes = changes(&statuses, &before.statuses());
        assert!(
            matches!(changes.as_slice(), [RunChange { phase: RunPhase::Failed(_), .. }]),
            "{changes:?}"
        );
        let stored: Vec<ConfigMap> = before.records().into_values().collect();
        let mut after = store();
        after.restore(&stored);
        assert_eq!(after.risks(), before.risks());
        assert!(after.get(&image("5.2.0")).unwrap().failure.as_ref().unwrap().requested);
    }
}

#[test]
fn abort_of_new_target_keeps_it_over_older_ones() {
    let mut store = store();
    for patch in 0..MAX_TARGETS {
        let version = format!("5.2.{patch}");
        begin(&mut store, &version, "1");
        store.end(&image(&version), at(1));
    }
    store.add_target(&release("5.3.0"), Purpose::Update);
    store.abort(&image("5.3.0"), "ReaderRoleRefused", "it reads Secrets", at(2));
    assert_eq!(store.results().count(), MAX_TARGETS);
    assert!(store.get(&image("5.3.0")).is_some());
}

#[test]
fn risks_are_advisory_unless_they_block() {
    let partial = Finding { reason: Reason::PreflightPartial, ..found("storage", "Unknown") };
    let skewed = Finding { reason: Reason::PreflightVersionSkew, ..found("storage", "Skewed") };
    let info = Finding { severity: Severity::Info, ..found("network", "Info") };
    let critical = Finding { severity: Severity::Critical, ..found("network", "Critical") };
    let risks = vec![found("network", "Warning"), critical, info, partial, skewed];
    for (on_update, purpose, counting) in [
        (OnUpdate::Off, Purpose::Requested, &["Critical", "Warning"][..]),
        (OnUpdate::Report, Purpose::Requested, &["Critical", "Warning"]),
        (OnUpdate::Report, Purpose::Update, &[]),
        (
            OnUpdate::Require,
            Purpose::Update,
            &["Critical", "Info", "Skewed", "Unknown", "Warning", "PreflightIncomplete"],
        ),
    ] {
        let mut store = ResultStore::new("5.0.0", on_update);
        let release = release("5.2.0");
        store.begin(StartedRun { release: &release, run: "1", purpose }, at(0));
        store.record(&release.image, half("1", CheckStatus::Failed, risks.clone()), at(1));
        let risks = store.risks();
        let counts = |concern: &&ReportedRisk| !concern.risk.claim.as_ref().unwrap().advisory;
        let counted: Vec<&str> =
            risks.iter().filter(counts).map(|concern| concern.risk.name.as_str()).collect();
        assert_eq!(counted, counting, "{on_update:?} {purpose:?}");
        assert_eq!(risks.len(), 6);
    }
}

#[test]
fn risks_of_requested_target_stay_blocking_after_update_run() {
    let mut store = ResultStore::new("5.0.0", OnUpdate::Report);
    begin(&mut store, "5.2.0", "1");
    store.end(&image("5.2.0"), at(1));
    let release = release("5.2.0");
    store.begin(StartedRun { release: &release, run: "2", purpose: Purpose::Update }, at(2));
    let risks = vec![found("network", "DualStack")];
    store.record(&release.image, half("2", CheckStatus::Passed, risks), at(3));
    assert!(!store.risks()[0].risk.claim.as_ref().unwrap().advisory);
}

#[test]
fn restore_returns_same_results() {
    let mut before = store();
    begin(&mut before, "5.2.0", "1");
    let risks = vec![found("network", "DualStack"), found("storage", "OldDriver")];
    before.record(&image("5.2.0"), half("1", CheckStatus::Found, risks), at(1));
    before.end(&image("5.2.0"), at(2));
    begin(&mut before, "5.2.0", "2");
    let risks = vec![found("network", "DualStack")];
    before.record(&image("5.2.0"), half("2", CheckStatus::TimedOut, risks), at(3));
    before.end(&image("5.2.0"), at(4));
    let stored: Vec<ConfigMap> = before.records().into_values().collect();
    let mut after = store();
    after.restore(&stored);
    assert_eq!(after.risks(), before.risks());
    assert_eq!(after.outcomes(), before.outcomes());
    assert_eq!(after.records(), before.records());
    let mut elsewhere = ResultStore::new("5.1.0", OnUpdate::Off);
    elsewhere.restore(&stored);
    assert_eq!(elsewhere.results().count(), 0, "results of another version");
}

#[test]
fn restore_returns_aborted_run() {
    for says_something in [true, false] {
        let mut before = store();
        begin(&mut before, "5.2.0", "1");
        if says_something {
            let risks = vec![found("network", "DualStack")];
            before.record(&image("5.2.0"), half("1", CheckStatus::Running, risks), at(1));
        }
        before.abort(&image("5.2.0"), "OOMKilled", "it needs more memory", at(2));
        for is_withdrawn in [false, true] {
            if is_withdrawn {
                before.end(&image("5.2.0"), at(3));
            }
            let stored: Vec<ConfigMap> = before.records().into_values().collect();
            let mut after = store();
            after.restore(&stored);
            assert_eq!(after.risks(), before.risks());
            assert_eq!(after.outcomes(), before.outcomes());
            let failure = after.get(&image("5.2.0")).unwrap().failure.clone().unwrap();
            assert_eq!((failure.reason.as_str(), failure.requested), ("OOMKilled", !is_withdrawn));
        }
    }
}

#[test]
fn read_record_of_another_target_returns_none() {
    let mut store = store();
    begin(&mut store, "5.2.0", "1");
    store.record(&image("5.2.0"), half("1", CheckStatus::Passed, Vec::new()), at(1));
    let (name, record) = store.records().pop_first().unwrap();
    let with = |change: &dyn Fn(&mut ConfigMap)| {
        let mut changed = record.clone();
        change(&mut changed);
        record::read(&changed).map(|(name, _)| name)
    };
    assert_eq!(with(&|_| ()), Some(name));
    assert_eq!(with(&|it| it.metadata.name = Some("preflight-0".to_owned())), None);
    assert_eq!(with(&|it| it.metadata.annotations = None), None);
    assert_eq!(with(&|it| it.data = None), None);
    let rubbish = |it: &mut ConfigMap| {
        for text in it.data.iter_mut().flat_map(BTreeMap::values_mut) {
            *text = "[".repeat(100_000);
        }
    };
    assert_eq!(with(&rubbish), None);
}

#[test]
fn begin_beyond_maximum_removes_oldest_target() {
    let mut store = store();
    for minor in 1..=20_i64 {
        let version = format!("5.{minor}.0");
        let release = release(&version);
        store.begin(
            StartedRun { release: &release, run: "1", purpose: Purpose::Requested },
            at(minor),
        );
        let results = document(&version, "1", ExecutionStatus::Completed, Vec::new(), Vec::new());
        store.record(&release.image, results, at(minor));
        store.end(&release.image, at(minor));
    }
    assert_eq!(store.results().count(), MAX_TARGETS);
    assert!(store.get(&image("5.4.0")).is_none() && store.get(&image("5.5.0")).is_some());
}

#[test]
fn record_beyond_limit_adds_finding_for_dropped_ones() {
    let many = |severity| {
        let one = |number: usize| Finding { severity, ..found("network", &format!("F{number}")) };
        (0..10_000).map(one).collect::<Vec<_>>()
    };
    for (severity, counts) in [(Severity::Critical, true), (Severity::Info, false)] {
        let mut store = store();
        begin(&mut store, "5.2.0", "1");
        store.record(&image("5.2.0"), half("1", CheckStatus::Passed, many(severity)), at(1));
        let risks = store.risks();
        assert!(risks.len() <= 101);
        let stand_in =
            risks.iter().find(|it| it.risk.name == fairway_findings::limits::DROPPED).unwrap();
        assert_eq!(!stand_in.risk.claim.as_ref().unwrap().advisory, counts);
    }
}

proptest! {
    // Each case has about a megabyte of text.
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn record_with_large_findings_fits_into_config_map(
        texts in proptest::collection::vec("\\PC{0,40}", 1..20),
        count in 0_usize..400,
    ) {
        let findings = (0..count).map(|number| {
            let text = texts[number % texts.len()].repeat(200);
            Finding { message: text.clone(), remediation: text.clone(), url: text, ..found("network", "A") }
        });
        let findings: Vec<Finding> = findings.collect();
        let mut store = store();
        begin(&mut store, "5.2.0", "1");
        store.record(&image("5.2.0"), half("1", CheckStatus::Passed, findings.clone()), at(1));
        begin(&mut store, "5.2.0", "2");
        store.record(&image("5.2.0"), half("2", CheckStatus::Failed, findings), at(2));
        let record = store.records().pop_first().unwrap().1;
        prop_assert!(serde_json::to_vec(&record).unwrap().len() < 1 << 20);
    }

    #[test]
    fn read_record_with_any_text_does_not_panic(texts in proptest::collection::vec("\\PC{0,200}", 4)) {
        let mut store = store();
        begin(&mut store, "5.2.0", "1");
        let (_, mut record) = store.records().pop_first().unwrap();
        record.data = Some(
            ["complete.json", "partial.json", "history.json", "failure.json"]
                .into_iter()
                .zip(texts)
                .map(|(key, text)| (key.to_owned(), text))
                .collect(),
        );
        let _ = record::read(&record);
    }
}

#[test]
fn changes_are_reported_once() {
    let mut store = store();
    let mut rendered = Vec::new();
    let mut statuses = store.statuses();
    let mut observe = |store: &ResultStore| {
        let now = store.statuses();
        let phases: Vec<RunPhase> =
            changes(&statuses, &now).into_iter().map(|change| change.phase).collect();
        statuses = now;
        rendered.extend(phases.iter().map(|phase| format!("{phase:?}")));
    };
    begin(&mut store, "5.2.0", "1");
    observe(&store);
    let risks = vec![found("network", "DualStack")];
    for status in [CheckStatus::Running, CheckStatus::Failed, CheckStatus::Passed] {
        store.record(&image("5.2.0"), half("1", status, risks.clone()), at(1));
        observe(&store);
        observe(&store);
    }
    store.end(&image("5.2.0"), at(2));
    observe(&store);
    begin(&mut store, "5.2.0", "2");
    observe(&store);
    store.abort(&image("5.2.0"), "OOMKilled", "it needs more memory", at(3));
    observe(&store);
    observe(&store);
    insta::assert_snapshot!(rendered.join("\n"), @r#"
    Started
    Completed { all_checks: false, risks: 1 }
    Started
    Failed(RunFailure { reason: "OOMKilled", message: "it needs more memory", requested: true })
    "#);
}
