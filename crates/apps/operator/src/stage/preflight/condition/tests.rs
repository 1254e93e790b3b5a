use fairway_api::reason::preflight_failed;
use fairway_findings::{CheckKind, CheckReport, CheckStatus, ExecutionStatus, Finding};

use super::*;

const TARGET: TargetName<'_> = TargetName {
    version: Some("5.2.0"),
    image: "registry.example/release@sha256:52",
    unverified: None,
    secrets: None,
};

fn render(input: &ConditionInput) -> String {
    let lines = conditions(input).map(|condition| {
        let (reason, message) = (condition.reason.as_deref(), condition.message.as_deref());
        let (type_, status) = (condition.type_.as_str(), &condition.status);
        format!("{type_}={status} {}: {}", reason.unwrap_or_default(), message.unwrap_or_default())
    });
    lines.join("\n")
}

fn in_phase(phase: Phase) -> String {
    render(&ConditionInput { phase, document: None, errors: &[], stored: &[] })
}

fn check(kind: CheckKind, name: &str, status: CheckStatus) -> CheckReport {
    CheckReport { name: name.to_owned(), kind, status, ..CheckReport::default() }
}

fn document(
    execution_status: ExecutionStatus,
    checks: Vec<CheckReport>,
    risks: &[&str],
) -> Document {
    let risks = risks.iter().map(|name| Finding { name: (*name).to_owned(), ..Finding::default() });
    Document {
        target_version: "5.2.0".to_owned(),
        execution_status,
        checks,
        risks: risks.collect(),
        ..Document::default()
    }
}

fn with_document(document: &Document) -> String {
    let phase = Phase::Running(TARGET);
    render(&ConditionInput { phase, document: Some(document), errors: &[], stored: &[] })
}

#[test]
fn conditions_without_request() {
    insta::assert_snapshot!(in_phase(Phase::NotRequested), @"
    PreflightRunning=False NotRequested: No preflight is requested.
    PreflightCompleted=False NotRequested: No preflight is requested.
    PreflightFailed=False NotRequested: No preflight is requested.
    ");
    let stored = ["5.1.0 (3 h ago)".to_owned(), "5.2.0 (5 min ago)".to_owned()];
    let input =
        ConditionInput { phase: Phase::NotRequested, document: None, errors: &[], stored: &stored };
    insta::assert_snapshot!(render(&input), @"
    PreflightRunning=False NotRequested: No preflight is requested.
    PreflightCompleted=True NotMonitored: The stored results are no longer updated: 5.1.0 (3 h ago), 5.2.0 (5 min ago).
    PreflightFailed=False NotRequested: No preflight is requested.
    ");
}

#[test]
fn conditions_of_held_requests() {
    let version = || "5.7.0".to_owned();
    let hold = [
        HoldReason::UnknownMode { mode: "Dance".to_owned() },
        HoldReason::Disabled,
        HoldReason::NoRelease,
        HoldReason::NotRetrieved { version: version(), why: "It is down.".to_owned() },
        HoldReason::NotFound { version: version(), channel: Some("stable-5.1".to_owned()) },
        HoldReason::NotFound { version: version(), channel: None },
        HoldReason::Several { version: version() },
        HoldReason::NotByDigest { image: "registry.example/release:5.7.0".to_owned() },
    ];
    let rendered: Vec<String> = hold.iter().map(|hold| in_phase(Phase::Held(hold))).collect();
    insta::assert_snapshot!(rendered.join("\n\n"));
}

#[test]
fn conditions_before_run_exists() {
    let forced = TargetName { unverified: Some("no signature found"), ..TARGET };
    let secrets = ["openshift-ingress/router-certs", "openshift-storage/array"];
    let secrets = secrets.map(str::to_owned).into();
    let with_secrets = TargetName { secrets: Some(&secrets), ..TARGET };
    let rendered = [
        in_phase(Phase::LookingUp("5.2.0")),
        in_phase(Phase::Retrieving(TARGET)),
        in_phase(Phase::Retrieving(TargetName { version: None, ..TARGET })),
        in_phase(Phase::Clearing(TARGET)),
        in_phase(Phase::Starting(forced)),
        in_phase(Phase::Restarting(TARGET, "node-2")),
        in_phase(Phase::Running(TARGET)),
        in_phase(Phase::Running(with_secrets)),
    ];
    insta::assert_snapshot!(rendered.join("\n\n"));
}

#[test]
fn conditions_of_first_pass_report_progress() {
    use CheckKind::{BuiltIn, Operator};
    let checks = vec![
        check(Operator, "dns", CheckStatus::Passed),
        check(Operator, "ingress", CheckStatus::Found),
        check(Operator, "network", CheckStatus::Running),
        check(Operator, "new", CheckStatus::Skipped),
        check(BuiltIn, "nodes", CheckStatus::Passed),
        check(BuiltIn, "etcd", CheckStatus::Waiting),
    ];
    let running = document(ExecutionStatus::Running, checks, &["CertificateKeyTooShort"]);
    insta::assert_snapshot!(with_document(&running), @"
    PreflightRunning=True Checking: The preflight of 5.2.0 is checking this cluster (read-only): 2 of 3 operators checked, 1 of 2 built-in checks done, 2 remaining.
    PreflightCompleted=False PreflightRunning: Checks are in progress: 2 of 3 operators checked, 1 of 2 built-in checks done, 2 remaining.
    PreflightFailed=False AsExpected: The preflight reports no errors.
    ");
}

#[test]
fn conditions_of_complete_results_name_findings() {
    let passed = || vec![check(CheckKind::Operator, "dns", CheckStatus::Passed)];
    let names: Vec<String> = (1..=12).map(|number| format!("Risk{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let rendered = [&[][..], &["OneRisk"], &names]
        .map(|risks| with_document(&document(ExecutionStatus::Completed, passed(), risks)));
    insta::assert_snapshot!(rendered.join("\n\n"));
}

#[test]
fn conditions_of_checks_without_result_name_reasons() {
    let with = |statuses: &[CheckStatus]| {
        let mut checks = vec![check(CheckKind::Operator, "dns", CheckStatus::Passed)];
        for (number, status) in statuses.iter().enumerate() {
            let message = if number == 0 { "it took more than 300 s" } else { "" };
            let name = format!("operator-{number}");
            let check = check(CheckKind::Operator, &name, *status);
            checks.push(CheckReport { message: message.to_owned(), ..check });
        }
        with_document(&document(ExecutionStatus::Completed, checks, &[]))
    };
    let rendered = [
        with(&[CheckStatus::TimedOut]),
        with(&[CheckStatus::Failed, CheckStatus::Failed]),
        with(&[CheckStatus::Failed, CheckStatus::Refused, CheckStatus::AccessRefused]),
        with(&[CheckStatus::NotStarted]),
        with(&[CheckStatus::CannotTell]),
        with(&[CheckStatus::VersionSkew]),
    ];
    insta::assert_snapshot!(rendered.join("\n\n"));
}

#[test]
fn conditions_with_errors_list_them() {
    let pull = PreflightError::transient(
        preflight_failed::IMAGE_PULL_BACK_OFF,
        "the node cannot pull the release image: no such host".to_owned(),
    );
    let results = PreflightError::transient(
        preflight_failed::INVALID_RESULTS,
        "the results are rubbish".to_owned(),
    );
    let (phase, errors) = (Phase::Running(TARGET), [pull, results]);
    let one = render(&ConditionInput { phase, document: None, errors: &errors[..1], stored: &[] });
    let both = render(&ConditionInput { phase, document: None, errors: &errors, stored: &[] });
    let phase = Phase::Stopped(TARGET);
    let stopped =
        render(&ConditionInput { phase, document: None, errors: &errors[..1], stored: &[] });
    insta::assert_snapshot!([one, both, stopped].join("\n\n"));
}

#[test]
fn conditions_of_stopped_run_report_age_of_results() {
    let checks = vec![check(CheckKind::Operator, "dns", CheckStatus::Passed)];
    let updated = Some("2026-03-01T10:00:00Z".parse().unwrap());
    let document = Document { updated, ..document(ExecutionStatus::Completed, checks, &["Old"]) };
    let silent = "timed out: no heartbeat for 1h".to_owned();
    let errors = [PreflightError::permanent(preflight_failed::NO_RESULTS_IN_TIME, silent)];
    let phase = Phase::Stopped(TARGET);
    let input = ConditionInput { phase, document: Some(&document), errors: &errors, stored: &[] };
    insta::assert_snapshot!(render(&input), @"
    PreflightRunning=False Stopped: The preflight of 5.2.0 stopped; see the condition PreflightFailed. Run `fairway upgrade --clear-preflight` to withdraw the request.
    PreflightCompleted=True RisksFound: All checks of 5.2.0 completed; 1 risk found: Old. These results are from 2026-03-01T10:00:00Z and are no longer updated.
    PreflightFailed=True NoResultsInTime: Preflight of 5.2.0: timed out: no heartbeat for 1h.
    ");
}
