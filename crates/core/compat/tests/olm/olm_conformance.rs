//! OLM's behaviour and messages, with `--invalid=block --missing=allow`.

use fairway_compat::olm::{
    CheckFailure, CheckResult, MinorVersion, OlmOperator, OperatorVerdict, PROPERTIES_ANNOTATION,
};

use super::{AS_OLM, condition_of, with, with_property, without_declaration};

/// Names of the blocking operators, in the order of the message.
fn blocking(operators: &[(&str, &str)], cluster: &str) -> Vec<String> {
    let operators: Vec<OlmOperator> =
        operators.iter().map(|(name, value)| with_property(name, value)).collect();
    let condition = condition_of(operators, cluster, AS_OLM);
    let names = condition.lines().skip(1).map(|line| {
        line.split_whitespace().find_map(|word| word.strip_prefix("namespace/")).unwrap().to_owned()
    });
    names.collect()
}

#[test]
fn incompatible_operators_are_listed() {
    let (some, none): (&[&str], &[&str]) = (&["chestnut"], &[]);
    for (what, operators, cluster, expected) in [
        ("compatible", vec![("almond", r#""1.1""#), ("beech", r#""1.1.0+build""#)], "1.0.0", none),
        (
            "incompatible",
            vec![
                ("almond", r#""1.0.0""#),
                ("beech", r#""1.0.0+build""#),
                ("chestnut", r#""1.1.0-pre""#),
            ],
            "1.0.0",
            &["chestnut", "almond", "beech"],
        ),
        ("mixed", vec![("almond", r#""1.1""#), ("chestnut", r#""1.0""#)], "1.0.0", some),
        (
            "bad version",
            vec![("almond", r#""1.1""#), ("chestnut", r#""bad_version""#)],
            "1.0.0",
            some,
        ),
        ("empty version", vec![("almond", r#""1.1""#), ("chestnut", r#""""#)], "1.0.0", some),
        (
            "a patched cluster",
            vec![("almond", r#""1.1""#), ("chestnut", r#""1.0""#)],
            "1.0.1",
            some,
        ),
        (
            "a pre-release",
            vec![("almond", r#""1.1""#), ("chestnut", r#""1.0""#)],
            "1.0.0-pre",
            some,
        ),
        (
            "4.22",
            vec![
                ("almond", r#""4.23""#),
                ("beech", r#""5.0""#),
                ("birch", r#""5.1""#),
                ("chestnut", r#""4.22""#),
            ],
            "4.22.5",
            some,
        ),
        (
            "4.23",
            vec![("almond", r#""4.23""#), ("beech", r#""5.0""#), ("birch", r#""5.1""#)],
            "4.23.0",
            &["almond", "beech"],
        ),
        (
            "5.0",
            vec![("almond", r#""4.23""#), ("beech", r#""5.0""#), ("birch", r#""5.1""#)],
            "5.0.0",
            &["almond", "beech"],
        ),
        (
            "5.1",
            vec![("almond", r#""5.0""#), ("beech", r#""5.1""#), ("birch", r#""5.2""#)],
            "5.1.0",
            &["almond", "beech"],
        ),
    ] {
        assert_eq!(blocking(&operators, cluster), expected, "{what}");
    }
}

#[test]
fn condition_for_all_declarations() {
    let twice = r#"{"properties":[{"type":"olm.maxOpenShiftVersion","value":"4.9"},{"type":"olm.maxOpenShiftVersion","value":"4.9"}]}"#;
    let all = [
        ("no operators", vec![], "4.8.0"),
        ("none that declares anything", vec![without_declaration("a")], "4.8.0"),
        ("one that runs", vec![with_property("a", r#""4.9""#)], "4.8.0"),
        ("too low", vec![with_property("a", r#""4.8""#)], "4.8.0"),
        ("an unquoted number", vec![with_property("a", "4.8")], "4.8.0"),
        ("garbage", vec![with("a", PROPERTIES_ANNOTATION, "garbage")], "4.8.0"),
        ("declared twice", vec![with("a", PROPERTIES_ANNOTATION, twice)], "4.8.0"),
        (
            "all kinds",
            vec![
                with_property("c-low", "4.8"),
                with_property("b-lower", "4.7"),
                with_property("d-wrong", r#""4.8.1""#),
                with_property("a-empty", r#""""#),
                without_declaration("silent"),
                with_property("runs", r#""4.9""#),
            ],
            "4.8.0",
        ),
        ("before the release of two names", vec![with_property("a", r#""4.22""#)], "4.22.7"),
    ];
    let all = all.map(|(what, operators, cluster)| {
        format!("{what}\n{}", condition_of(operators, cluster, AS_OLM))
    });
    insta::assert_snapshot!(all.join("\n\n"), @r#"
    no operators
    True AsExpected:

    none that declares anything
    True AsExpected:

    one that runs
    True AsExpected:

    too low
    False IncompatibleOperatorsInstalled: ClusterServiceVersions blocking minor version upgrades to 4.9 or higher:
    - maximum supported OCP version for namespace/a is 4.8

    an unquoted number
    False IncompatibleOperatorsInstalled: ClusterServiceVersions blocking minor version upgrades to 4.9 or higher:
    - maximum supported OCP version for namespace/a is 4.8

    garbage
    False IncompatibleOperatorsInstalled: ClusterServiceVersions blocking minor version upgrades to 4.9 or higher:
    - namespace/a has invalid olm.maxOpenShiftVersion properties: failed to unmarshal properties annotation: expected value at line 1 column 1

    declared twice
    False IncompatibleOperatorsInstalled: ClusterServiceVersions blocking minor version upgrades to 4.9 or higher:
    - namespace/a has invalid olm.maxOpenShiftVersion properties: defining more than one "olm.maxOpenShiftVersion" property is not allowed

    all kinds
    False IncompatibleOperatorsInstalled: ClusterServiceVersions blocking minor version upgrades to 4.9 or higher:
    - namespace/a-empty has invalid olm.maxOpenShiftVersion properties: value cannot be "" (an empty string)
    - namespace/d-wrong has invalid olm.maxOpenShiftVersion properties: property olm.maxOpenShiftVersion must specify only <major>.<minor> version, got invalid value 4.8.1
    - maximum supported OCP version for namespace/b-lower is 4.7
    - maximum supported OCP version for namespace/c-low is 4.8

    before the release of two names
    False IncompatibleOperatorsInstalled: ClusterServiceVersions blocking minor version upgrades to 4.23 or major version upgrades to 5.0:
    - maximum supported OCP version for namespace/a is 4.22
    "#);
}

/// Changes of a cluster and the resulting condition.
#[test]
fn condition_follows_changes() {
    let twice = r#"{"properties":[{"type":"olm.maxOpenShiftVersion","value":"1.1"},{"type":"olm.maxOpenShiftVersion","value":"1.1"}]}"#;
    let waiting = CheckResult::from(&CheckFailure::Waiting).upgradeable;
    assert_eq!(waiting.status.as_str(), "False");
    assert_eq!(waiting.message, "Waiting for updates to take effect");
    for (what, operator, blocks) in [
        ("no operators", None, false),
        ("incompatible", Some(with_property("a", r#""1.0.0""#)), true),
        ("compatible after an update", Some(with_property("a", r#""1.1.0""#)), false),
        ("the same without quotes", Some(with_property("a", "1.1")), false),
        ("garbage", Some(with("a", PROPERTIES_ANNOTATION, "garbage")), true),
        ("the same twice", Some(with("a", PROPERTIES_ANNOTATION, twice)), true),
        ("uninstalled", None, false),
    ] {
        let condition = condition_of(operator.into_iter().collect(), "1.0.0", AS_OLM);
        assert_eq!(condition.starts_with("False IncompatibleOperatorsInstalled"), blocks, "{what}");
        assert_eq!(condition == "True AsExpected:", !blocks, "{what}");
    }
}

/// The Go operator's own check compares whole versions, so that a patch exceeds its minor version,
/// and uses the newest bundle of a channel. Fairway follows OLM.
#[test]
fn maximum_includes_all_patch_versions() {
    let stream = |text| MinorVersion::parse(text).unwrap();
    let declared = with_property("a", r#""4.17""#).declared;
    for target in ["4.17.0-rc.0", "4.17.0", "4.17.5", "4.17.99"] {
        let verdict = AS_OLM.verdict(&declared, stream("4.16.3"), stream(target));
        assert_eq!(verdict, OperatorVerdict::Upgradeable, "{target}");
    }
}
