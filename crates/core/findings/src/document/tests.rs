use super::*;

fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(minute * 60).unwrap()
}

/// A check that has answered in that minute.
fn answered(status: CheckStatus, minute: Option<i64>, stale: bool) -> CheckReport {
    CheckReport { status, ended: minute.map(at), stale, ..CheckReport::default() }
}

/// A document that was written after an hour.
fn of(checks: Vec<CheckReport>) -> Document {
    let execution_status = ExecutionStatus::Completed;
    let (completed, updated) = (Some(at(5)), Some(at(60)));
    Document { execution_status, completed, updated, checks, ..Document::default() }
}

#[test]
fn an_answer_counts_until_a_new_one_is_overdue() {
    use CheckStatus::{Found, Passed, Running};
    for (check, is_complete, is_current) in [
        (answered(Passed, Some(1), false), true, true),
        (answered(Passed, Some(50), true), true, true),
        (answered(Passed, Some(49), true), true, false),
        (answered(Found, Some(1), true), true, false),
        (answered(Passed, None, true), true, false),
        (answered(Running, None, false), false, false),
    ] {
        let document = of(vec![answered(Passed, Some(2), false), check.clone()]);
        assert_eq!(
            (document.is_complete(), document.is_current()),
            (is_complete, is_current),
            "{check:?}"
        );
    }
    let check = answered(Passed, Some(59), true);
    let ageless = Document { updated: None, ..of(vec![check]) };
    assert!(!ageless.is_current(), "nobody knows how long it has been so");
}

#[test]
fn results_are_as_old_as_their_oldest_answer() {
    use CheckStatus::{Failed, Found, Passed, Skipped};
    for (others, oldest) in [
        (vec![], Some(30)),
        (vec![answered(Found, Some(20), false), answered(Passed, Some(40), false)], Some(20)),
        (vec![answered(Skipped, Some(1), false), answered(Failed, Some(2), false)], Some(30)),
        (vec![answered(Passed, None, false)], None),
    ] {
        let mut document = of(others);
        document.checks.push(answered(Passed, Some(30), false));
        assert_eq!(document.oldest_answer(), oldest.map(at), "{:?}", document.checks);
    }
    assert_eq!(of(vec![answered(Skipped, None, false)]).oldest_answer(), Some(at(5)));
}

#[test]
fn a_document_that_is_merely_written_again_is_no_news() {
    let before = of(vec![answered(CheckStatus::Passed, Some(1), false)]);
    assert!(!Document { updated: Some(at(90)), ..before.clone() }.is_news_after(&before));
    let again = of(vec![answered(CheckStatus::Passed, Some(90), false)]);
    assert!(again.is_news_after(&before));
}

#[test]
fn blocks_update_only_for_validated_warnings_and_worse() {
    use Reason::{PreflightPartial, PreflightValidation, PreflightVersionSkew};
    for (reason, severity, blocks) in [
        (PreflightValidation, Severity::Info, false),
        (PreflightValidation, Severity::Warning, true),
        (PreflightValidation, Severity::Critical, true),
        (PreflightPartial, Severity::Critical, false),
        (PreflightVersionSkew, Severity::Critical, false),
    ] {
        let finding = Finding { reason, severity, ..Finding::default() };
        assert_eq!(finding.blocks_update(), blocks, "{reason} {severity}");
    }
}
