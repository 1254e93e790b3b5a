//! Behaviour that `docs/admin/olm.md` documents for administrators and operator authors.

use fairway_compat::olm::{
    CheckFailure, CheckResult, InvalidPolicy, MinorVersion, MissingPolicy, OlmPolicy,
    OperatorVerdict, PROPERTIES_ANNOTATION,
};

use super::{AS_OLM, annotated, condition_of, with, with_property, without_declaration};

#[test]
fn messages_for_default_policy() {
    let policy = OlmPolicy::default();
    let runs = || annotated("runs", "4.9");
    let (without_declaration, wrong) =
        (|| without_declaration("silent"), || annotated("wrong", "4.x"));
    let fails = || annotated("fails", "4.8");
    let all = [
        ("nothing", vec![]),
        ("one that runs", vec![runs()]),
        ("one in doubt", vec![without_declaration()]),
        ("two in doubt, and one that runs", vec![wrong(), runs(), without_declaration()]),
        ("one that does not run", vec![fails()]),
        (
            "all kinds",
            vec![runs(), without_declaration(), wrong(), fails(), annotated("also-fails", "4.7")],
        ),
    ];
    let all = all
        .map(|(what, operators)| format!("{what}\n  {}", condition_of(operators, "4.8.2", policy)));
    insta::assert_snapshot!(all.join("\n"), @"
    nothing
      True AsExpected: Ready for upgrade
    one that runs
      True AsExpected: Ready for upgrade
    one in doubt
      True OperatorCompatibilityUnknown: The following operators may not run on the next OpenShift Version: namespace/silent
    two in doubt, and one that runs
      True OperatorCompatibilityUnknown: The following operators may not run on the next OpenShift Version: namespace/silent, namespace/wrong
    one that does not run
      False IncompatibleOperatorsInstalled: The following operators will not run on the next OpenShift Version: namespace/fails
    all kinds
      False IncompatibleOperatorsInstalled: The following operators will not run on the next OpenShift Version: namespace/also-fails, namespace/fails
    ");
}

#[test]
fn next_minor_version_is_blocked_by_maximum() {
    for (operator, is_blocked) in [
        (without_declaration("none"), false),
        (annotated("invalid", "4.x"), false),
        (with_property("invalid-property", "null"), false),
        (annotated("greater", "4.9"), false),
        (with_property("greater-number", "4.10"), false),
        (annotated("equal", "4.8"), true),
        (annotated("less", "4.7"), true),
        (with_property("less-number", "4.1"), true),
    ] {
        let name = operator.name.clone();
        let condition = condition_of(vec![operator], "4.8.31", OlmPolicy::default());
        assert_eq!(condition.starts_with("False"), is_blocked, "{name}: {condition}");
    }
}

#[test]
fn availability_depends_on_target() {
    let verdict = |maximum: &str, running: &str, target: &str| {
        let stream = |text| MinorVersion::parse(text).unwrap();
        let declared = annotated("operator", maximum).declared;
        OlmPolicy::default().verdict(&declared, stream(running), stream(target))
    };
    for (maximum, running, target, expected) in [
        ("4.8", "4.8.1", "4.8.9", OperatorVerdict::Upgradeable),
        ("4.8", "4.8.1", "4.9.0", OperatorVerdict::WillNotRun),
        ("4.9", "4.8.1", "4.9.0", OperatorVerdict::Upgradeable),
        ("4.9", "4.8.1", "4.9.0-rc.1", OperatorVerdict::Upgradeable),
        ("4.9", "4.8.1", "4.10.0-rc.1", OperatorVerdict::WillNotRun),
        ("4.9", "4.8.1", "4.10.0", OperatorVerdict::WillNotRun),
        ("4.10", "4.8.1", "4.10.9", OperatorVerdict::Upgradeable),
        ("4.10", "4.8.1", "5.0.0", OperatorVerdict::WillNotRun),
        ("4.23", "4.22.0", "5.0.0", OperatorVerdict::Upgradeable),
        ("5.0", "4.22.0", "4.23.0", OperatorVerdict::Upgradeable),
        ("4.23", "4.23.0", "5.0.0", OperatorVerdict::Upgradeable),
        ("4.23", "4.23.0", "5.1.0", OperatorVerdict::WillNotRun),
        // The operator was installed before the check: patch updates are not blocked.
        ("4.6", "4.8.1", "4.8.2", OperatorVerdict::Upgradeable),
        ("4.6", "4.8.1", "4.9.0", OperatorVerdict::WillNotRun),
        ("4.x", "4.8.1", "4.8.2", OperatorVerdict::Upgradeable),
        ("4.x", "4.8.1", "4.10.0", OperatorVerdict::MayNotRun),
    ] {
        assert_eq!(verdict(maximum, running, target), expected, "{maximum} {running} {target}");
    }
}

#[test]
fn policies_apply_to_missing_and_invalid_declarations() {
    use {InvalidPolicy as Invalid, MissingPolicy as Missing, OperatorVerdict::*};
    let of = |invalid, missing, operator: &super::OlmOperator, target| {
        let running = MinorVersion::new(4, 8);
        OlmPolicy { invalid, missing }.verdict(&operator.declared, running, target)
    };
    let (wrong, without_declaration) = (annotated("wrong", "4.x"), without_declaration("silent"));
    let next = MinorVersion::new(4, 9);
    for (invalid, missing, of_wrong, of_silent) in [
        (Invalid::Allow, Missing::Allow, MayNotRun, Upgradeable),
        (Invalid::Allow, Missing::Warn, MayNotRun, MayNotRun),
        (Invalid::Allow, Missing::Block, MayNotRun, WillNotRun),
        (Invalid::Block, Missing::Allow, WillNotRun, Upgradeable),
        (Invalid::Block, Missing::Warn, WillNotRun, MayNotRun),
        (Invalid::Block, Missing::Block, WillNotRun, WillNotRun),
    ] {
        assert_eq!(of(invalid, missing, &wrong, next), of_wrong, "{invalid:?} {missing:?}");
        assert_eq!(
            of(invalid, missing, &without_declaration, next),
            of_silent,
            "{invalid:?} {missing:?}"
        );
        for operator in [&wrong, &without_declaration] {
            let patch = of(invalid, missing, operator, MinorVersion::new(4, 8));
            assert_eq!(patch, Upgradeable, "patch updates are allowed");
        }
    }
}

#[test]
fn failed_check_blocks_and_reports_reason() {
    let all = [
        CheckFailure::Waiting,
        CheckFailure::VersionMissing,
        CheckFailure::VersionInvalid("\"x\" is not a semantic version".to_owned()),
        CheckFailure::VersionUnseen("forbidden".to_owned()),
        CheckFailure::Unlisted("forbidden".to_owned()),
    ];
    let all = all.map(|failure| {
        let CheckResult { upgradeable, extension } = CheckResult::from(&failure);
        assert_eq!(extension, None, "a report would replace the condition");
        let status = upgradeable.status.as_str();
        format!("{status} {}: {}", upgradeable.reason.code, upgradeable.message)
    });
    insta::assert_snapshot!(all.join("\n"), @r#"
    False WaitingForFirstCheck: Waiting for updates to take effect
    False ErrorCheckingOperatorCompatibility: Encountered errors while checking compatibility with the next minor version of OpenShift: ClusterVersion has no desired version
    False ErrorCheckingOperatorCompatibility: Encountered errors while checking compatibility with the next minor version of OpenShift: cluster version has invalid desired release version: "x" is not a semantic version
    False ErrorCheckingOperatorCompatibility: Encountered errors while checking compatibility with the next minor version of OpenShift: cannot read ClusterVersion: forbidden
    False ErrorCheckingOperatorCompatibility: Encountered errors while checking compatibility with the next minor version of OpenShift: failed to list ClusterServiceVersions: forbidden
    "#);
}

#[test]
fn lists_are_sorted_and_truncated() {
    let operators =
        |names: &[u32]| names.iter().map(|n| without_declaration(&format!("n{n:03}"))).collect();
    let sorted = condition_of(operators(&[1, 2, 3]), "4.8", OlmPolicy::default());
    assert_eq!(condition_of(operators(&[3, 1, 2]), "4.8", OlmPolicy::default()), sorted);
    let many = condition_of(operators(&(0..300).collect::<Vec<_>>()), "4.8", OlmPolicy::default());
    assert!(many.ends_with("namespace/n099, and 200 more"), "{many}");
}

#[test]
fn condition_size_is_limited() {
    let huge = format!("{:?}", "A".repeat(200 << 10));
    let operators = (0..200).map(|n| with(&format!("n{n:03}"), PROPERTIES_ANNOTATION, &huge));
    let condition = condition_of(operators.collect(), "4.8", AS_OLM);
    assert!(condition.len() < 40_000, "{} bytes", condition.len());
    assert!(
        condition.contains("namespace/n000 has invalid") && condition.ends_with(" more"),
        "{condition}"
    );
}
