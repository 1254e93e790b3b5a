use fairway_api::Conditions as _;
use fairway_findings::{CheckStatus, Document, Severity};

use super::super::fixtures::{document, kept, with_findings};
use super::super::records::PreflightRecords;
use super::super::report::PreflightState;
use super::{Comparison, PreflightResult};
use crate::args::upgrade_preflight::ReleaseChoice;
use crate::commands::upgrade::fixtures::{accept, cluster_version, condition, hold, now};
use crate::exit::ExitStatus;

fn comparison(versions: &[&str], documents: &[Document]) -> Comparison {
    let mut object = cluster_version();
    accept(&mut object, &["OldDriver"], None);
    hold(&mut object, condition("PreflightRunning", false, "NotRequested", ""));
    assert!(object.status.as_ref().unwrap().conditions.find("PreflightRunning").is_some());
    let records = PreflightRecords::of(&documents.iter().map(kept).collect::<Vec<_>>());
    let state = PreflightState { cluster_version: &object, records: &records, now: now() };
    let choice = |version: &&str| version.parse::<ReleaseChoice>().unwrap();
    Comparison::new(state, &versions.iter().map(choice).collect::<Vec<_>>())
}

#[test]
fn comparison_has_column_per_release() {
    let found = [("OldDriver", Severity::Warning), ("KernelNote", Severity::Info)];
    let near = with_findings("5.2.0", &found);
    let mut far = with_findings("5.3.0", &[("DualStack", Severity::Critical), found[0]]);
    far.risks[1].reason = fairway_findings::Reason::PreflightPartial;
    let comparison = comparison(&["5.1.9", "5.2.0", "5.3.0"], &[document("5.1.9"), near, far]);
    assert_eq!(comparison.exit_status(), ExitStatus::Refused);
    assert_eq!(comparison.missing().count(), 0);
    insta::assert_snapshot!(comparison, @"
    RELEASE  CHECKED                                   AGE  RESULT
    5.1.9    2 of 2 operators, 1 of 1 built-in checks  30m  no findings
    5.2.0    2 of 2 operators, 1 of 1 built-in checks  30m  1 finding, all accepted
    5.3.0    2 of 2 operators, 1 of 1 built-in checks  30m  1 finding

    FINDING     5.1.9  5.2.0              5.3.0
    DualStack   –      –                  critical
    KernelNote  –      info               –
    OldDriver   –      warning, accepted  warning, accepted
    ");
}

#[test]
fn comparison_with_missing_results_suggests_run() {
    let mut partial = document("5.2.0");
    partial.checks[1].status = CheckStatus::Failed;
    let comparison = comparison(&["5.2.0", "5.3.0"], &[partial]);
    assert_eq!(comparison.exit_status(), ExitStatus::Unknown);
    assert_eq!(comparison.missing().count(), 2);
    insta::assert_snapshot!(comparison, @"
    RELEASE  CHECKED                                   AGE  RESULT
    5.2.0    1 of 2 operators, 1 of 1 built-in checks  30m  incomplete, some checks have no result
    5.3.0    –                                         –    not run

    Add --run to run the missing preflights.
    ");
}

#[test]
fn comparison_without_support_does_not_suggest_run() {
    let live = comparison(&["5.3.0"], &[]);
    assert!(live.needs_run());
    let recorded = Comparison { can_run: false, ..live };
    assert!(!recorded.needs_run());
    let mut unsupported = comparison(&["5.3.0"], &[]);
    unsupported.targets[0].result = PreflightResult::Unsupported;
    insta::assert_snapshot!(unsupported, @"
    RELEASE  CHECKED  AGE  RESULT
    5.3.0    –        –    not supported
    ");
}

#[test]
fn exit_status_without_findings_is_success() {
    let accepted = with_findings("5.2.0", &[("OldDriver", Severity::Warning)]);
    let comparison = comparison(&["5.1.9", "5.2.0"], &[document("5.1.9"), accepted]);
    assert_eq!(comparison.exit_status(), ExitStatus::Success);
}
