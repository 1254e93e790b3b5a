//! What an administrator and an operator's author are promised.

use fairway_compat::olm::{
    Hindrance, InvalidPolicy, MissingPolicy, PROPERTIES_ANNOTATION, Policy, Published, Stream,
    Verdict,
};

use super::{AS_OLM, annotated, silent, told, with, with_property};

#[test]
fn the_table_of_messages() {
    let policy = Policy::default();
    let runs = || annotated("runs", "4.9");
    let (silent, wrong) = (|| silent("silent"), || annotated("wrong", "4.x"));
    let fails = || annotated("fails", "4.8");
    let all = [
        ("nothing", vec![]),
        ("one that runs", vec![runs()]),
        ("one in doubt", vec![silent()]),
        ("two in doubt, and one that runs", vec![wrong(), runs(), silent()]),
        ("one that does not run", vec![fails()]),
        ("all kinds", vec![runs(), silent(), wrong(), fails(), annotated("also-fails", "4.7")]),
    ];
    let all =
        all.map(|(what, operators)| format!("{what}\n  {}", told(operators, "4.8.2", policy)));
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
fn an_update_to_the_next_minor_version() {
    for (operator, is_blocked) in [
        (silent("none"), false),
        (annotated("invalid", "4.x"), false),
        (with_property("invalid-property", "null"), false),
        (annotated("greater", "4.9"), false),
        (with_property("greater-number", "4.10"), false),
        (annotated("equal", "4.8"), true),
        (annotated("less", "4.7"), true),
        (with_property("less-number", "4.1"), true),
    ] {
        let name = operator.name.clone();
        let told = told(vec![operator], "4.8.31", Policy::default());
        assert_eq!(told.starts_with("False"), is_blocked, "{name}: {told}");
    }
}

#[test]
fn every_target_has_its_own_answer() {
    let verdict = |maximum: &str, running: &str, target: &str| {
        let stream = |text| Stream::parse(text).unwrap();
        let declared = annotated("operator", maximum).declared;
        Policy::default().verdict(&declared, stream(running), stream(target))
    };
    for (maximum, running, target, expected) in [
        ("4.8", "4.8.1", "4.8.9", Verdict::Upgradeable),
        ("4.8", "4.8.1", "4.9.0", Verdict::WillNotRun),
        ("4.9", "4.8.1", "4.9.0", Verdict::Upgradeable),
        ("4.9", "4.8.1", "4.9.0-rc.1", Verdict::Upgradeable),
        ("4.9", "4.8.1", "4.10.0-rc.1", Verdict::WillNotRun),
        ("4.9", "4.8.1", "4.10.0", Verdict::WillNotRun),
        ("4.10", "4.8.1", "4.10.9", Verdict::Upgradeable),
        ("4.10", "4.8.1", "5.0.0", Verdict::WillNotRun),
        ("4.23", "4.22.0", "5.0.0", Verdict::Upgradeable),
        ("5.0", "4.22.0", "4.23.0", Verdict::Upgradeable),
        ("4.23", "4.23.0", "5.0.0", Verdict::Upgradeable),
        ("4.23", "4.23.0", "5.1.0", Verdict::WillNotRun),
        // It was there before somebody looked: patches still go in.
        ("4.6", "4.8.1", "4.8.2", Verdict::Upgradeable),
        ("4.6", "4.8.1", "4.9.0", Verdict::WillNotRun),
        ("4.x", "4.8.1", "4.8.2", Verdict::Upgradeable),
        ("4.x", "4.8.1", "4.10.0", Verdict::MayNotRun),
    ] {
        assert_eq!(verdict(maximum, running, target), expected, "{maximum} {running} {target}");
    }
}

#[test]
fn policies_are_about_what_nobody_knows() {
    use {InvalidPolicy as Invalid, MissingPolicy as Missing, Verdict::*};
    let of = |invalid, missing, operator: &super::Operator, target| {
        let running = Stream::new(4, 8);
        Policy { invalid, missing }.verdict(&operator.declared, running, target)
    };
    let (wrong, silent) = (annotated("wrong", "4.x"), silent("silent"));
    let next = Stream::new(4, 9);
    for (invalid, missing, of_wrong, of_silent) in [
        (Invalid::Allow, Missing::Allow, MayNotRun, Upgradeable),
        (Invalid::Allow, Missing::Warn, MayNotRun, MayNotRun),
        (Invalid::Allow, Missing::Block, MayNotRun, WillNotRun),
        (Invalid::Block, Missing::Allow, WillNotRun, Upgradeable),
        (Invalid::Block, Missing::Warn, WillNotRun, MayNotRun),
        (Invalid::Block, Missing::Block, WillNotRun, WillNotRun),
    ] {
        assert_eq!(of(invalid, missing, &wrong, next), of_wrong, "{invalid:?} {missing:?}");
        assert_eq!(of(invalid, missing, &silent, next), of_silent, "{invalid:?} {missing:?}");
        for operator in [&wrong, &silent] {
            let patch = of(invalid, missing, operator, Stream::new(4, 8));
            assert_eq!(patch, Upgradeable, "a patch goes in");
        }
    }
}

#[test]
fn whoever_cannot_look_lets_nothing_through_and_says_why() {
    let all = [
        Hindrance::Waiting,
        Hindrance::VersionMissing,
        Hindrance::VersionInvalid("\"x\" is not a semantic version".to_owned()),
        Hindrance::VersionUnseen("forbidden".to_owned()),
        Hindrance::Unlisted("forbidden".to_owned()),
    ];
    let all = all.map(|hindrance| {
        let Published { upgradeable, extension } = Published::from(&hindrance);
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
fn lists_are_sorted_and_end_somewhere() {
    let operators = |names: &[u32]| names.iter().map(|n| silent(&format!("n{n:03}"))).collect();
    let sorted = told(operators(&[1, 2, 3]), "4.8", Policy::default());
    assert_eq!(told(operators(&[3, 1, 2]), "4.8", Policy::default()), sorted);
    let many = told(operators(&(0..300).collect::<Vec<_>>()), "4.8", Policy::default());
    assert!(many.ends_with("namespace/n099, and 200 more"), "{many}");
}

#[test]
fn no_declaration_makes_a_condition_that_cannot_be_written() {
    let huge = format!("{:?}", "A".repeat(200 << 10));
    let operators = (0..200).map(|n| with(&format!("n{n:03}"), PROPERTIES_ANNOTATION, &huge));
    let told = told(operators.collect(), "4.8", AS_OLM);
    assert!(told.len() < 40_000, "{} bytes", told.len());
    assert!(told.contains("namespace/n000 has invalid") && told.ends_with(" more"), "{told}");
}
