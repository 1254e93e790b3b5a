use super::*;

fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(minute * 60).unwrap()
}

/// A check with a result of that minute.
fn checked(status: CheckStatus, minute: Option<i64>, stale: bool) -> CheckReport {
    CheckReport { status, ended: minute.map(at), stale, ..CheckReport::default() }
}

/// Results that were written after an hour.
fn document(checks: Vec<CheckReport>) -> Document {
    let execution_status = ExecutionStatus::Completed;
    let (completed, updated) = (Some(at(5)), Some(at(60)));
    Document { execution_status, completed, updated, checks, ..Document::default() }
}

#[test]
fn is_current_until_renewal_is_overdue() {
    use CheckStatus::{Found, Passed, Running};
    for (check, is_complete, is_current) in [
        (checked(Passed, Some(1), false), true, true),
        (checked(Passed, Some(50), true), true, true),
        (checked(Passed, Some(49), true), true, false),
        (checked(Found, Some(1), true), true, false),
        (checked(Passed, None, true), true, false),
        (checked(Running, None, false), false, false),
    ] {
        let document = document(vec![checked(Passed, Some(2), false), check.clone()]);
        assert_eq!(
            (document.is_complete(), document.is_current()),
            (is_complete, is_current),
            "{check:?}"
        );
    }
    let check = checked(Passed, Some(59), true);
    let ageless = Document { updated: None, ..document(vec![check]) };
    assert!(!ageless.is_current(), "age unknown");
}

#[test]
fn oldest_result_ignores_skipped_and_failed_checks() {
    use CheckStatus::{Failed, Found, Passed, Skipped};
    for (others, oldest) in [
        (vec![], Some(30)),
        (vec![checked(Found, Some(20), false), checked(Passed, Some(40), false)], Some(20)),
        (vec![checked(Skipped, Some(1), false), checked(Failed, Some(2), false)], Some(30)),
        (vec![checked(Passed, None, false)], None),
    ] {
        let mut document = document(others);
        document.checks.push(checked(Passed, Some(30), false));
        assert_eq!(document.oldest_result(), oldest.map(at), "{:?}", document.checks);
    }
    assert_eq!(document(vec![checked(Skipped, None, false)]).oldest_result(), Some(at(5)));
}

#[test]
fn differs_from_ignores_time_of_write() {
    let before = document(vec![checked(CheckStatus::Passed, Some(1), false)]);
    assert!(!Document { updated: Some(at(90)), ..before.clone() }.differs_from(&before));
    let again = document(vec![checked(CheckStatus::Passed, Some(90), false)]);
    assert!(again.differs_from(&before));
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
        let finding = Finding { severity, reason, ..Finding::default() };
        assert_eq!(finding.blocks_update(), blocks, "{reason} {severity}");
    }
}
