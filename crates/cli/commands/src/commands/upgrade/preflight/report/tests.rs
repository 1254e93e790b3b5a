use fairway_api::ClusterVersion;
use fairway_api::cluster_version::Update;
use fairway_findings::{CheckStatus, Document, ExecutionStatus, Reason, Severity};
use fairway_testkit::objects;
use k8s_openapi::api::core::v1::ConfigMap;

use super::super::fixtures::{document, kept, with_findings};
use super::super::records::PreflightRecords;
use super::{PreflightPhase, PreflightReport, PreflightResult, PreflightState};
use crate::commands::upgrade::fixtures::{
    accept, cluster_version, condition, hold, now, offer, recommended, risk,
};
use crate::commands::upgrade::release::{ReleaseArguments, ReleaseReference};
use crate::exit::ExitStatus;

/// Cluster at 5.1.0 with a requested preflight of 5.2.0 and the conditions of its operator.
fn requested(running: &str, completed: Option<&str>, failed: Option<&str>) -> ClusterVersion {
    let mut object = cluster_version();
    let release = objects::release("5.2.0");
    object.spec.desired_update = Some(Update {
        mode: Some("Preflight".into()),
        version: Some(release.version),
        image: Some(release.image),
        ..Update::default()
    });
    let is_running = !matches!(running, "NotRequested" | "Held" | "Stopped");
    hold(&mut object, condition("PreflightRunning", is_running, running, "2 of 4 checks done"));
    let reason = completed.unwrap_or("PreflightRunning");
    hold(&mut object, condition("PreflightCompleted", completed.is_some(), reason, ""));
    let reason = failed.unwrap_or("AsExpected");
    hold(&mut object, condition("PreflightFailed", failed.is_some(), reason, "It went wrong."));
    object
}

fn monitored() -> ClusterVersion {
    requested("Monitoring", Some("RisksFound"), None)
}

fn report(object: &ClusterVersion, documents: &[Document]) -> PreflightReport {
    let records = PreflightRecords::of(&documents.iter().map(kept).collect::<Vec<_>>());
    report_with(object, &records)
}

fn report_with(object: &ClusterVersion, records: &PreflightRecords) -> PreflightReport {
    let state = PreflightState { cluster_version: object, records, now: now() };
    state.report(state.default_target())
}

fn findings() -> Document {
    let found = [("KernelNote", Severity::Info), ("OldDriver", Severity::Warning)];
    with_findings("5.2.0", &[&found[..], &[("DualStack", Severity::Critical)]].concat())
}

#[test]
fn text_lists_granted_access() {
    let mut document = document("5.2.0");
    document.checks[0].granted = vec![
        "own ServiceAccount reader".to_owned(),
        "get secrets (router-certs) in openshift-ingress".to_owned(),
    ];
    let report = report(&monitored(), &[document]);
    let told = report.to_string();
    let granted = told.lines().find(|line| line.contains("granted")).unwrap_or_default();
    insta::assert_snapshot!(granted.trim(), @"granted: own ServiceAccount reader; get secrets (router-certs) in openshift-ingress");
    let checks = serde_json::to_value(&report).unwrap()["run"]["checks"][0].clone();
    assert_eq!(checks["grantedAccess"][0], "own ServiceAccount reader");
}

#[test]
fn report_without_findings() {
    let report = report(&monitored(), &[document("5.2.0")]);
    assert_eq!(report.exit_status(), ExitStatus::Success);
    insta::assert_snapshot!(report, @"
    Preflight of 5.2.0: no findings

      Image: registry.example/release@sha256:8ecd4901ea069209005fa5d998421b30df046f771a2a930189f6c1adad5cea2e
      From: 5.1.0
      Checked: 2 of 2 operators, 1 of 1 built-in checks
      Age: 30m, rechecked when the cluster changes

      CHECK         SOURCE    RESULT
      network       operator  passed
      storage       operator  passed
      new-operator  operator  skipped
      removed-apis  Fairway   passed

    Start the update with
      fairway upgrade --to=5.2.0

    End the preflight with
      fairway upgrade --clear-preflight
    Do not remove only `mode`: the rest of spec.desiredUpdate would start the update.
    ");
}

#[test]
fn report_of_findings_and_acceptance() {
    let mut object = monitored();
    accept(&mut object, &["OldDriver"], None);
    let open = report(&object, &[findings(), document("5.1.9")]);
    assert_eq!(open.exit_status(), ExitStatus::Refused);
    insta::assert_snapshot!(open, @"
    Preflight of 5.2.0: 2 findings, 1 not accepted

      Image: registry.example/release@sha256:8ecd4901ea069209005fa5d998421b30df046f771a2a930189f6c1adad5cea2e
      From: 5.1.0
      Checked: 2 of 2 operators, 1 of 1 built-in checks
      Age: 30m, rechecked when the cluster changes

      CHECK         SOURCE    RESULT
      network       operator  findings
      storage       operator  passed
      new-operator  operator  skipped
      removed-apis  Fairway   passed

    Findings:

      DualStack: critical, from network
        DualStack will happen.
        Remediation: Change it first.
        https://example.com/DualStack

      OldDriver: warning, from network, accepted
        OldDriver will happen.
        Remediation: Change it first.
        https://example.com/OldDriver

      KernelNote: info, from network
        KernelNote will happen.
        Remediation: Change it first.
        https://example.com/KernelNote

    Resolve the findings, or accept a risk with
      fairway upgrade accept NAME --for=5.2.0

    Results of 5.1.9 are also stored. Compare them with
      fairway upgrade compare RELEASE…

    End the preflight with
      fairway upgrade --clear-preflight
    Do not remove only `mode`: the rest of spec.desiredUpdate would start the update.
    ");

    accept(&mut object, &["OldDriver", "DualStack"], None);
    let taken = report(&object, &[findings()]);
    assert_eq!(taken.result, PreflightResult::FindingsAccepted);
    assert_eq!(taken.exit_status(), ExitStatus::Success);
    assert_eq!(taken.headline(), "2 findings, all accepted");

    accept(&mut object, &["OldDriver", "DualStack"], Some(r#"{"DualStack":{"for":"5.3.x"}}"#));
    assert_eq!(
        report(&object, &[findings()]).result,
        PreflightResult::Findings,
        "for other versions"
    );
}

#[test]
fn report_of_running_preflight() {
    let mut running = with_findings("5.2.0", &[("DualStack", Severity::Critical)]);
    running.execution_status = ExecutionStatus::Running;
    running.checks[1].status = CheckStatus::Waiting;
    let report = report(&requested("Checking", None, None), &[running]);
    assert_eq!(report.exit_status(), ExitStatus::Unknown);
    insta::assert_snapshot!(report, @"
    Preflight of 5.2.0: running

      Image: registry.example/release@sha256:8ecd4901ea069209005fa5d998421b30df046f771a2a930189f6c1adad5cea2e
      From: 5.1.0
      Checked: 1 of 2 operators, 1 of 1 built-in checks
      Age: 30m
      Reason: Checking
      Message: 2 of 4 checks done

      CHECK         SOURCE    RESULT
      network       operator  findings
      storage       operator  waiting
      new-operator  operator  skipped
      removed-apis  Fairway   passed

    Findings:

      DualStack: critical, from network
        DualStack will happen.
        Remediation: Change it first.
        https://example.com/DualStack

    Show its progress with
      fairway upgrade --status-preflight

    End the preflight with
      fairway upgrade --clear-preflight
    Do not remove only `mode`: the rest of spec.desiredUpdate would start the update.
    ");
}

#[test]
fn restarted_run_ignores_previous_results() {
    for reason in ["Starting", "Checking", "Restarting"] {
        let report = report(&requested(reason, None, None), &[document("5.2.0")]);
        assert_eq!(report.result, PreflightResult::Running, "{reason}");
    }
    let mut unseen = monitored();
    unseen.metadata.generation = Some(2);
    assert_eq!(report(&unseen, &[document("5.2.0")]).result, PreflightResult::Running);
}

#[test]
fn stale_results_are_inconclusive() {
    let stale = |mut document: Document, minute: i8| {
        document.checks[0].stale = true;
        document.updated = Some(format!("2026-01-01T01:{minute}:00Z").parse().unwrap());
        let report = report(&monitored(), &[document]);
        (report.result, report.exit_status())
    };
    let clean = (PreflightResult::NoFindings, ExitStatus::Success);
    assert_eq!(stale(document("5.2.0"), 40), clean, "it is being looked at again");
    assert_eq!(stale(document("5.2.0"), 41), (PreflightResult::Stale, ExitStatus::Unknown));
    let found = (PreflightResult::Stale, ExitStatus::Refused);
    assert_eq!(stale(findings(), 41), found, "what was found stands");
    let mut document = document("5.2.0");
    (document.checks[0].stale, document.updated) = (true, Some(now()));
    insta::assert_snapshot!(report(&monitored(), &[document]), @"
    Preflight of 5.2.0: stale, the cluster has changed since some checks ran

      Image: registry.example/release@sha256:8ecd4901ea069209005fa5d998421b30df046f771a2a930189f6c1adad5cea2e
      From: 5.1.0
      Checked: 2 of 2 operators, 1 of 1 built-in checks
      Age: 30m, rechecked when the cluster changes
      Reason: Monitoring
      Message: 2 of 4 checks done

      CHECK         SOURCE    RESULT
      network       operator  passed (rechecking)
      storage       operator  passed
      new-operator  operator  skipped
      removed-apis  Fairway   passed

    The operator reruns these checks. Show their progress with
      fairway upgrade --status-preflight

    End the preflight with
      fairway upgrade --clear-preflight
    Do not remove only `mode`: the rest of spec.desiredUpdate would start the update.
    ");
}

#[test]
fn check_without_result_is_incomplete() {
    let found = [("KernelNote", Severity::Info), ("DualStack", Severity::Critical)];
    let mut partial = with_findings("5.2.0", &found);
    partial.checks[1].status = CheckStatus::TimedOut;
    partial.checks[1].message = "it took more than 300 s".to_owned();
    partial.risks[0].reason = Reason::PreflightPartial;
    let report = report(&requested("Monitoring", None, Some("CheckTimedOut")), &[partial]);
    assert_eq!(
        (report.result, report.exit_status()),
        (PreflightResult::Incomplete, ExitStatus::Refused),
        "what was found stands"
    );
    insta::assert_snapshot!(report, @"
    Preflight of 5.2.0: incomplete, some checks have no result

      Image: registry.example/release@sha256:8ecd4901ea069209005fa5d998421b30df046f771a2a930189f6c1adad5cea2e
      From: 5.1.0
      Checked: 1 of 2 operators, 1 of 1 built-in checks
      Age: 30m, rechecked when the cluster changes
      Reason: CheckTimedOut
      Message: It went wrong.

      CHECK         SOURCE    RESULT
      network       operator  findings
      storage       operator  timed out: it took more than 300 s
      new-operator  operator  skipped
      removed-apis  Fairway   passed

    Findings:

      DualStack: critical, from network
        DualStack will happen.
        Remediation: Change it first.
        https://example.com/DualStack

      KernelNote: info, from network, inconclusive (PreflightPartial)
        KernelNote will happen.
        Remediation: Change it first.
        https://example.com/KernelNote

    Find the cause in the events: `kubectl -n openshift-cluster-version-preflight get events`.

    End the preflight with
      fairway upgrade --clear-preflight
    Do not remove only `mode`: the rest of spec.desiredUpdate would start the update.
    ");
}

#[test]
fn failed_preflight_lists_other_risks() {
    let mut object = requested("Held", None, Some("PreflightNotSupported"));
    let slow = [risk("SlowDisks", "True"), risk("NotHere", "False")];
    offer(&mut object, "5.2.0", &slow, recommended("False", "SlowDisks", "Slow."));
    let report = report(&object, &[]);
    assert_eq!(
        (report.result, report.exit_status()),
        (PreflightResult::Failed, ExitStatus::Unknown)
    );
    insta::assert_snapshot!(report, @"
    Preflight of 5.2.0: failed

      Image: registry.example/release@sha256:8ecd4901ea069209005fa5d998421b30df046f771a2a930189f6c1adad5cea2e
      Reason: PreflightNotSupported
      Message: It went wrong.

    Other known risks:

      SlowDisks: applies
        SlowDisks may happen.

    Choose a later release, or list the known risks with `fairway upgrade --include-not-recommended`; withdraw the request with `fairway upgrade --clear-preflight`.

    End the preflight with
      fairway upgrade --clear-preflight
    Do not remove only `mode`: the rest of spec.desiredUpdate would start the update.
    ");
}

#[test]
fn report_without_config_map_access_has_summary_and_permission() {
    let mut object = monitored();
    let found = |name: &str, reason: &str| {
        let mut found = risk(name, "True");
        found.conditions[0].reason = reason.to_owned();
        found
    };
    let found = [
        found("DualStack", "PreflightValidation"),
        found("StorageUnknown", "PreflightPartial"),
        found("PreflightInProgress", "PreflightRunning"),
    ];
    offer(&mut object, "5.2.0", &found, recommended("False", "DualStack", "No."));
    let records = PreflightRecords::unreadable(
        "missing permission: list configmaps in namespace openshift-cluster-version".to_owned(),
    );
    let report = report_with(&object, &records);
    assert_eq!((report.result, report.findings.len()), (PreflightResult::Findings, 0));
    assert_eq!(report.exit_status(), ExitStatus::Refused);
    insta::assert_snapshot!(report, @"
    Preflight of 5.2.0: 1 finding

      Image: registry.example/release@sha256:8ecd4901ea069209005fa5d998421b30df046f771a2a930189f6c1adad5cea2e
      Details: unavailable, missing permission: list configmaps in namespace openshift-cluster-version

    List the findings with
      fairway upgrade --include-not-recommended

    Resolve the findings, or accept a risk with
      fairway upgrade accept NAME --for=5.2.0

    End the preflight with
      fairway upgrade --clear-preflight
    Do not remove only `mode`: the rest of spec.desiredUpdate would start the update.
    ");
}

#[test]
fn results_older_than_summary_are_ignored() {
    let mut behind = document("5.2.0");
    behind.execution_status = ExecutionStatus::Running;
    behind.checks[0].status = CheckStatus::Running;
    let report = report(&requested("Monitoring", Some("NoRisksFound"), None), &[behind]);
    assert_eq!(report.result, PreflightResult::NoFindings);
    assert!(!report.has_details() && report.run.is_none());
    assert_eq!(report.details_message.as_deref(), Some("the results are still being written"));
}

#[test]
fn results_of_other_version_are_outdated() {
    let mut old = document("5.2.0");
    old.source_version = "5.0.0".to_owned();
    let report = report(&monitored(), &[old]);
    assert_eq!(report.result, PreflightResult::Outdated);
    assert_eq!(report.headline(), "outdated, the cluster version has changed since");
}

#[test]
fn kept_results_are_reported_without_request() {
    let mut object = monitored();
    object.spec.desired_update = None;
    let report = report(&object, &[findings()]);
    assert_eq!(report.result, PreflightResult::Findings);
    let text = report.to_string();
    assert!(!text.contains("--clear-preflight"), "{text}");
}

#[test]
fn report_without_preflight_or_support() {
    let mut object = cluster_version();
    let unknown = report(&object, &[]);
    assert_eq!(unknown.result, PreflightResult::Unsupported);
    insta::assert_snapshot!(unknown, @"The operator of this cluster does not support preflights: ClusterVersion has no condition PreflightRunning.");
    hold(&mut object, condition("PreflightRunning", false, "NotRequested", ""));
    let none = report(&object, &[]);
    assert_eq!(none.result, PreflightResult::NotRun);
    insta::assert_snapshot!(none, @"
    No preflight is requested, and no results are stored. Run one with
      fairway upgrade --mode=preflight --to=VERSION
    ");

    let records = PreflightRecords::default();
    let state = PreflightState { cluster_version: &object, records: &records, now: now() };
    let named = ReleaseReference { version: Some("5.1.9".to_owned()), image: None };
    insta::assert_snapshot!(state.report(Some(named)), @"
    Preflight of 5.1.9: not run

      Image: registry.example/release@sha256:f73d25856ea13b7a2c6a955ef62007088ec360578dbe2141a5425ad9cf27d41b

    Run it with
      fairway upgrade --mode=preflight --to=5.1.9
    ");
}

#[test]
fn invalid_records_are_skipped_with_reason() {
    let mut other = kept(&document("5.2.0"));
    let annotations = other.metadata.annotations.as_mut().unwrap();
    for image in annotations.values_mut() {
        *image = objects::release("5.3.0").image;
    }
    let mut unreadable = kept(&document("5.2.0"));
    unreadable.data.as_mut().unwrap().values_mut().for_each(|text| text.truncate(20));
    let mut newer = document("5.2.0");
    newer.format = "preflight-v2-json".to_owned();
    let nameless = ConfigMap::default();
    let missing = [other, unreadable, kept(&newer), nameless].map(|map| {
        let records = PreflightRecords::of(&[map]);
        assert_eq!(records.all().count(), 0);
        records.missing.unwrap_or_default()
    });
    insta::assert_snapshot!(missing.join("\n"), @r#"
    cannot read ConfigMap openshift-cluster-version/preflight-8ecd4901ea069209: the results belong to registry.example/release@sha256:8ecd4901ea069209005fa5d998421b30df046f771a2a930189f6c1adad5cea2e
    cannot read ConfigMap openshift-cluster-version/preflight-8ecd4901ea069209: cannot parse the results: unexpected end at line 1, column 20
    cannot read ConfigMap openshift-cluster-version/preflight-8ecd4901ea069209: the results have the unsupported format "preflight-v2-json"; this release supports "preflight-v1-json"
    cannot read ConfigMap openshift-cluster-version/: annotation fairway.dev/preflight-target is missing
    "#);
}

#[test]
fn report_escapes_control_characters() {
    let mut hostile = with_findings("5.2.0", &[("\u{1b}[2JEvil", Severity::Critical)]);
    hostile.risks[0].message = "\u{1b}]8;;http://evil\u{7}\nline".to_owned();
    hostile.risks[0].remediation = "\u{202e}".to_owned();
    hostile.checks[0].message = "\u{9b}2J".to_owned();
    let text = report(&monitored(), &[hostile]).to_string();
    assert!(!text.contains(|char| char != '\n' && crate::foreign_text::steers(char)), "{text:?}");
}

#[test]
fn withdrawn_report_is_not_requested() {
    let found = report(&monitored(), &[findings()]).withdrawn();
    assert_eq!(
        (found.phase, &found.reason, &found.message),
        (PreflightPhase::NotRequested, &None, &None)
    );
    let text = found.to_string();
    assert!(!text.contains("--clear-preflight") && !text.contains("rechecked when"), "{text}");

    let failed = report(&requested("Monitoring", None, Some("CheckTimedOut")), &[]).withdrawn();
    assert_eq!(
        (failed.phase, failed.reason.as_deref()),
        (PreflightPhase::NotRequested, Some("CheckTimedOut"))
    );
    let running = report(&requested("Checking", None, None), &[]).withdrawn();
    assert_eq!(running.phase, PreflightPhase::Checking, "the command timed out");
}

#[test]
fn release_arguments_are_quoted_for_the_shell() {
    let named = |version: Option<&str>, image: &str| {
        let named =
            ReleaseReference { version: version.map(str::to_owned), image: Some(image.to_owned()) };
        ReleaseArguments(&named).to_string()
    };
    assert_eq!(named(Some("5.2.0"), "x"), "--to=5.2.0");
    assert_eq!(named(Some("5.2.0; reboot"), "x"), "--to='5.2.0; reboot'");
    assert_eq!(named(None, "x`id`"), "--to-image='x`id`' --allow-explicit-upgrade");
}
