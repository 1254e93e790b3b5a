use fairway_api::Conditions as _;
use fairway_findings::{CheckStatus, Document, Severity};

use super::super::fixtures::{document, kept, with_findings};
use super::super::records::Records;
use super::super::report::Look;
use super::Comparison;
use crate::args::upgrade_preflight::ReleaseChoice;
use crate::commands::upgrade::fixtures::{accept, cluster_version, condition, hold, now};
use crate::exit::ExitStatus;

fn comparison(versions: &[&str], documents: &[Document]) -> Comparison {
    let mut object = cluster_version();
    accept(&mut object, &["OldDriver"], None);
    hold(&mut object, condition("PreflightRunning", false, "NotRequested", ""));
    assert!(object.status.as_ref().unwrap().conditions.find("PreflightRunning").is_some());
    let records = Records::of(&documents.iter().map(kept).collect::<Vec<_>>());
    let look = Look { cluster_version: &object, records: &records, now: now() };
    let choice = |version: &&str| version.parse::<ReleaseChoice>().unwrap();
    Comparison::of(look, &versions.iter().map(choice).collect::<Vec<_>>())
}

#[test]
fn releases_stand_beside_each_other() {
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
fn what_is_missing_is_said() {
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
fn nobody_is_told_to_run_what_cannot_be_run() {
    let live = comparison(&["5.3.0"], &[]);
    assert!(live.wants_a_run());
    let recorded = Comparison { can_run: false, ..live };
    assert!(!recorded.wants_a_run());
    let mut unsupported = comparison(&["5.3.0"], &[]);
    unsupported.targets[0].result = super::Verdict::Unsupported;
    insta::assert_snapshot!(unsupported, @"
    RELEASE  CHECKED  AGE  RESULT
    5.3.0    –        –    not supported
    ");
}

#[test]
fn whoever_has_nothing_against_them_says_yes() {
    let taken = with_findings("5.2.0", &[("OldDriver", Severity::Warning)]);
    let comparison = comparison(&["5.1.9", "5.2.0"], &[document("5.1.9"), taken]);
    assert_eq!(comparison.exit_status(), ExitStatus::Success);
}
