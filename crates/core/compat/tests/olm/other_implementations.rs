//! Test tables of other implementations that read maximum versions.

use fairway_compat::olm::install::{InstallDecision, decide_for};
use fairway_compat::olm::{
    AUTHOR_PROPERTIES_ANNOTATION, MaximumVersion, MinorVersion, OlmOperator, PROPERTIES_ANNOTATION,
};

use super::{AS_OLM, condition_of, with, with_property};

fn stream(text: &str) -> MinorVersion {
    MinorVersion::parse(text).unwrap()
}

/// An operator with several properties for the maximum version.
fn with_maxima(values: &[&str]) -> OlmOperator {
    let property =
        |value: &&str| format!(r#"{{"type":"olm.maxOpenShiftVersion","value":{value}}}"#);
    let properties = values.iter().map(property).collect::<Vec<_>>().join(",");
    with("a", PROPERTIES_ANNOTATION, &format!(r#"{{"properties":[{properties}]}}"#))
}

/// `none`, `invalid`, or the maximum version.
fn read(declared: &MaximumVersion) -> String {
    match declared {
        MaximumVersion::Missing => "none".to_owned(),
        MaximumVersion::Maximum(maximum, _) => maximum.to_string(),
        MaximumVersion::Invalid(_) => "invalid".to_owned(),
    }
}

#[test]
fn olm_maximum_versions() {
    for (what, values, expected) in [
        ("none", &[][..], "none"),
        ("nothing", &[r#""""#], "invalid"),
        ("garbage", &[r#""bad_version""#], "invalid"),
        ("single", &[r#""1.0.0""#], "1.0"),
        ("multiple", &[r#""1.0.0""#, r#""2.0.0""#], "invalid"),
        ("duplicates", &[r#""1.0.0""#, r#""1.0.0""#], "invalid"),
        ("nothing, and something", &[r#""""#, r#""1.0.0""#], "invalid"),
        ("unquoted and short", &["4.8"], "4.8"),
    ] {
        assert_eq!(read(&with_maxima(values).declared), expected, "{what}");
    }
}

#[test]
fn olm_annotations() {
    for (what, annotation, expected) in [
        ("empty", "", "invalid"),
        ("no JSON", "]", "invalid"),
        ("no properties", "{}", "none"),
        ("properties that are no list", r#"{"properties":5}"#, "invalid"),
        ("a property that is no object", r#"{"properties":[42]}"#, "invalid"),
        ("an empty list", r#"{"properties":[]}"#, "none"),
        (
            "several others",
            r#"{"properties":[{"type":"string","value":"hello"},{"type":"number","value":5},
                {"type":"array","value":[1,"two",3]},{"type":"object","value":{"hello":{"a":"b"}}}]}"#,
            "none",
        ),
        (
            "a value without quotes",
            r#"{"properties":[{"type": "olm.maxOpenShiftVersion","value": 4.8}]}"#,
            "4.8",
        ),
    ] {
        let operator = with("a", PROPERTIES_ANNOTATION, annotation);
        assert_eq!(read(&operator.declared), expected, "{what}");
    }
}

/// OLM v1 accepts only `major.minor`, as a string or a number. Values that OLM accepts and OLM v1
/// rejects are accepted.
#[test]
fn olm_v1_notations() {
    for (value, in_olm_v1, here) in [
        ("4.18", "4.18", "4.18"),
        ("4.19", "4.19", "4.19"),
        ("4.19e1", "invalid", "invalid"),
        (r#""4.18""#, "4.18", "4.18"),
        ("4.18.0", "invalid", "invalid"),
        (r#""4.18.0""#, "invalid", "4.18"),
        (r#""v4.18""#, "invalid", "4.18"),
        (r#""v4.18.0""#, "invalid", "4.18"),
        ("5.0", "5.0", "5.0"),
        (r#""5.0""#, "5.0", "5.0"),
        (r#""5.1""#, "5.1", "5.1"),
        ("5.00", "invalid", "5.0"),
        ("4.10", "4.10", "4.10"),
        (r#""4""#, "invalid", "4.0"),
        (r#""4.18.1""#, "invalid", "invalid"),
        (r#""4.18.0-rc.1""#, "invalid", "invalid"),
        ("-4.19", "invalid", "invalid"),
        ("null", "invalid", "invalid"),
    ] {
        assert_eq!(read(&with_property("a", value).declared), here, "{value}");
        assert!(in_olm_v1 == "invalid" || in_olm_v1 == here, "accepted by OLM v1: {value}");
    }
}

/// Whether an operator blocks the next minor version.
#[test]
fn maximum_and_cluster_version() {
    for (maximum, cluster, is_compatible) in [
        ("4.18", "4.17", true),
        ("4.18", "4.18", false),
        ("4.18", "4.19", false),
        ("4.23", "4.22", true),
        ("5.0", "4.22", true),
        ("4.23", "4.23", false),
        ("5.0", "4.23", false),
        ("5.1", "4.23", true),
        ("4.23", "5.0", false),
        ("5.0", "5.0", false),
        ("5.1", "5.0", true),
        ("4.23", "5.1", false),
        ("5.0", "5.1", false),
        ("5.1", "5.1", false),
    ] {
        let operator = with_property("a", &format!("{maximum:?}"));
        let condition = condition_of(vec![operator], &format!("{cluster}.0"), AS_OLM);
        assert_eq!(
            condition.starts_with("True"),
            is_compatible,
            "{maximum} on {cluster}: {condition}"
        );
    }
}

/// OLM v1 reads the list in `olm.properties` of installed bundles.
#[test]
fn olm_v1_installed_bundles() {
    let with_list = |name: &str, list: &str| with(name, AUTHOR_PROPERTIES_ANNOTATION, list);
    let up_to = |name: &str, maximum: &str| {
        with_list(name, &format!(r#"[{{"type":"olm.maxOpenShiftVersion","value":{maximum:?}}}]"#))
    };
    for (what, operators, cluster, is_upgradeable) in [
        ("no operators", vec![], "4.17.0", true),
        ("compatible", vec![up_to("a", "4.18")], "4.17.0", true),
        ("no properties", vec![super::without_declaration("a")], "4.17.0", true),
        ("empty properties", vec![with_list("a", "")], "4.17.0", false),
        ("properties that are none", vec![with_list("a", "abcd")], "4.17.0", false),
        ("incompatible", vec![up_to("a", "4.17")], "4.17.0", false),
        ("both", vec![up_to("a", "4.17"), up_to("b", "4.18")], "4.17.0", false),
        ("5.0 at 4.23", vec![up_to("a", "5.0")], "4.23.0", false),
        ("5.1 at 4.23", vec![up_to("a", "5.1")], "4.23.0", true),
        ("5.1 at 5.0", vec![up_to("a", "5.1")], "5.0.0", true),
    ] {
        assert_eq!(
            condition_of(operators, cluster, AS_OLM).starts_with("True"),
            is_upgradeable,
            "{what}"
        );
    }
}

/// A resolver that checks before it selects: the newest bundle that may be installed, otherwise an
/// older one or none.
#[test]
fn resolver_chooses_newest_installable_bundle() {
    let bundles = [("v1.0", r#""4.9""#), ("v1.1", r#""4.10""#), ("v1.2", r#""4.8""#)];
    let choice = |cluster: &str, bundles: &[(&'static str, &str)]| {
        let may = |value: &str| {
            let declared = with_property("a", value).declared;
            decide_for(&declared, stream(cluster)) == InstallDecision::Allowed
        };
        bundles.iter().rev().find(|(_, value)| may(value)).map(|(name, _)| *name)
    };
    assert_eq!(choice("4.8", &bundles), Some("v1.2"), "the newest is compatible");
    assert_eq!(choice("4.10", &bundles), Some("v1.1"), "an older one is compatible");
    assert_eq!(choice("4.11", &bundles), None, "none is compatible");
    assert_eq!(choice("4.11", &[("v1.3", r#""4.x""#)]), Some("v1.3"), "invalid declaration");
}
