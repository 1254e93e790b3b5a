//! What is kept, for how long, and what it means.

mod examples;

use fairway_api::cluster_version::Release;
use fairway_findings::{
    CheckKind, CheckReport, CheckStatus, Document, ExecutionStatus, Finding, Reason, Severity,
};
use fairway_testkit::objects::release;
use proptest::prelude::*;

use super::*;

pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_770_000_000 + second).unwrap()
}

/// A cluster at 5.0.0.
pub(super) fn memory() -> Memory {
    Memory::new("5.0.0", OnUpdate::Off)
}

pub(super) fn image(version: &str) -> String {
    release(version).image
}

pub(super) fn begin(memory: &mut Memory, version: &str, run: &str) {
    let release: Release = release(version);
    memory.begin(Begun { release: &release, run, purpose: Purpose::Asked }, at(0));
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

fn names(memory: &Memory) -> Vec<String> {
    memory.concerns().into_iter().map(|concern| concern.risk.name).collect()
}

/// Two checks, of which one has found something and the other is as given.
fn half(run: &str, other: CheckStatus, risks: Vec<Finding>) -> Document {
    let over = if other.is_final() { ExecutionStatus::Completed } else { ExecutionStatus::Running };
    let checks = vec![check("network", CheckStatus::Found), check("storage", other)];
    document("5.2.0", run, over, checks, risks)
}

#[test]
fn a_finding_is_withdrawn_only_when_its_check_has_completed_again() {
    for (status, stands) in [
        (CheckStatus::Waiting, true),
        (CheckStatus::Running, true),
        (CheckStatus::TimedOut, true),
        (CheckStatus::CannotTell, true),
        (CheckStatus::Passed, false),
        (CheckStatus::Skipped, false),
    ] {
        let mut memory = memory();
        begin(&mut memory, "5.2.0", "1");
        let both = vec![found("network", "DualStack"), found("storage", "OldDriver")];
        memory.enter(&image("5.2.0"), half("1", CheckStatus::Found, both), at(1));
        begin(&mut memory, "5.2.0", "2");
        let again = half("2", status, vec![found("network", "DualStack")]);
        memory.enter(&image("5.2.0"), again.clone(), at(2));
        memory.enter(&image("5.2.0"), again, at(3));
        assert!(names(&memory).contains(&"DualStack".to_owned()));
        assert_eq!(names(&memory).contains(&"OldDriver".to_owned()), stands, "{status:?}");
    }
}

#[test]
fn targets_stand_side_by_side_until_they_are_withdrawn() {
    let mut memory = memory();
    for version in ["5.1.0", "5.2.0"] {
        begin(&mut memory, version, version);
        let checks = vec![check("network", CheckStatus::Found)];
        let risks = vec![found("network", &format!("In{}", version.replace('.', "")))];
        let said = document(version, version, ExecutionStatus::Completed, checks, risks);
        memory.enter(&image(version), said, at(1));
        memory.end(&image(version), at(2));
    }
    assert_eq!(names(&memory), ["In510", "In520"]);
    assert_eq!(memory.outcomes().len(), 2);
    memory.withdraw(&image("5.2.0"));
    assert_eq!(names(&memory), ["In510"]);
    memory.withdraw(&image("5.1.0"));
    assert_eq!(memory.records().len(), 0);
}

#[test]
fn what_another_run_says_does_not_count() {
    let mut memory = memory();
    begin(&mut memory, "5.2.0", "2");
    let risks = vec![found("network", "DualStack")];
    memory.enter(&image("5.2.0"), half("1", CheckStatus::Passed, risks.clone()), at(1));
    assert_eq!(names(&memory), ["PreflightInProgress"]);
    memory.end(&image("5.2.0"), at(2));
    memory.enter(&image("5.2.0"), half("2", CheckStatus::Passed, risks), at(3));
    assert_eq!(names(&memory), Vec::<String>::new(), "that run is over");
}

#[test]
fn what_is_known_of_a_target_while_it_is_looked_at() {
    let mut memory = memory();
    let outcome = |memory: &Memory| memory.outcomes().remove(&image("5.2.0")).unwrap();
    begin(&mut memory, "5.2.0", "1");
    assert_eq!(outcome(&memory), Outcome::default());
    let good_to_know = Finding { severity: Severity::Info, ..found("network", "Slow") };
    let risks = vec![found("network", "DualStack"), good_to_know];
    memory.enter(&image("5.2.0"), half("1", CheckStatus::Running, risks.clone()), at(1));
    let findings = vec!["DualStack".to_owned()];
    let expected = Outcome { complete: false, left: None, answers: false, findings };
    assert_eq!(outcome(&memory), expected);
    memory.enter(&image("5.2.0"), half("1", CheckStatus::TimedOut, risks.clone()), at(2));
    assert_eq!(outcome(&memory), expected);
    memory.enter(&image("5.2.0"), half("1", CheckStatus::Passed, risks), at(3));
    assert_eq!(outcome(&memory), Outcome { complete: true, ..expected.clone() });
    memory.end(&image("5.2.0"), at(4));
    let left = Some(at(3));
    assert_eq!(outcome(&memory), Outcome { complete: true, left, ..expected.clone() });
    begin(&mut memory, "5.2.0", "2");
    assert_eq!(outcome(&memory), expected, "it is looked at again");
    memory.give_up(&image("5.2.0"), "OOMKilled", "it needs more memory", at(5));
    let why = Some("it needs more memory".to_owned());
    let Outcome { complete, left, .. } = outcome(&memory);
    assert_eq!((complete, left), (true, Some(at(3))), "what was complete stands, and grows old");
    let history = &memory.of(&image("5.2.0")).unwrap().history;
    let outcomes: Vec<&str> = history.iter().map(|run| run.outcome.as_str()).collect();
    assert_eq!(outcomes, ["OOMKilled", "RisksFound"]);
    assert_eq!(
        why.as_deref(),
        memory.of(&image("5.2.0")).unwrap().failure.as_ref().map(|it| it.message.as_str())
    );
}

#[test]
fn answers_that_are_overtaken_are_not_relied_on() {
    let complete = |stale: bool, ended: i64| {
        let mut memory = memory();
        begin(&mut memory, "5.2.0", "1");
        let mut said = half("1", CheckStatus::Passed, Vec::new());
        said.checks[1] = CheckReport { stale, ended: Some(at(ended)), ..said.checks[1].clone() };
        memory.enter(&image("5.2.0"), said, at(3600));
        memory.end(&image("5.2.0"), at(3600));
        memory.outcomes().remove(&image("5.2.0")).unwrap().complete
    };
    assert!(complete(false, 0), "what nothing has changed about is as it was");
    assert!(complete(true, 3000), "a new answer is on its way");
    assert!(!complete(true, 2999));
}

#[test]
fn a_run_that_is_given_up_after_its_answers_lacks_none() {
    let last = |runs: &[(&str, CheckStatus)]| {
        let mut memory = memory();
        for (run, status) in runs {
            begin(&mut memory, "5.2.0", run);
            memory.enter(&image("5.2.0"), half(run, *status, Vec::new()), at(1));
            memory.give_up(&image("5.2.0"), "NoResultsInTime", "no sign of life", at(2));
        }
        names(&memory)
    };
    assert_eq!(last(&[("1", CheckStatus::Passed)]), Vec::<String>::new());
    assert_eq!(last(&[("1", CheckStatus::Running)]), ["PreflightIncomplete"]);
    let both = [("1", CheckStatus::Passed), ("2", CheckStatus::Waiting)];
    assert_eq!(last(&both), ["PreflightIncomplete"]);
}

#[test]
fn a_request_that_is_given_up_before_its_run_lacks_every_answer() {
    for was_complete in [false, true] {
        let mut before = memory();
        if was_complete {
            begin(&mut before, "5.2.0", "1");
            before.enter(&image("5.2.0"), half("1", CheckStatus::Passed, Vec::new()), at(1));
            before.end(&image("5.2.0"), at(2));
        }
        let stands = before.stands();
        before.ask(&release("5.2.0"), Purpose::Update);
        before.give_up(&image("5.2.0"), "ReaderRoleRefused", "it reads Secrets", at(3));
        assert_eq!(names(&before), ["PreflightIncomplete"], "{was_complete}");
        let told = format!("{:?}", before.concerns());
        assert!(told.contains("failed before any check completed"), "{told}");
        let news = news(&stands, &before.stands());
        assert!(matches!(news.as_slice(), [News { what: What::Failed(_), .. }]), "{news:?}");
        let stored: Vec<ConfigMap> = before.records().into_values().collect();
        let mut after = memory();
        after.restore(&stored);
        assert_eq!(after.concerns(), before.concerns());
        assert!(after.of(&image("5.2.0")).unwrap().failure.as_ref().unwrap().requested);
    }
}

#[test]
fn what_was_given_up_last_is_not_the_first_to_give_way() {
    let mut memory = memory();
    for patch in 0..MAX_TARGETS {
        let version = format!("5.2.{patch}");
        begin(&mut memory, &version, "1");
        memory.end(&image(&version), at(1));
    }
    memory.ask(&release("5.3.0"), Purpose::Update);
    memory.give_up(&image("5.3.0"), "ReaderRoleRefused", "it reads Secrets", at(2));
    assert_eq!(memory.kept().count(), MAX_TARGETS);
    assert!(memory.of(&image("5.3.0")).is_some());
}

#[test]
fn what_stands_against_an_update_and_what_is_mere_advice() {
    let partial = Finding { reason: Reason::PreflightPartial, ..found("storage", "Unknown") };
    let skewed = Finding { reason: Reason::PreflightVersionSkew, ..found("storage", "Skewed") };
    let info = Finding { severity: Severity::Info, ..found("network", "Info") };
    let critical = Finding { severity: Severity::Critical, ..found("network", "Critical") };
    let risks = vec![found("network", "Warning"), critical, info, partial, skewed];
    for (on_update, purpose, counting) in [
        (OnUpdate::Off, Purpose::Asked, &["Critical", "Warning"][..]),
        (OnUpdate::Report, Purpose::Asked, &["Critical", "Warning"]),
        (OnUpdate::Report, Purpose::Update, &[]),
        (
            OnUpdate::Require,
            Purpose::Update,
            &["Critical", "Info", "Skewed", "Unknown", "Warning", "PreflightIncomplete"],
        ),
    ] {
        let mut memory = Memory::new("5.0.0", on_update);
        let release = release("5.2.0");
        memory.begin(Begun { release: &release, run: "1", purpose }, at(0));
        memory.enter(&release.image, half("1", CheckStatus::Failed, risks.clone()), at(1));
        let concerns = memory.concerns();
        let counts = |concern: &&Concern| !concern.risk.claim.as_ref().unwrap().advisory;
        let counted: Vec<&str> =
            concerns.iter().filter(counts).map(|concern| concern.risk.name.as_str()).collect();
        assert_eq!(counted, counting, "{on_update:?} {purpose:?}");
        assert_eq!(concerns.len(), 6);
    }
}

#[test]
fn what_somebody_asked_for_is_not_weakened_by_what_is_looked_at_later() {
    let mut memory = Memory::new("5.0.0", OnUpdate::Report);
    begin(&mut memory, "5.2.0", "1");
    memory.end(&image("5.2.0"), at(1));
    let release = release("5.2.0");
    memory.begin(Begun { release: &release, run: "2", purpose: Purpose::Update }, at(2));
    let risks = vec![found("network", "DualStack")];
    memory.enter(&release.image, half("2", CheckStatus::Passed, risks), at(3));
    assert!(!memory.concerns()[0].risk.claim.as_ref().unwrap().advisory);
}

#[test]
fn a_restart_changes_nothing_but_what_was_under_way() {
    let mut before = memory();
    begin(&mut before, "5.2.0", "1");
    let risks = vec![found("network", "DualStack"), found("storage", "OldDriver")];
    before.enter(&image("5.2.0"), half("1", CheckStatus::Found, risks), at(1));
    before.end(&image("5.2.0"), at(2));
    begin(&mut before, "5.2.0", "2");
    let risks = vec![found("network", "DualStack")];
    before.enter(&image("5.2.0"), half("2", CheckStatus::TimedOut, risks), at(3));
    before.end(&image("5.2.0"), at(4));
    let stored: Vec<ConfigMap> = before.records().into_values().collect();
    let mut after = memory();
    after.restore(&stored);
    assert_eq!(after.concerns(), before.concerns());
    assert_eq!(after.outcomes(), before.outcomes());
    assert_eq!(after.records(), before.records());
    let mut elsewhere = Memory::new("5.1.0", OnUpdate::Off);
    elsewhere.restore(&stored);
    assert_eq!(elsewhere.kept().count(), 0, "that was about another version");
}

#[test]
fn a_restart_does_not_forget_what_was_given_up() {
    for says_something in [true, false] {
        let mut before = memory();
        begin(&mut before, "5.2.0", "1");
        if says_something {
            let risks = vec![found("network", "DualStack")];
            before.enter(&image("5.2.0"), half("1", CheckStatus::Running, risks), at(1));
        }
        before.give_up(&image("5.2.0"), "OOMKilled", "it needs more memory", at(2));
        for is_withdrawn in [false, true] {
            if is_withdrawn {
                before.end(&image("5.2.0"), at(3));
            }
            let stored: Vec<ConfigMap> = before.records().into_values().collect();
            let mut after = memory();
            after.restore(&stored);
            assert_eq!(after.concerns(), before.concerns());
            assert_eq!(after.outcomes(), before.outcomes());
            let failure = after.of(&image("5.2.0")).unwrap().failure.clone().unwrap();
            assert_eq!((failure.reason.as_str(), failure.requested), ("OOMKilled", !is_withdrawn));
        }
    }
}

#[test]
fn a_record_is_not_taken_for_that_of_another_target() {
    let mut memory = memory();
    begin(&mut memory, "5.2.0", "1");
    memory.enter(&image("5.2.0"), half("1", CheckStatus::Passed, Vec::new()), at(1));
    let (name, record) = memory.records().pop_first().unwrap();
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
fn the_oldest_target_gives_way() {
    let mut memory = memory();
    for minor in 1..=20_i64 {
        let version = format!("5.{minor}.0");
        let release = release(&version);
        memory.begin(Begun { release: &release, run: "1", purpose: Purpose::Asked }, at(minor));
        let said = document(&version, "1", ExecutionStatus::Completed, Vec::new(), Vec::new());
        memory.enter(&release.image, said, at(minor));
        memory.end(&release.image, at(minor));
    }
    assert_eq!(memory.kept().count(), MAX_TARGETS);
    assert!(memory.of(&image("5.4.0")).is_none() && memory.of(&image("5.5.0")).is_some());
}

#[test]
fn what_is_left_out_stands_against_the_update() {
    let many = |severity| {
        let one = |number: usize| Finding { severity, ..found("network", &format!("F{number}")) };
        (0..10_000).map(one).collect::<Vec<_>>()
    };
    for (severity, counts) in [(Severity::Critical, true), (Severity::Info, false)] {
        let mut memory = memory();
        begin(&mut memory, "5.2.0", "1");
        memory.enter(&image("5.2.0"), half("1", CheckStatus::Passed, many(severity)), at(1));
        let concerns = memory.concerns();
        assert!(concerns.len() <= 101);
        let stand_in =
            concerns.iter().find(|it| it.risk.name == fairway_findings::limits::DROPPED).unwrap();
        assert_eq!(!stand_in.risk.claim.as_ref().unwrap().advisory, counts);
    }
}

proptest! {
    // Each of them is a megabyte of texts.
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_record_fits_into_a_config_map(
        texts in proptest::collection::vec("\\PC{0,40}", 1..20),
        count in 0_usize..400,
    ) {
        let findings = (0..count).map(|number| {
            let text = texts[number % texts.len()].repeat(200);
            Finding { message: text.clone(), remediation: text.clone(), url: text, ..found("network", "A") }
        });
        let findings: Vec<Finding> = findings.collect();
        let mut memory = memory();
        begin(&mut memory, "5.2.0", "1");
        memory.enter(&image("5.2.0"), half("1", CheckStatus::Passed, findings.clone()), at(1));
        begin(&mut memory, "5.2.0", "2");
        memory.enter(&image("5.2.0"), half("2", CheckStatus::Failed, findings), at(2));
        let record = memory.records().pop_first().unwrap().1;
        prop_assert!(serde_json::to_vec(&record).unwrap().len() < 1 << 20);
    }

    #[test]
    fn reading_a_record_never_breaks(texts in proptest::collection::vec("\\PC{0,200}", 4)) {
        let mut memory = memory();
        begin(&mut memory, "5.2.0", "1");
        let (_, mut record) = memory.records().pop_first().unwrap();
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
fn what_becomes_of_a_run_is_told_once() {
    let mut memory = memory();
    let mut told = Vec::new();
    let mut stands = memory.stands();
    let mut look = |memory: &Memory| {
        let now = memory.stands();
        let what: Vec<What> = news(&stands, &now).into_iter().map(|news| news.what).collect();
        stands = now;
        told.extend(what.iter().map(|what| format!("{what:?}")));
    };
    begin(&mut memory, "5.2.0", "1");
    look(&memory);
    let risks = vec![found("network", "DualStack")];
    for status in [CheckStatus::Running, CheckStatus::Failed, CheckStatus::Passed] {
        memory.enter(&image("5.2.0"), half("1", status, risks.clone()), at(1));
        look(&memory);
        look(&memory);
    }
    memory.end(&image("5.2.0"), at(2));
    look(&memory);
    begin(&mut memory, "5.2.0", "2");
    look(&memory);
    memory.give_up(&image("5.2.0"), "OOMKilled", "it needs more memory", at(3));
    look(&memory);
    look(&memory);
    insta::assert_snapshot!(told.join("\n"), @r#"
    Started
    Answered { complete: false, risks: 1 }
    Started
    Failed(Failure { reason: "OOMKilled", message: "it needs more memory", requested: true })
    "#);
}
